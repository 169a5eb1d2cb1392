"""How well a model predicts labelled rows: the figures of the command line's ``evaluate``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from .data import Dataset, contiguous, to_rows
from .model import Model

__all__ = ["curves", "evaluate"]


def evaluate(model: Any, X: Any, y: ArrayLike | None = None, *, n_jobs: int = 1) -> dict[str, Any]:
    """How well a model predicts labelled rows.

    Parameters
    ----------
    model : Model or fitted estimator
    X, y
        Rows and their labels, or targets of regression; or a Dataset for X.

    Returns
    -------
    dict
        ``rows``, ``accuracy``, ``balanced_accuracy``, ``precision``, ``recall``, ``f1``, ``auc``, ``average_precision``
        (of two classes those of the second, else means over the classes), ``macro`` and ``weighted`` (means of the first
        three), ``rejected``, ``labels``, ``confusion`` (rows: true label), ``classes`` (a dict a class); ``log_loss``,
        ``brier`` and ``calibration_error`` where the model has probabilities. A figure that is not defined is NaN. Of
        regression ``rows``, ``rmse``, ``mae``, ``r2`` and ``correlation``.

    Examples
    --------
    >>> import hinge
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["up", "down", "up"]
    >>> found = hinge.evaluate(hinge.LinearSVC().fit(X, y), X, y)
    >>> found["accuracy"], found["classes"][1]["label"], found["classes"][1]["rows"]
    (1.0, 'up', 2)
    """
    core, data, names = _given(model, X, y)
    return _named(_core.evaluate(core, data, n_jobs), names)


def curves(model: Any, X: Any, y: ArrayLike | None = None, *, n_jobs: int = 1) -> list[dict[str, Any]]:
    """ROC, precision over recall and calibration of labelled rows, as arrays.

    Returns
    -------
    list of dict
        One of two classes, about the second; else one a class: its ``label``, and ``roc``, ``precision_recall`` and
        ``calibration``, each a dict of the arrays ``threshold``, ``x``, ``y`` and ``rows``, empty where there is no such
        curve. x and y are false and true positive rate; recall and precision; mean probability and the part of the rows
        that has the class. Of more than 2,000 thresholds some are left out, evenly.
    """
    core, data, names = _given(model, X, y)
    found = _core.curves(core, data, n_jobs)
    return [{**one, "label": names[one["label"]]} for one in found]


def _given(model: Any, X: Any, y: ArrayLike | None) -> tuple[_core.Model, _core.Dataset, dict[int, Any]]:
    """The model, the rows with labels as the model counts them, and what people call these."""
    inner = model if isinstance(model, Model) else model.model_
    core = inner._core
    if y is None:
        if not isinstance(X, Dataset):
            raise TypeError("y: expected labels, since X is no Dataset")
        y = X.y
    if inner.regression:
        return core, _core.wrap(to_rows(X), None, None, threads=0, targets=contiguous(y, np.float64)), {}
    labels = np.sort(np.array(core.labels, dtype=np.int64))
    classes = inner.classes if model is inner else model.classes_
    numbers = {name: int(label) for name, label in zip(classes.tolist(), labels)}
    found, places = np.unique(np.asarray(y), return_inverse=True)
    strange = [name for name in found.tolist() if name not in numbers]
    if strange:
        raise ValueError(f"y: label {strange[0]!r} is none of those of the model: {classes.tolist()}")
    known = np.array([numbers[name] for name in found.tolist()], dtype=np.int64)
    data = _core.wrap(to_rows(X), known[places.ravel()], None, threads=0, names=core.class_names)
    return core, data, {label: name for name, label in numbers.items()}


def _named(found: dict[str, Any], names: dict[int, Any]) -> dict[str, Any]:
    if "labels" in found:
        found["labels"] = [names[label] for label in found["labels"]]
        found["classes"] = [{**one, "label": names[one["label"]]} for one in found["classes"]]
    return found

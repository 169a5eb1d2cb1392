"""Trained models, what proves how good they are, and checking that."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from .data import Dataset, named_as, to_rows
from .errors import about

__all__ = ["Certificate", "Model", "Verification", "read_model", "verify"]


class Certificate(NamedTuple):
    """How good a model is, computed from the data and rounded outwards: no hyperplane has a value below ``dual``.

    The value is 1/2 |w|^2 + C sum_i c_i max(0, 1 - y_i (<w, x_i> + b)), or with another loss; of several classes the sum over
    them, and ``relative_gap`` the worst.
    """

    primal: float
    """The value of this model."""
    dual: float
    """What no model can be below."""
    relative_gap: float
    """(primal - dual) / primal; 1 without a bound."""
    bound: str
    """Where ``dual`` comes from: "witness" (the model has the proof), "proved" (by :func:`verify`), "none"."""


class Verification(NamedTuple):
    """What :func:`verify` found."""

    agrees: bool
    """Whether what the model says of itself follows from the data."""
    recomputed: Certificate
    stored: Certificate
    proved: bool
    """Whether the bound follows from the model's witness, or was found (``prove``)."""
    why: str
    """What does not agree, in words; empty if all does."""


class Model:
    """Hyperplanes, the labels they stand for, and the proof: what a model file holds.

    Estimators have one as ``model_``; :func:`read_model` reads one. Pickles of it are the bytes of a
    model file.
    """

    def __init__(self, core: _core.Model):
        self._core = core

    @property
    def classes(self) -> np.ndarray:
        """The labels, whole numbers, ascending; where classes have names, these, in the order of the model's list."""
        return named_as(self._core.class_names, np.sort(np.array(self._core.labels, dtype=np.int64)))

    @property
    def sections(self) -> list[str]:
        """Parts of the model's file that this version does not know; they change no prediction and are kept."""
        return self._core.sections

    @property
    def regression(self) -> bool:
        """Whether it predicts numbers, and has no classes."""
        return not self._core.labels

    @property
    def n_features(self) -> int:
        return self._core.features

    @property
    def coef(self) -> np.ndarray:
        """Weights, one row for two classes, else one a class; with a kernel one a support row."""
        return self._flip(self._core.coefficients(self._core.features))

    @property
    def intercept(self) -> np.ndarray:
        return self._flip(self._core.intercepts)

    @property
    def kernel(self) -> str:
        return self._core.kernel[0]

    @property
    def support(self):
        """With a kernel: the support rows."""
        return Dataset._of(self._core.support).X if self.kernel != "linear" else None

    @property
    def certificate(self) -> Certificate:
        return Certificate(*self._core.certificate)

    @property
    def certificates(self) -> list[Certificate]:
        """One a hyperplane."""
        return [Certificate(*c) for c in self._core.certificates]

    @property
    def origin(self) -> dict[str, Any]:
        """Where the model comes from: solver, cost, gap, rows, fingerprint of the data, status, ..."""
        return self._core.origin

    def decision_function(self, X: Any, *, n_jobs: int = 1) -> np.ndarray:
        """Scores: (n,) for two classes, > 0 for the larger label, and of regression; else (n, classes)."""
        scores = self._flip(scores_of(self._core, X, n_jobs), axis=1)
        return scores[:, 0] if len(self._core.labels) in (0, 2) else scores

    def predict(self, X: Any, *, n_jobs: int = 1) -> np.ndarray:
        """The label with the largest score, a row; of a model of regression the score."""
        if self.regression:
            return self.decision_function(X, n_jobs=n_jobs)
        return self.classes[winners(self._core, self.decision_function(X, n_jobs=n_jobs))]

    def save(self, path: str | os.PathLike, *, format: str = "native", index_base: int | None = None) -> None:
        """Writes the file the command line reads; ``format`` "native" or "liblinear".

        ``index_base`` is what the first column is called in libsvm text that the model shall be used
        on, 0 or 1; by default that of the data it comes from, and 1 of arrays.
        """
        if format not in ("native", "liblinear"):
            raise ValueError(f'format: expected "native" or "liblinear", got {format!r}')
        base = self._core.index_base if index_base is None else index_base
        if base not in (0, 1):
            raise ValueError(f"index_base: expected 0 or 1, got {index_base!r}")
        with about(path) as name:
            self._core.save(name, format == "liblinear", base)

    # A file of another program may have its two labels in the other order.
    def _flip(self, values, axis=0):
        labels = self._core.labels
        if len(labels) == 2:
            return values if labels[0] > labels[1] else -values
        order = np.argsort(labels)
        return values if (order == np.arange(len(order))).all() else np.take(values, order, axis=axis)

    def __reduce__(self):
        return _from_bytes, (self._core.to_bytes(),)

    def __repr__(self) -> str:
        what = "of regression" if self.regression else f"of {len(self._core.labels)} classes"
        return f"<hinge.Model {what}, {self.n_features} features, {self.origin['solver']}>"


def _from_bytes(data: bytes) -> Model:
    return Model(_core.model_from_bytes(data))


def read_model(path: str | os.PathLike, cost: float | None = None) -> Model:
    """Reads a model of hinge's or of LIBLINEAR's.

    Of a file with models of several costs ``cost`` says which, to one part in a million.
    """
    with about(path) as name:
        models = [Model(core) for core in _core.read_models(name)]
    if cost is None and len(models) == 1:
        return models[0]
    costs = [model.origin["cost"] for model in models]
    near = [model for model, c in zip(models, costs) if cost is not None and abs(c - cost) <= 1e-6 * c]
    if not near:
        raise ValueError(f"{os.fspath(path)!s} holds models of the costs {costs}; cost: expected one of them, got {cost}")
    return near[0]


def verify(model: Any, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, *,
           prove: bool = False, gap: float = 1e-3, n_jobs: int = 1) -> Verification:
    """Recomputes the certificate of a model from the data it was trained on, trusting neither.

    Parameters
    ----------
    model : Model or fitted estimator
    X, y, sample_weight
        The training data: the same rows in the same order, with the same dtype; or a Dataset for X.
    prove : bool
        Find a bound where the model has none, as tight as ``gap``.

    Raises
    ------
    DataError
        This is not the data the model was trained on (``verify.data``).

    Examples
    --------
    >>> import hinge, numpy as np
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), [1, 2]
    >>> svm = hinge.LinearSVC().fit(X, y)
    >>> hinge.verify(svm, X, y).agrees
    True
    """
    if isinstance(model, Model):
        data = X if isinstance(X, Dataset) and y is None else Dataset(X, y, sample_weight)
    else:
        data = model._training_data(X, y, sample_weight)
        model = model.model_
    agrees, recomputed, stored, proved, why = _core.verify(model._core, data._core, prove, gap, n_jobs)
    return Verification(agrees, Certificate(*recomputed), Certificate(*stored), proved, why)


def scores_of(model: _core.Model, X: Any, threads: int) -> np.ndarray:
    """Rows x hyperplanes, in the order of the model."""
    return _core.scores(model, X._core if isinstance(X, Dataset) else to_rows(X), threads)


def winners(model: _core.Model, scores: np.ndarray) -> np.ndarray:
    """Which class each row goes to, by its scores. One of which nothing was learned, since training was stopped, never wins."""
    if scores.ndim == 1:
        return (scores > 0).astype(np.intp)
    candidates = model.candidates
    if len(candidates) == scores.shape[1]:
        return scores.argmax(axis=1)
    return np.asarray(candidates)[scores[:, candidates].argmax(axis=1)]

"""The cost that predicts best, by cross-validation."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from . import _core
from ._base import LinearModel, _text, threads_of

__all__ = ["Tuned", "tune"]


class Tuned(NamedTuple):
    """What :func:`tune` found."""

    estimator: LinearModel
    """A clone with the cost that was chosen, fitted to all rows."""
    C: float
    costs: list[dict[str, Any]]
    """Of each cost, ascending: ``C``, ``mean`` and ``spread`` of the metric over the folds, ``figures`` (one a fold it was
    tried in), ``dropped``."""


def tune(estimator: LinearModel, X: Any, y: ArrayLike | None = None, *, C: Sequence[float] | None = None, folds: int = 5,
         metric: str | None = None, groups: ArrayLike | None = None, time_order: bool = False,
         one_standard_error: bool = False, all_folds: bool = False, sample_weight: ArrayLike | None = None) -> Tuned:
    """Finds the cost that predicts best, as the command line's ``tune`` does, and fits with it to all rows.

    Costs are a path in each fold: each begins where another ended, so that many take little longer than one.

    Parameters
    ----------
    estimator : LinearSVC, LogisticRegression or LinearSVR
        Its ``C`` does not count; it stays as it is.
    X, y, sample_weight
        As :meth:`fit` takes them.
    C : sequence of float, optional
        The costs to try; by default ever larger ones, until the metric falls.
    folds : int, default 5
    metric : str, optional
        "accuracy" (default), "balanced", "f1", "auc", "ap", "logloss" (of LogisticRegression); "rmse" of regression.
    groups : array, optional
        Rows of one group are in one fold.
    time_order : bool
        Rows are in the order of time: each fold is predicted by a model of the rows before it.
    one_standard_error : bool
        The least cost that is no worse than the best by more than a standard error, instead of the best.
    all_folds : bool
        Try every cost in all folds, also one that clearly loses.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import hinge
    >>> X, y = load_digits(return_X_y=True)
    >>> found = hinge.tune(hinge.LinearSVC(), X, y, C=[0.0001, 0.001, 0.01])
    >>> found.C, found.estimator.C
    (0.001, 0.001)
    """
    found = clone(estimator)
    options = found._options() | {"threads": threads_of(found.n_jobs), "cost": None}
    data, labels = found._data(X, y, sample_weight, reset=True)
    pairs = [(name, _text(value)) for name, value in options.items() if value is not None]
    pairs += found._pairs_of_labels(data, labels)
    numbers: list[int] = []
    if groups is not None:
        numbers = np.unique(np.asarray(groups), return_inverse=True)[1].ravel().tolist()
    costs, chosen = _core.search(data._core, pairs, sorted(map(float, C or [])), folds, numbers, time_order, metric,
                                 not all_folds, one_standard_error)
    best = costs[chosen]["C"]
    fit = {} if sample_weight is None else {"sample_weight": sample_weight}
    return Tuned(found.set_params(C=best).fit(X, y, **fit), best, costs)

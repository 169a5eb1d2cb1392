"""What classifiers have in common: labels, factors of classes, and who wins."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from . import _core
from ._base import LinearModel, threads_of
from .data import Dataset, contiguous, int64, named_as, to_rows
from .errors import exception_of
from .model import Model, winners


class LinearClassifier(ClassifierMixin, LinearModel):
    """Labels are a pair: the classes, and whether they are numbered rather than numbers."""

    # ---- Fitting.

    def _labels_of(self, data: Dataset) -> tuple[np.ndarray, bool]:
        data._core.check_classes()
        names = data._core.class_names
        return named_as(names, int64(data._core.classes)), bool(names)

    def _prepared(self, y) -> tuple[np.ndarray, Any]:
        return numbered(y)

    def _wrapped(self, X, y, names, weights) -> tuple[Dataset, tuple[np.ndarray, bool]]:
        def wrap(y):
            return Dataset._of(_core.wrap(to_rows(X), contiguous(y, np.int64), weights, threads_of(self.n_jobs)))

        data = wrap(y)
        found = int64(data._core.classes)
        if isinstance(names, np.dtype):
            return data, (found.astype(names), False)
        if len(found) < len(names):  # weights of 0 took whole classes away: those left are numbered anew
            data = wrap(np.searchsorted(found, y))
        return data, (names[found], True)

    def _pairs_of_labels(self, data: Dataset, labels) -> list[tuple[str, str]]:
        if len(labels[0]) < 2:
            raise exception_of(id="data.one-class", exit_code=65, message="", help="",
                               text=f"y has one class only: all {len(data)} rows have label {labels[0][0]!s}; "
                                    "a classifier needs rows of at least two classes [data.one-class]")
        pairs = [("class-weight", f"{label}={factor!r}") for label, factor in self._class_factors(data, labels).items()]
        if getattr(self, "reject", None) is not None:
            self._check_reject(labels[0])
            pairs.append(("reject", ""))
        return pairs

    def _keep_labels(self, labels) -> None:
        self.classes_, self._named = labels

    def _class_factors(self, data: Dataset, labels) -> dict[int, float]:
        """By the label the library sees."""
        classes, named = labels
        if self.class_weight is None:
            return {}
        seen = int64(data._core.classes)
        if isinstance(self.class_weight, str):
            if self.class_weight != "balanced":
                raise ValueError(f'class_weight: expected a dict, "balanced" or None, got {self.class_weight!r}')
            sums = np.bincount(np.searchsorted(seen, data.y), weights=data.sample_weight, minlength=len(seen))
            factors = sums.sum() / (len(seen) * sums)
            return {int(label): float(factor) for label, factor in zip(seen, factors)}
        known = {plain(c): int(label) for c, label in zip(classes, seen)}
        factors = {}
        for label, factor in dict(self.class_weight).items():
            if plain(label) in known:
                factors[known[plain(label)]] = float(factor)
            else:
                warnings.warn(f"class_weight: no row has label {label!r}; its weight is unused", stacklevel=6)
        return factors

    def _check_reject(self, classes: np.ndarray) -> None:
        """Whether it is a label like those of the classes, and none of them."""
        number = isinstance(self.reject, (int, float, np.number)) and not isinstance(self.reject, bool)
        like = number if classes.dtype.kind in "iuf" else isinstance(self.reject, str)
        if (classes.dtype.kind in "iufUS" and not like) or self.reject in classes.tolist():
            raise ValueError(f"reject: expected a label like those of y, and none of them, got {self.reject!r}")

    def _may_start(self, start: Model, data: Dataset, labels) -> bool:
        return (super()._may_start(start, data, labels) and np.array_equal(labels[0], getattr(self, "classes_", None))
                and start._core.class_names == data._core.class_names)

    # ---- Predicting.

    def decision_function(self, X) -> np.ndarray:
        """Scores <w, x> + b.

        Returns
        -------
        array of shape (n,) for two classes, > 0 for ``classes_[1]``; else (n, classes)
        """
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X) -> np.ndarray:
        """The class of each row, as in ``classes_``: the one with the largest score, or ``reject``."""
        scores = self.decision_function(X)
        chosen = winners(self.model_._core, scores)
        labels = self.classes_[chosen]
        if getattr(self, "reject", None) is None or scores.ndim == 1 or not self.model_._core.reject:
            return labels
        kept = np.take_along_axis(scores, chosen[:, np.newaxis], axis=1)[:, 0] > 0
        return labels if kept.all() else np.where(kept, labels, self.reject)

    @classmethod
    def load(cls, path: str | os.PathLike, *, cost: float | None = None, classes=None):
        """An estimator that predicts with a model file; ``classes`` are names for its labels, ascending."""
        estimator = cls._of_model(path, cost)
        model = estimator.model_
        numbers = model.classes
        names = numbers if classes is None else np.asarray(classes)
        if names.shape != numbers.shape:
            raise ValueError(f"classes: the model has {len(numbers)}, got {len(names)}")
        if model._core.labels != sorted(model._core.labels, reverse=len(numbers) == 2):
            raise ValueError("the classes of the model are not in ascending order; use hinge.read_model")
        estimator.classes_ = names
        if model._core.reject:
            is_number = names.dtype.kind in "iuf"
            estimator.reject = min(-1, int(names.min()) - 1) if is_number else "none"
        estimator._named = classes is not None or bool(model._core.class_names)
        return estimator


def numbered(y: np.ndarray) -> tuple[np.ndarray, Any]:
    """y as whole numbers, and what they stand for: numbers of that type, or the sorted labels."""
    y = column_or_1d(y, warn=True)
    if y.dtype.kind in "iu" and not (y.dtype == np.uint64 and y.size and y.max() > np.iinfo(np.int64).max):
        return y, y.dtype
    if y.dtype.kind == "b":
        return y, np.dtype(bool)
    if y.dtype.kind == "f" and np.isfinite(y).all() and (np.abs(y) < 2**53).all() and (y == np.floor(y)).all():
        return y.astype(np.int64), y.dtype
    try:
        check_classification_targets(y)
        classes, numbers = np.unique(y, return_inverse=True)
    except TypeError as error:  # labels that cannot be compared
        raise ValueError(f"y: labels must be all of one kind: {error}") from None
    return numbers, classes


def plain(label):
    return label.item() if isinstance(label, np.generic) else label

"""What regressors have in common: targets, and predictions that are scores."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from . import _core
from ._base import LinearModel, threads_of
from .data import Dataset, contiguous, to_rows


class LinearRegressor(RegressorMixin, LinearModel):
    """Rows have numbers to be predicted, and no labels besides."""

    _numeric_y = True

    def _labels_of(self, data: Dataset) -> None:
        if data._core.class_names:
            raise ValueError("X: the labels of this Dataset are names of classes; give y")

    def _prepared(self, y) -> tuple[np.ndarray, Any]:
        y = column_or_1d(y, warn=True).astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(y))
        if bad.size:
            raise ValueError(f"y: the target of row {bad[0]} (from 0) is {y[bad[0]]}; expected finite numbers. "
                             "NaN and infinity have no meaning")
        return y, None

    def _wrapped(self, X, y, names, weights) -> tuple[Dataset, None]:
        return Dataset._of(_core.wrap(to_rows(X), None, weights, threads_of(self.n_jobs), [],
                                      contiguous(y, np.float64))), None

    def predict(self, X) -> np.ndarray:
        """<w, x> + b of each row."""
        return self._scores(X)[:, 0]

    @property
    def coef_(self):
        """Weights, of shape (d,); read-only, see :meth:`sparsify`."""
        coef = super().coef_
        return coef if getattr(self, "_sparse", False) else coef[0]

    @classmethod
    def load(cls, path: str | os.PathLike, *, cost: float | None = None):
        """An estimator that predicts with a model file."""
        return cls._of_model(path, cost)

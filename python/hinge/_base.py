"""What all estimators have in common: from X and y to the library and back."""

from __future__ import annotations

import os
import re
import time
import warnings
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core
from .data import Dataset, check_exact, warn
from .errors import UsageError
from .model import Certificate, Model, read_model, scores_of

_CONVERSION = dict(accept_sparse="csr", accept_large_sparse=True, dtype=(np.float64, np.float32), order="C",
                   ensure_all_finite=False)  # the library looks at every value anyway, and says where


_GOALS = ("gap", "gap-absolute", "gap-per-row", "target")


class LinearModel(BaseEstimator):
    """Fits by a call of :meth:`_fit`, predicts by ``model_``. Classifiers and regressors say what y is."""

    # What the library calls the parameters, for its messages: option -> parameter.
    _parameters: dict[str, str] = {}

    # ---- Fitting.

    def _options(self) -> dict[str, Any]:
        """What the library is asked for: option -> value, None for its default."""
        raise NotImplementedError

    def _fit(self, X, y, sample_weight) -> None:
        """Trains, and sets every fitted attribute but n_iter_; if anything comes between, there is none."""
        try:
            start = self.model_ if self.warm_start and self.__sklearn_is_fitted__() else None
            options = self._options() | {"threads": threads_of(self.n_jobs)}
            data, labels = self._data(X, y, sample_weight, reset=True)
            if all(options.get(name) is None for name in _GOALS):
                options |= self._usual_goal(data)
            pairs = [(name, _text(value)) for name, value in options.items() if value is not None]
            pairs += self._pairs_of_labels(data, labels)
            if start is not None and not self._may_start(start, data, labels):
                start = None
            listener = _Progress(self.verbose)
            core, report = _core.train(data._core, pairs, start and start._core, listener.tell if self.verbose else None)
            listener.end(core, report)
        except UsageError as error:
            self._forget()
            raise self._in_our_words(error) from None
        except BaseException:
            self._forget()
            raise
        self._forget_cached()
        self.model_ = Model(core)
        self._keep_labels(labels)
        self.certificate_ = self.model_.certificate
        self.trace_ = report["trace"]
        self.status_ = report["status"]
        self._warn(report["warnings"])

    def _bias(self, free: bool = True, scale: Any = 1) -> Any:
        """The option: whether b can be free, and the constant feature it is the weight of where it is not."""
        if self.intercept not in ("free", "scaled"):
            raise ValueError(f'intercept: expected "free" or "scaled", got {self.intercept!r}')
        return None if not self.fit_intercept else "free" if free and self.intercept == "free" else scale

    # What a class of estimators makes of y. Labels are whatever it needs to know of them besides.

    _numeric_y = False

    def _labels_of(self, data: Dataset) -> Any:
        """The labels of rows that were read or wrapped before."""
        raise NotImplementedError

    def _prepared(self, y) -> tuple[np.ndarray, Any]:
        """y as :meth:`_wrapped` takes it, a number a row, and what that stands for."""
        raise NotImplementedError

    def _wrapped(self, X, y, names, weights) -> tuple[Dataset, Any]:
        """Rows for the library, and the labels."""
        raise NotImplementedError

    def _pairs_of_labels(self, data: Dataset, labels) -> list[tuple[str, str]]:
        """Options that follow from the labels."""
        return []

    def _keep_labels(self, labels) -> None:
        """Sets the fitted attributes that speak of them."""

    def _may_start(self, start: Model, data: Dataset, labels) -> bool:
        """Whether the last fit was of the same columns, and of such labels."""
        return start.n_features == self.n_features_in_

    def _data(self, X, y, sample_weight, *, reset: bool) -> tuple[Dataset, Any]:
        """Rows for the library, and the labels."""
        if isinstance(X, Dataset):
            if y is None and sample_weight is None:
                if reset:
                    self._reset_features(X)
                return X, self._labels_of(X)
            y = X.y if y is None else y
            sample_weight = X.sample_weight if sample_weight is None else sample_weight
            X = X.X
        check_exact(X)
        X, y = validate_data(self, X, y, reset=reset, y_numeric=self._numeric_y, **_CONVERSION)
        y, names = self._prepared(y)
        weights = _weights(sample_weight, X.shape[0])
        if weights is not None and not weights.all():
            # A row that does not count is no row: the result is the one without it, to the bit.
            keep = np.flatnonzero(weights)
            if not keep.size:
                raise ValueError("sample_weight: all weights are zero")
            X, y, weights = X[keep], y[keep], weights[keep]
        if weights is not None and (weights == 1).all():
            weights = None
        return self._wrapped(X, y, names, weights)

    def _training_data(self, X, y, sample_weight) -> Dataset:
        """For verify(): the rows as fit() handed them on."""
        check_is_fitted(self)
        return self._data(X, y, sample_weight, reset=False)[0]

    def _reset_features(self, X: Dataset) -> None:
        self.n_features_in_ = X.shape[1]
        vars(self).pop("feature_names_in_", None)

    def _usual_goal(self, data: Dataset) -> dict[str, Any]:
        """Options of a fit that was given no goal."""
        return {}

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")
                     and name not in self.get_params(deep=False)]:
            delattr(self, name)
        self._forget_cached()

    def _forget_cached(self) -> None:
        for name in ("_coef", "_sparse", "_named", "_learner"):
            vars(self).pop(name, None)

    def _warn(self, found) -> None:
        for id, text in found:
            if id in ("solver.limit", "solver.stalled"):
                warnings.warn(text, ConvergenceWarning, stacklevel=4)
            elif id != "usage.class-weight":
                warn([(id, text)], stacklevel=5)

    def _parameter(self, option: str) -> str | None:
        """What an option of the library is called here."""
        return self._parameters.get(option)

    def _in_our_words(self, error: UsageError) -> UsageError:
        """The same with options of the command line called what they are called here."""
        text = re.sub(r"--([a-z0-9-]+)", lambda found: self._parameter(found[1]) or found[1], str(error))
        renamed = UsageError(text)
        renamed.id, renamed.help, renamed._text = error.id, error.help, text
        return renamed

    # ---- Predicting.

    def _scores(self, X) -> np.ndarray:
        """<w, x> + b of every row and hyperplane."""
        check_is_fitted(self)
        if isinstance(X, Dataset):
            if X.shape[1] != self.n_features_in_:
                raise ValueError(f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                                 f"{self.n_features_in_} features as input")
        elif not self._is_plain(X):
            check_exact(X)
            X = validate_data(self, X, reset=False, **_CONVERSION)
        return scores_of(self.model_._core, X, threads_of(self.n_jobs))

    def _is_plain(self, X) -> bool:
        """Whether X is just what the library takes, so that there is nothing for scikit-learn to check."""
        if not isinstance(X, (sparse.csr_matrix, sparse.csr_array)):
            if type(X) is not np.ndarray or not X.flags.c_contiguous:
                return False
        return (X.dtype in (np.float64, np.float32) and X.ndim == 2 and X.shape[0] > 0
                and X.shape[1] == self.n_features_in_ and "feature_names_in_" not in vars(self))

    # ---- What was learned.

    @property
    def coef_(self):
        """Weights, of shape (1, d) for two classes, else (classes, d); read-only, see :meth:`sparsify`."""
        if self._model().kernel != "linear":
            raise AttributeError("a model with a kernel has dual_coef_ and support_vectors_ in the place of coef_")
        if "_coef" not in vars(self):
            coef = self.model_._core.coefficients(self.n_features_in_)
            if getattr(self, "_sparse", False):
                coef = sparse.csr_matrix(coef)
            else:
                coef.flags.writeable = False
            self._coef = coef
        return self._coef

    @property
    def intercept_(self) -> np.ndarray:
        """One number a hyperplane; 0 without an intercept."""
        return self._model().intercept

    def _model(self) -> Model:
        if "model_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted yet")
        return self.model_

    def sparsify(self):
        """Makes ``coef_`` a scipy matrix. Predictions do not change, nor does their speed."""
        check_is_fitted(self)
        self._forget_coef(sparse=True)
        return self

    def densify(self):
        """Makes ``coef_`` an array again, as after :meth:`fit`."""
        check_is_fitted(self)
        self._forget_coef(sparse=False)
        return self

    def _forget_coef(self, sparse: bool) -> None:
        vars(self).pop("_coef", None)
        self._sparse = sparse

    def save(self, path: str | os.PathLike, *, format: str = "native", index_base: int | None = None) -> None:
        """Writes the model file of the command line, with the proof; see :meth:`hinge.Model.save`.

        Model files hold whole numbers for classes: others become their places in ``classes_``. Pickle
        an estimator to keep them, and its parameters.
        """
        check_is_fitted(self)
        self.model_.save(path, format=format, index_base=index_base)

    @classmethod
    def _of_model(cls, path, cost):
        """An estimator with the parameters and attributes that a model file says."""
        model = read_model(path, cost)
        if model.kernel != "linear" and "kernel" not in cls._parameters:
            raise ValueError(f"{cls.__name__} has no kernels; load the model with hinge.PegasosClassifier")
        estimator = cls(**cls._parameters_of(model))
        estimator.model_ = model
        estimator.n_features_in_ = model.n_features
        estimator.certificate_ = model.certificate
        estimator.status_ = model.origin["status"]
        estimator.n_iter_ = max(1, int(model._core.iterations.max()))
        return estimator

    # ---- What scikit-learn wants to know.

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_coef", "_learner")}


class _Progress:
    """Prints what the command line shows."""

    def __init__(self, verbose: int):
        self.verbose, self.printed = int(verbose), 0.0

    def tell(self, seconds, passes, primal, gap) -> None:
        now = time.monotonic()
        if self.verbose < 2 and now - self.printed < 0.2:
            return
        self.printed = now
        print(f"training: {seconds:.1f} s, {passes:.0f} passes" + (f", gap {gap:.2g}" if primal > 0 else ""), flush=True)

    def end(self, core, report) -> None:
        if not self.verbose:
            return
        origin, found = core.origin, Certificate(*core.certificate)
        if origin["because"]:
            print(f"solver {origin['solver']}, because {origin['because']}")
        reached = (f"primal {found.primal:.8g}, without a bound" if found.bound == "none" else
                   f"gap {found.relative_gap:.2g} (primal {found.primal:.8g}, bound {found.dual:.8g})")
        print(f"{reached} after {report['seconds']:.2g} s", flush=True)


def threads_of(n_jobs: int | None) -> int:
    """scikit-learn's n_jobs: None is 1, -1 all cores, 0 an error; more than there are cores helps nobody."""
    return max(1, min(effective_n_jobs(n_jobs), os.cpu_count() or 1))


def seed_of(random_state) -> int:
    """None is a seed, too: the same data gives the same model."""
    if random_state is None:
        return 1
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


def _weights(sample_weight, rows: int) -> np.ndarray | None:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(rows, weights)
    if weights.shape != (rows,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected ({rows},)")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise ValueError(f"sample_weight: weight of row {bad[0]} (from 0) is {weights[bad[0]]}; "
                         "expected a finite number >= 0. Negative values in data passed to `sample_weight`, "
                         "NaN and infinity have no meaning")
    return np.ascontiguousarray(weights)


def required(value):
    """For an option that None does not stand for the default of."""
    return "None" if value is None else value


def _text(value) -> str:
    if isinstance(value, (bool, np.bool_)):
        return str(value)  # which no number is
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return str(value)

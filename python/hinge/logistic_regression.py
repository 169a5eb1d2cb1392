"""LogisticRegression: probabilities, with a certificate."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.special import expit, log_expit

from ._classifier import LinearClassifier
from ._exact import ExactFit

__all__ = ["LogisticRegression"]


class LogisticRegression(ExactFit, LinearClassifier):
    """Logistic regression, solved to a proven gap; of several classes each against the rest.

    Minimises 1/2 |w|^2 + C sum_i c_i log(1 + exp(-y_i (<w, x_i> + b))), as scikit-learn's
    LogisticRegression does for two classes. More than two are learned one against the rest, and their
    probabilities are those of each against the rest, divided by their sum: scikit-learn's
    OneVsRestClassifier does the same, its LogisticRegression learns all at once (multinomial) and
    finds other ones. The same data and parameters give the same model, bit for bit, for any
    ``n_jobs``.

    Parameters
    ----------
    C : float, default 1.0
        Cost of a row, > 0.
    penalty : "l2"
        As in scikit-learn; there is no other.
    dual : bool or "auto", default "auto"
        As in scikit-learn, and without effect: ``solver`` says how the minimum is found.
    fit_intercept : bool, default True
        Whether there is a b.
    intercept : "free" or "scaled", default "free"
        "free": b is not regularised, as in scikit-learn. "scaled": b is the weight of a constant
        feature and regularised with the rest, as scikit-learn's solver "liblinear" has it.
    intercept_scaling : float, default 1.0
        With ``intercept="scaled"``: that constant feature.
    gap : float in (0, 1], optional
        Stop when (primal - bound) / primal <= gap, which is proved, not guessed. By default 1e-3; where
        X has at most 20,000 stored values 1e-10.
    tol : float in (0, 1], optional
        The same as ``gap``, where that is not given. (scikit-learn's ``tol`` is another measure of
        how far the minimum is, of which nothing is proved.)
    gap_absolute, gap_per_row, target : float, optional
        Other goals, as of :class:`LinearSVC`.
    solver : str, default "auto"
        "auto" chooses by the shape of the data; "dual" or "newton". Names of scikit-learn's solvers
        ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga") are read as "auto".
    multi_class : "ovr"
        Each class against the rest; there is no other.
    class_weight : dict or "balanced", optional
        Factors on the cost of the rows of a class; "balanced": n / (classes * rows of the class).
    warm_start : bool, default False
        Begin at the last fit where it was of the same classes and columns.
    max_iter : int, optional
        Most passes over the data. By default there is no limit.
    time_limit : float, optional
        Most seconds of training. A fit that a limit ends keeps the best model found, with its true
        gap, and warns (ConvergenceWarning).
    n_jobs : int, optional
        Threads; None is 1, -1 all cores. Never changes the model.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited. None stands for 1: fits are repeatable.
    verbose : int, default 0
        1: a line of progress every now and then, and how it ended. 2: a line a record.

    Attributes
    ----------
    coef_ : array of shape (1, d) or (classes, d)
        Read-only.
    intercept_ : array of shape (1,) or (classes,)
    classes_ : array
    certificate_ : Certificate
        ``primal``, ``dual`` and ``relative_gap``, recomputed from the data after training.
    n_iter_ : int
        Iterations of the solver, of several classes the most.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where X has column names that are strings.
    trace_, status_, model_
        As of :class:`LinearSVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import hinge
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = hinge.LogisticRegression().fit(X / X.max(axis=0), y)
    >>> found.predict_proba(X[:1] / X.max(axis=0)).round(1).tolist()
    [[1.0, 0.0]]
    """

    _losses = ("logistic",)
    _foreign_solvers = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")

    def __init__(self, C: float = 1.0, *, penalty: str = "l2", dual: bool | str = "auto", fit_intercept: bool = True,
                 intercept: Literal["free", "scaled"] = "free", intercept_scaling: float = 1.0,
                 gap: float | None = None, tol: float | None = None, gap_absolute: float | None = None,
                 gap_per_row: float | None = None, target: float | None = None, solver: str = "auto",
                 multi_class: str = "ovr", class_weight: Any = None, warm_start: bool = False,
                 max_iter: int | None = None, time_limit: float | None = None, n_jobs: int | None = None,
                 random_state: Any = None, verbose: int = 0):
        self.C = C
        self.penalty = penalty
        self.dual = dual
        self.fit_intercept = fit_intercept
        self.intercept = intercept
        self.intercept_scaling = intercept_scaling
        self.gap = gap
        self.tol = tol
        self.gap_absolute = gap_absolute
        self.gap_per_row = gap_per_row
        self.target = target
        self.solver = solver
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, sample_weight=None) -> LogisticRegression:
        """Fits; X, y and sample_weight as in :meth:`LinearSVC.fit`."""
        self._fit(X, y, sample_weight)
        self._set_iterations()
        return self

    def _options(self) -> dict[str, Any]:
        return self._exact_options("logistic")

    def _is_smooth(self) -> bool:
        return True

    def predict_proba(self, X) -> np.ndarray:
        """Probabilities of the classes, in the order of ``classes_``; each row adds up to 1.

        Of more than two classes they are those of each against the rest, divided by their sum.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return np.exp(self._normalised(scores))

    def predict_log_proba(self, X) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`, exact also where that is nearly 0."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        return self._normalised(scores)

    @staticmethod
    def _normalised(scores: np.ndarray) -> np.ndarray:
        """Logarithms of shares: of 1/(1 + exp(-s)) in their sum over a row, which may be tiny."""
        logs = log_expit(scores)
        most = logs.max(axis=1, keepdims=True)
        return logs - most - np.log(np.exp(logs - most).sum(axis=1, keepdims=True))

"""LinearSVC: exact, with a certificate."""

from __future__ import annotations

from typing import Any, Literal

from ._base import required
from ._classifier import LinearClassifier
from ._exact import ExactFit

__all__ = ["LinearSVC"]


class LinearSVC(ExactFit, LinearClassifier):
    """A linear support vector machine with the hinge loss or its square, solved to a proven gap.

    Minimises 1/2 |w|^2 + C sum_i c_i max(0, 1 - y_i (<w, x_i> + b)), or with squared maxima, for more
    than two classes once a class against the rest. The same data and parameters give the same model, bit for bit, for any
    ``n_jobs``.

    Parameters
    ----------
    C : float, default 1.0
        Cost of a row inside the margin, > 0.
    loss : "hinge" or "squared_hinge", default "hinge"
        "squared_hinge" is what scikit-learn's LinearSVC minimises by default; of the solvers "auto",
        "dual" and "newton" take it.
    penalty : "l2"
        As in scikit-learn; there is no other.
    dual : bool or "auto", default "auto"
        As in scikit-learn, and without effect: ``solver`` says how the minimum is found.
    fit_intercept : bool, default True
        Whether there is a b.
    intercept : "free" or "scaled", default "free"
        "free": b is not regularised, as statistics has it. "scaled": b is the weight of a constant
        feature and regularised with the rest, as in scikit-learn's LinearSVC.
    intercept_scaling : float, default 1.0
        With ``intercept="scaled"``: that constant feature. A free intercept is what a very large one
        comes near to.
    gap : float in (0, 1], optional
        Stop when (primal - bound) / primal <= gap, which is proved, not guessed. By default 1e-3;
        where X has at most 20,000 stored values 1e-10, as that costs next to nothing there and makes
        w itself exact to five digits and more.
    tol : float in (0, 1], optional
        The same as ``gap``, where that is not given. (scikit-learn's ``tol`` is another measure of
        how far the minimum is, of which nothing is proved.)
    gap_absolute, gap_per_row, target : float, optional
        Other goals, each of one hyperplane: stop when primal - bound <= gap_absolute; when (primal -
        bound) / (C n) <= gap_per_row; when primal <= target. The first that is reached ends the fit, as does
        a bound above ``target`` where that is the only goal; with one of them there is no default ``gap``.
    solver : str, default "auto"
        "auto" chooses by the shape of the data; "dual", "newton", or a cutting plane method "cpa",
        "ocas", "ocas3", "active", "focus". All find the same minimum. Where no goal is given, X has at
        most 20,000 stored values in 500 columns and the loss is squared, "auto" is "newton".
    planes : int, optional
        Of cutting planes: how many are kept, 2 to 10,000. By default 100, with "active" from 20 to 100.
    mu : float, optional
        Of cutting planes: where the next is laid, 0.001 to 1, as a share of the way from the best point
        to the minimum over the planes. By default 0.05, with "focus" 0.2 where X has few rows a column.
    multi_class : "ovr"
        As in scikit-learn; there is no other.
    class_weight : dict or "balanced", optional
        Factors on the cost of the rows of a class; "balanced": n / (classes * rows of the class).
    reject : label, optional
        With more than two classes: what :meth:`predict` says of a row without a positive score, a label
        like those of y and none of them. By default it says the class with the largest score.
    warm_start : bool, default False
        Begin at the last fit where it was of the same classes and columns. Values are the same within
        the gap.
    max_iter : int, optional
        Most passes over the data. By default there is no limit: ``gap`` says when to stop, and a fit
        that makes no headway ends with a ConvergenceWarning that says why.
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
    trace_ : dict of arrays
        ``seconds, passes, iteration, problem, primal, dual, relative_gap, active_rows``, and of cutting
        planes ``planes, step, objective_rows, search_rows, objective_seconds, search_seconds``, as in
        the trace of the command line: one entry a record, ready to plot (:func:`hinge.plot_trace`).
    status_ : str
        "converged" or "limit".
    model_ : Model

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import hinge
    >>> X, y = load_digits(return_X_y=True)
    >>> svm = hinge.LinearSVC(C=0.01).fit(X, y)
    >>> svm.score(X, y) > 0.98
    True
    >>> bool(svm.certificate_.relative_gap <= 1e-3)
    True
    """

    _losses = ("hinge", "squared_hinge")
    _parameters = ExactFit._parameters | {"planes": "planes", "mu": "mu", "reject": "reject"}

    def __init__(self, C: float = 1.0, *, loss: Literal["hinge", "squared_hinge"] = "hinge", penalty: str = "l2",
                 dual: bool | str = "auto", fit_intercept: bool = True,
                 intercept: Literal["free", "scaled"] = "free", intercept_scaling: float = 1.0,
                 gap: float | None = None, tol: float | None = None, gap_absolute: float | None = None,
                 gap_per_row: float | None = None, target: float | None = None, solver: str = "auto",
                 planes: int | None = None, mu: float | None = None, multi_class: str = "ovr",
                 class_weight: Any = None, reject: Any = None, warm_start: bool = False, max_iter: int | None = None,
                 time_limit: float | None = None, n_jobs: int | None = None, random_state: Any = None,
                 verbose: int = 0):
        self.C = C
        self.loss = loss
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
        self.planes = planes
        self.mu = mu
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.reject = reject
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, sample_weight=None) -> LinearSVC:
        """Fits.

        X is a scipy sparse matrix or array, a numpy array, a data frame, or a :class:`hinge.Dataset`,
        which brings its y. CSR with float32 or float64 values and int32 indices, and C-order arrays of
        these types, are used in place; they must not be changed by others meanwhile. Rows of
        ``sample_weight`` 0 count as not there. After Ctrl-C, and after any error, the estimator is
        unfitted.
        """
        self._fit(X, y, sample_weight)
        self._set_iterations()
        return self

    def _is_smooth(self) -> bool:
        return self.loss == "squared_hinge"

    def _options(self) -> dict[str, Any]:
        if self.loss not in self._losses:
            raise ValueError(f'loss: expected "hinge" or "squared_hinge", got {self.loss!r}; for the logistic loss there '
                             "is hinge.LogisticRegression")
        return self._exact_options(required(self.loss)) | {"planes": self.planes, "mu": self.mu}

    @classmethod
    def _parameters_of(cls, model) -> dict[str, Any]:
        found = super()._parameters_of(model)
        return {**found, "loss": model.origin["loss"]} if found else found

"""LinearSVR: regression with an insensitive tube, with a certificate."""

from __future__ import annotations

from typing import Any, Literal


from ._exact import ExactFit
from ._regressor import LinearRegressor

__all__ = ["LinearSVR"]

# What scikit-learn calls the losses, and what the library does.
_LOSSES = {"epsilon_insensitive": "epsilon_insensitive", "squared_epsilon_insensitive": "squared_epsilon"}


class LinearSVR(ExactFit, LinearRegressor):
    """Linear support vector regression, solved to a proven gap.

    Minimises 1/2 |w|^2 + C sum_i c_i max(0, |<w, x_i> + b - y_i| - epsilon), or with squared maxima. The
    same data and parameters give the same model, bit for bit, for any ``n_jobs``.

    Parameters
    ----------
    epsilon : float, default 0.0
        By how much a prediction may miss its target at no cost, >= 0.
    C : float, default 1.0
        Cost of a row, > 0.
    loss : "epsilon_insensitive" or "squared_epsilon_insensitive", default "epsilon_insensitive"
    dual : bool or "auto", default "auto"
        As in scikit-learn, and without effect: ``solver`` says how the minimum is found.
    fit_intercept : bool, default True
        Whether there is a b.
    intercept : "free" or "scaled", default "free"
        "free": b is not regularised. "scaled": b is the weight of a constant feature and regularised
        with the rest, as in scikit-learn's LinearSVR.
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
        "auto" chooses by the shape of the data; "dual", "newton" or "pegasos", which ends
        after 20 epochs where no goal is given.
    warm_start : bool, default False
        Begin at the last fit where it was of the same columns.
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
    coef_ : array of shape (d,)
        Read-only.
    intercept_ : array of shape (1,)
    certificate_ : Certificate
        ``primal``, ``dual`` and ``relative_gap``, recomputed from the data after training.
    n_iter_ : int
        Iterations of the solver.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where X has column names that are strings.
    trace_, status_, model_
        As of :class:`LinearSVC`.

    Examples
    --------
    >>> import hinge
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0]
    >>> found = hinge.LinearSVR(C=100).fit(X, y)
    >>> found.predict([[4.0]]).round(2).tolist()
    [9.0]
    """

    _losses = tuple(_LOSSES.values())
    _takes_pegasos = True
    _parameters = ExactFit._parameters | {"loss": "loss", "epsilon": "epsilon"}

    def __init__(self, *, epsilon: float = 0.0, C: float = 1.0,
                 loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive",
                 dual: bool | str = "auto", fit_intercept: bool = True,
                 intercept: Literal["free", "scaled"] = "free", intercept_scaling: float = 1.0,
                 gap: float | None = None, tol: float | None = None, gap_absolute: float | None = None,
                 gap_per_row: float | None = None, target: float | None = None, solver: str = "auto",
                 warm_start: bool = False, max_iter: int | None = None, time_limit: float | None = None,
                 n_jobs: int | None = None, random_state: Any = None, verbose: int = 0):
        self.epsilon = epsilon
        self.C = C
        self.loss = loss
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
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, sample_weight=None) -> LinearSVR:
        """Fits; X and sample_weight as in :meth:`LinearSVC.fit`, y any finite numbers."""
        self._fit(X, y, sample_weight)
        self._set_iterations()
        return self

    def _is_smooth(self) -> bool:
        return self.loss == "squared_epsilon_insensitive"

    def _options(self) -> dict[str, Any]:
        if self.loss not in _LOSSES:
            raise ValueError(f"loss: expected one of {', '.join(_LOSSES)}, got {self.loss!r}")
        return self._exact_options(_LOSSES[self.loss]) | {"epsilon": self.epsilon}

    @classmethod
    def _parameters_of(cls, model) -> dict[str, Any]:
        found = super()._parameters_of(model)
        names = {ours: theirs for theirs, ours in _LOSSES.items()}
        return {**found, "loss": names[model.origin["loss"]], "epsilon": model.origin["epsilon"]} if found else found

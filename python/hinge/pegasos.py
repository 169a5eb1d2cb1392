"""PegasosClassifier: stochastic sub-gradient steps, in one go, online, or with a kernel."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from . import _core
from ._base import required, seed_of
from ._classifier import LinearClassifier, numbered, plain
from .data import Dataset, contiguous, to_rows
from .model import Model

__all__ = ["PegasosClassifier"]

_ITERATES = {False: "last", True: "average", "last": "last", "average": "average", "suffix": "suffix",
             "random": "random"}


class PegasosClassifier(LinearClassifier):
    """Pegasos: a linear (or kernel) support vector machine by stochastic sub-gradient steps.

    Minimises lambda/2 |w|^2 + mean_i max(0, 1 - y_i <w, x_i>), or the mean of the squares of that,
    or of log(1 + exp(-y_i <w, x_i>)), which is what :class:`LinearSVC` minimises with C = 1 / (lambda n). It is good soon and exact late: where the minimum is wanted,
    LinearSVC is faster. What it has over it: :meth:`partial_fit`, and kernels.

    Parameters
    ----------
    lambda_ : float, default 1e-4
        Weight of 1/2 |w|^2, > 0.
    loss : "hinge", "squared_hinge" or "logistic", default "hinge"
        What a row costs; with a kernel the hinge.
    batch_size : int, default 1
        Rows a step looks at.
    average : "suffix", True, False, "random" or int, default "suffix"
        Which of the points it passed is the result: the mean over the last half of the steps, the
        mean of all (True), the last (False), one drawn by lot, or the best of so many such draws.
    update : "margin" or "mistake", default "margin"
        Which rows a step learns from: those inside the margin, or only those predicted wrongly, a score
        of 0 among them. The latter is a perceptron that shrinks: nothing brings it to the minimum.
    projection : bool, default False
        Keep |w| <= 1/sqrt(lambda), as in the paper.
    sampling : "permute", "replace" or "order", default "permute"
        Every row once an epoch in random order; rows drawn at random; rows as they come.
    epochs : int, default 20
        Each looks at as many rows as there are.
    steps : int, optional
        How many steps it takes, in the place of ``epochs``.
    t0 : int, optional
        The first step has the size of step t0 + 1. By default 0, with a warm start the number of rows.
    gap : float, optional
        Stop as soon as the proven gap is as small, after ``epochs`` at the latest.
    kernel : "linear", "rbf", "poly" or "sigmoid", default "linear"
    gamma, degree, coef0
        Of the kernel: exp(-gamma |x - z|^2), (gamma <x, z> + coef0)^degree, tanh(gamma <x, z> + coef0).
        ``gamma=None`` is 1/d.
    budget : int, optional
        With a kernel: most support rows.
    rescale : bool, default True
        Multiply the result by the number that minimises the objective.
    check_every : int, optional
        Epochs between exact looks at objective and bound, each a record of ``trace_``; by default one
        at the end.
    fit_intercept : bool, default True
    intercept : "free" or "scaled", default "free"
        As in :class:`LinearSVC`; with a kernel and in :meth:`partial_fit` b is always scaled.
    class_weight, reject, warm_start, time_limit, n_jobs, random_state, verbose
        As in :class:`LinearSVC`.

    Attributes
    ----------
    coef_, intercept_, classes_, certificate_, n_features_in_, feature_names_in_, trace_, status_, model_
        As in :class:`LinearSVC`; there is no ``coef_`` with a kernel.
    dual_coef_, support_vectors_
        With a kernel: one weight a hyperplane and support row; the support rows.
    n_iter_ : int
        Epochs.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import hinge
    >>> X, y = load_digits(return_X_y=True)
    >>> hinge.PegasosClassifier(1e-3).fit(X / 16, y).score(X / 16, y) > 0.95
    True
    >>> rbf = hinge.PegasosClassifier(1e-4, kernel="rbf", gamma=0.5, epochs=5, fit_intercept=False)
    >>> rbf.fit(X / 16, y).score(X / 16, y) > 0.97
    True
    """

    _parameters = {"lambda": "lambda_", "loss": "loss", "batch": "batch_size", "iterate": "average", "update": "update",
                   "projection": "projection", "sampling": "sampling", "epochs": "epochs", "steps": "steps",
                   "t0": "t0", "gap": "gap", "kernel": "kernel", "gamma": "gamma", "degree": "degree",
                   "coef0": "coef0", "budget": "budget", "rescale": "rescale", "check-every": "check_every",
                   "bias": "intercept", "class-weight": "class_weight", "reject": "reject", "time-limit": "time_limit",
                   "threads": "n_jobs", "seed": "random_state", "start": "warm_start"}

    def __init__(self, lambda_: float = 1e-4, *, loss: Literal["hinge", "squared_hinge", "logistic"] = "hinge",
                 batch_size: int = 1, average: bool | int | str = "suffix",
                 update: Literal["margin", "mistake"] = "margin", projection: bool = False,
                 sampling: Literal["permute", "replace", "order"] = "permute", epochs: int = 20,
                 steps: int | None = None, t0: int | None = None, gap: float | None = None,
                 kernel: str = "linear", gamma: float | None = None, degree: int = 3, coef0: float = 0.0,
                 budget: int | None = None, rescale: bool = True, check_every: int | None = None,
                 fit_intercept: bool = True, intercept: Literal["free", "scaled"] = "free", class_weight: Any = None,
                 reject: Any = None, warm_start: bool = False, time_limit: float | None = None,
                 n_jobs: int | None = None, random_state: Any = None, verbose: int = 0):
        self.lambda_ = lambda_
        self.loss = loss
        self.batch_size = batch_size
        self.average = average
        self.update = update
        self.projection = projection
        self.sampling = sampling
        self.epochs = epochs
        self.steps = steps
        self.t0 = t0
        self.gap = gap
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.budget = budget
        self.rescale = rescale
        self.check_every = check_every
        self.fit_intercept = fit_intercept
        self.intercept = intercept
        self.class_weight = class_weight
        self.reject = reject
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, sample_weight=None) -> PegasosClassifier:
        """Fits; X, y and sample_weight as in :meth:`LinearSVC.fit`."""
        self._fit(X, y, sample_weight)
        steps = int(self.model_._core.iterations.max())
        self.n_iter_ = max(1, math.ceil(steps * self.batch_size / self.model_.origin["rows"]))
        return self

    def _options(self) -> dict[str, Any]:
        options = {"solver": "pegasos", "lambda": required(self.lambda_), "loss": required(self.loss),
                   "batch": required(self.batch_size),
                   "iterate": self._iterate(), "update": required(self.update),
                   "projection": "on" if self.projection else "off",
                   "sampling": required(self.sampling), "gap": self.gap, "t0": self.t0, "steps": self.steps,
                   "epochs": required(self.epochs) if self.steps is None else None,
                   "rescale": "on" if self.rescale else "off", "check-every": self.check_every,
                   "bias": self._bias(free=self.kernel == "linear"), "time-limit": self.time_limit,
                   "seed": seed_of(self.random_state)}
        if self.kernel != "linear":
            options |= {"kernel": required(self.kernel), "gamma": self.gamma, "degree": required(self.degree),
                        "coef0": required(self.coef0), "budget": self.budget}
        return options

    def partial_fit(self, X, y=None, classes=None, sample_weight=None) -> PegasosClassifier:
        """Learns rows as they come, each once; nothing of them is kept.

        The first call needs ``classes``, all there will ever be; unless it comes after :meth:`fit`, whose
        model it goes on from. Each row is a step of size 1/(lambda t), t = 1, 2, ... (counted on from the
        steps of fit), and the result the last point: of the parameters ``lambda_``, ``loss``, ``update``,
        ``fit_intercept`` and ``class_weight`` (a dict) matter, at the first call. How rows are cut into calls
        makes no difference, to the bit. There is no certificate: nobody keeps the data it would follow from.
        """
        if self.kernel != "linear":
            raise ValueError('partial_fit: takes kernel="linear" only')
        if self.reject is not None:
            raise ValueError("reject: partial_fit takes none")
        first = not self.__sklearn_is_fitted__()
        if first and classes is None:
            raise ValueError("partial_fit: the first call needs classes")
        try:
            return self._learn(X, y, classes, sample_weight, first)
        except BaseException:
            # Rows were learned that no model knows of: the next call goes on from the last one.
            vars(self).pop("_learner", None)
            if first:
                self._forget()
            raise

    def _learn(self, X, y, classes, sample_weight, first: bool) -> PegasosClassifier:
        if first:
            self._forget()
            classes, named = _known(classes)
        else:
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError("classes: not those of the first call")
            classes, named = self.classes_, self._named
        rows = self._stream_rows(X, y, sample_weight, classes, named, first)
        learner = vars(self).get("_learner") or self._new_learner(classes, named, first)
        learner.learn(rows._core)
        model = Model(learner.snapshot())
        self._forget_cached()
        self._learner, self.model_, self.classes_, self._named = learner, model, classes, named
        self.certificate_, self.trace_, self.status_, self.n_iter_ = model.certificate, {}, "limit", 1
        return self

    def _stream_rows(self, X, y, sample_weight, classes, named: bool, first: bool) -> Dataset:
        """Rows with labels numbered by all classes there are, not by those that occur."""
        data, (found, _) = self._data(X, y, sample_weight, reset=first)
        places = np.searchsorted(classes, found)
        known = places < len(classes)
        known[known] = classes[places[known]] == found[known]
        if not known.all():
            raise ValueError(f"y: {found[~known][0]!r} is not one of classes")
        if not named:
            return data
        numbers = np.arange(len(classes)) if first else np.sort(self.model_._core.labels)
        labels = numbers[places[np.searchsorted(data._core.classes, data._core.labels)]]
        return Dataset._of(_core.wrap(to_rows(data), contiguous(labels, np.int64), data.sample_weight, 1))

    def _new_learner(self, classes, named: bool, first: bool) -> _core.Learner:
        if not first:
            steps = self.n_iter_ * max(1, self.model_.origin["rows"])
            return _core.Learner(self.model_._core, float(self.lambda_), steps, self._mistakes(),
                                 required(self.loss))
        labels = [int(label) for label in (range(len(classes)) if named else classes)]
        factors = {}
        if self.class_weight is not None:
            if isinstance(self.class_weight, str):
                raise ValueError('class_weight: partial_fit takes a dict; "balanced" needs all rows at once')
            numbers = {plain(c): label for c, label in zip(classes, labels)}
            factors = {numbers[plain(c)]: float(f) for c, f in self.class_weight.items() if plain(c) in numbers}
        return _core.Learner(float(self.lambda_), 1.0 if self.fit_intercept else 0.0, labels, factors,
                             self._mistakes(), required(self.loss))

    def _mistakes(self) -> bool:
        if self.update not in ("margin", "mistake"):
            raise ValueError(f'update: expected "margin" or "mistake", got {self.update!r}')
        return self.update == "mistake"

    @property
    def dual_coef_(self) -> np.ndarray:
        """With a kernel: weights of the support rows, of shape (1, rows) or (classes, rows)."""
        self._need_kernel("dual_coef_")
        return self.model_.coef

    @property
    def support_vectors_(self):
        """With a kernel: the support rows, a CSR matrix or, if they have every column, an array."""
        self._need_kernel("support_vectors_")
        return self.model_.support

    def _need_kernel(self, name: str) -> None:
        if self._model().kernel == "linear":
            raise AttributeError(f"{name}: only a model with a kernel has it")

    def _iterate(self) -> str:
        if isinstance(self.average, (bool, str)):
            if self.average not in _ITERATES:
                raise ValueError(f"average: expected a bool, a number or one of {sorted(map(str, _ITERATES))}, "
                                 f"got {self.average!r}")
            return _ITERATES[self.average]
        return f"best-of:{self.average}"

    @classmethod
    def _parameters_of(cls, model) -> dict[str, Any]:
        origin = model.origin
        if origin["rows"] == 0:  # of a stream, or of another program
            return {"loss": origin["loss"]} if origin["loss"] in ("hinge", "squared_hinge", "logistic") else {}
        kind, gamma, degree, coef0 = model._core.kernel
        parameters = {"fit_intercept": origin["bias_feature"] != 0, "random_state": origin["seed"],
                      "intercept": "free" if origin["free_bias"] else "scaled",
                      "lambda_": 1 / (origin["cost"] * origin["rows"]), "loss": origin["loss"],
                      "update": origin["update"]}
        if kind != "linear":
            parameters |= {"kernel": kind, "gamma": gamma, "degree": degree, "coef0": coef0}
        return parameters


def _known(classes) -> tuple[np.ndarray, bool]:
    """All classes there are, and whether they are numbered rather than numbers."""
    classes = np.unique(np.asarray(classes))
    if len(classes) < 2:
        raise ValueError(f"classes: expected at least two, got {len(classes)}")
    return classes, not isinstance(numbered(classes)[1], np.dtype)

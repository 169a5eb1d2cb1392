"""What estimators share that find the minimum to a proven gap: goals, solvers, and scikit-learn's names."""

from __future__ import annotations

from typing import Any

from ._base import required, seed_of
from .data import Dataset

_SMALL = 20_000  # stored values
_NARROW = 500  # columns, of which newton makes a matrix in no time


class ExactFit:
    """Options of the exact solvers. Goes before the class that fits; every parameter named here is one of the estimator."""

    _parameters = {"cost": "C", "bias": "intercept", "gap-absolute": "gap_absolute", "gap-per-row": "gap_per_row",
                   "target": "target", "solver": "solver", "max-passes": "max_iter", "time-limit": "time_limit",
                   "threads": "n_jobs", "seed": "random_state"}

    # Names of scikit-learn's solvers that are read as "auto".
    _foreign_solvers: tuple[str, ...] = ()
    # Whether "pegasos" is among the solvers; classes have an estimator of its own.
    _takes_pegasos = False

    def _parameter(self, option: str) -> str | None:
        if option == "gap":
            return "gap" if self.gap is not None or self.tol is None else "tol"
        return super()._parameter(option)

    def _exact_options(self, loss: str) -> dict[str, Any]:
        """What the library is asked for."""
        self._check_names()
        solver = "auto" if self.solver in self._foreign_solvers else required(self.solver)
        return {"cost": required(self.C), "loss": loss, "bias": self._bias(scale=self._scale()),
                "gap": self.tol if self.gap is None else self.gap, "gap-absolute": self.gap_absolute,
                "gap-per-row": self.gap_per_row, "target": self.target, "solver": solver, "max-passes": self.max_iter,
                "time-limit": self.time_limit, "seed": seed_of(self.random_state)}

    def _check_names(self) -> None:
        """Refuses values of scikit-learn's parameters that stand for another problem."""
        if self.solver == "pegasos" and not self._takes_pegasos:
            raise ValueError("solver: for Pegasos there is hinge.PegasosClassifier")
        if getattr(self, "penalty", "l2") != "l2":
            raise ValueError(f'penalty: expected "l2", got {self.penalty!r}; hinge regularises by |w|^2 alone')
        if not (isinstance(self.dual, bool) or self.dual == "auto"):
            raise ValueError(f'dual: expected a bool or "auto", got {self.dual!r}; solver says how it is solved')
        if getattr(self, "multi_class", "ovr") != "ovr":
            raise ValueError(f'multi_class: expected "ovr", got {self.multi_class!r}; '
                             "of several classes hinge learns each against the rest")

    def _scale(self) -> Any:
        """The constant feature of an intercept that is regularised."""
        scale = required(self.intercept_scaling)
        if not isinstance(scale, str) and not scale > 0:
            raise ValueError(f"intercept_scaling: expected a number > 0, got {scale!r}")
        return scale

    def _usual_goal(self, data: Dataset) -> dict[str, Any]:
        if self.solver == "pegasos":
            return {}  # it ends after 20 epochs
        if data.nnz > _SMALL:
            return {"gap": 1e-3}
        # A smooth loss has no corners that hold w: the gap says less of it, but newton's last step is exact.
        exact = self.solver in ("auto", *self._foreign_solvers) and self._is_smooth() and data.shape[1] <= _NARROW
        return {"gap": 1e-10} | ({"solver": "newton"} if exact else {})

    def _is_smooth(self) -> bool:
        """Whether the loss is."""
        return False

    def _set_iterations(self) -> None:
        self.n_iter_ = max(1, int(self.model_._core.iterations.max()))

    # What the losses it has are called in models, and where others belong.
    _losses: tuple[str, ...] = ()

    @classmethod
    def _parameters_of(cls, model) -> dict[str, Any]:
        origin = model.origin
        if origin["loss"] not in cls._losses:
            owner = {"logistic": "LogisticRegression", "hinge": "LinearSVC", "squared_hinge": "LinearSVC"}
            raise ValueError(f"loss: the model is of {origin['loss']}; load it with "
                             f"hinge.{owner.get(origin['loss'], 'LinearSVR')}")
        if origin["rows"] == 0:  # of another program, which does not say
            return {}
        goals = {name: origin[name] or None for name in ("gap", "gap_absolute", "gap_per_row", "target")}
        scaled = origin["bias_feature"] != 0 and not origin["free_bias"]
        return {**goals, "C": origin["cost"], "fit_intercept": origin["bias_feature"] != 0,
                "intercept": "scaled" if scaled else "free",
                "intercept_scaling": origin["bias_feature"] if scaled else 1.0,
                "solver": origin["solver"].split(":")[0], "random_state": origin["seed"]}

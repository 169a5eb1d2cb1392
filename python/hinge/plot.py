"""A figure of how a fit went."""

from __future__ import annotations

from typing import Any

__all__ = ["plot_trace"]


def plot_trace(*fits: Any, x: str = "seconds", labels: list[str] | None = None, ax: Any = None):
    """Draws the gap of one or more fits against seconds or passes; needs matplotlib.

    Parameters
    ----------
    fits : fitted estimators, or their ``trace_``
    x : "seconds" or "passes"
    labels : names for the legend; by default those of the solvers
    ax : matplotlib axes to draw on; by default new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import load_digits
    >>> svm = hinge.LinearSVC(solver="dual").fit(*load_digits(return_X_y=True))
    >>> ax = hinge.plot_trace(svm, x="passes")  # doctest: +SKIP
    """
    if x not in ("seconds", "passes"):
        raise ValueError(f'x: expected "seconds" or "passes", got {x!r}')
    if not fits:
        raise ValueError("plot_trace: nothing to draw")
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots()
    for number, fit in enumerate(fits):
        trace = getattr(fit, "trace_", fit)
        label = labels[number] if labels else _name(fit, number)
        for problem in sorted(set(trace["problem"].tolist())):
            own = trace["problem"] == problem
            ax.plot(trace[x][own], trace["relative_gap"][own], color=f"C{number % 10}", marker=".",
                    label=label if problem == 0 else None)
    ax.set_xlabel("passes over the data" if x == "passes" else "seconds")
    ax.set_ylabel("relative gap")
    ax.set_yscale("log")
    ax.legend()
    return ax


def _name(fit: Any, number: int) -> str:
    model = getattr(fit, "model_", None)
    return model.origin["solver"] if model is not None else f"fit {number + 1}"

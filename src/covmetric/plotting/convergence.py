"""How the gap shrinks during a solve."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from covmetric.plotting.axes import axes_for
from covmetric.plotting.bars import COLOURS
from covmetric.plotting.excess import FLOOR
from covmetric.plotting.fitted import find_result
from covmetric.solvers import History, SolveResult

_AXES = {"n_iter": "iterations", "projections": "projections onto a half-space", "seconds": "seconds"}
# The colours of the methods of a solve, in the order of their appearance: blue, orange, green, ...
_PHASES = (COLOURS[5], COLOURS[2], COLOURS[3], COLOURS[6])
_MARKERS = "osD^"


class ConvergenceDisplay:
    """The certified gap during a solve.

    Use `from_estimator` or `from_result` to create it.

    Parameters
    ----------
    history : History
        The certificates of the solve.
    tolerance : float or None, default=None
        The gap at which the solve may stop, drawn as a dashed line.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, after `plot`.
    figure_ : matplotlib Figure
        The figure, after `plot`.

    Examples
    --------
    >>> from covmetric import make_paper_problem, solve
    >>> from covmetric.plotting import ConvergenceDisplay
    >>> display = ConvergenceDisplay.from_result(solve(make_paper_problem(n=5, K=20, seed=0)))
    >>> display.ax_.get_ylabel()
    'certified gap'
    """

    def __init__(self, history: History, *, tolerance: float | None = None) -> None:
        self.history = history
        self.tolerance = tolerance

    @classmethod
    def from_result(cls, result: SolveResult, *, ax: Any = None, x: str = "n_iter") -> Self:
        """Draw the gap of a solve.

        Parameters
        ----------
        result : SolveResult
            The result of `solve`.
        ax : matplotlib Axes or None, default=None
            The axes. None means a new figure.
        x : {'n_iter', 'projections', 'seconds'}, default='n_iter'
            The horizontal axis.

        Returns
        -------
        ConvergenceDisplay
            The display.
        """
        certificate = result.certificate
        return cls(result.history, tolerance=certificate.tol * max(1.0, abs(certificate.primal))).plot(ax, x=x)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, x: str = "n_iter") -> Self:
        """Draw the gap of the solve of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator of covmetric, or Pipeline with one
            The estimator.
        ax : matplotlib Axes or None, default=None
            The axes. None means a new figure.
        x : {'n_iter', 'projections', 'seconds'}, default='n_iter'
            The horizontal axis.

        Returns
        -------
        ConvergenceDisplay
            The display.

        Raises
        ------
        ValueError
            If nothing was solved.
        """
        return cls.from_result(find_result(estimator), ax=ax, x=x)

    def plot(self, ax: Any = None, *, x: str = "n_iter") -> Self:
        """Draw the gap, with one colour per method of the solve, and the tolerance.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            The axes. None means a new figure.
        x : {'n_iter', 'projections', 'seconds'}, default='n_iter'
            The horizontal axis.

        Returns
        -------
        ConvergenceDisplay
            The display itself.

        Raises
        ------
        ValueError
            If `x` is unknown.
        """
        if x not in _AXES:
            raise ValueError(f"x must be one of {', '.join(map(repr, _AXES))}, got {x!r}")
        self.ax_ = axes_for(ax, "ConvergenceDisplay.plot")
        self.figure_ = self.ax_.figure
        history = self.history
        at, gap = np.asarray(getattr(history, x), dtype=np.float64), np.asarray(history.gap, dtype=np.float64)
        shown = np.isfinite(gap)  # the gap is infinite as long as there is no dual feasible point
        gap = np.maximum(gap, FLOOR)
        phases = history.phase if len(history.phase) == len(gap) else np.full(len(gap), "")
        self.ax_.plot(at[shown], gap[shown], "-", color="#888888", linewidth=1, zorder=1)
        for number, phase in enumerate(dict.fromkeys(phases.tolist())):
            chosen = shown & (phases == phase)
            colour, marker = _PHASES[number % len(_PHASES)], _MARKERS[number % len(_MARKERS)]
            self.ax_.plot(at[chosen], gap[chosen], marker, color=colour, markersize=5, label=str(phase) or None)
        if self.tolerance is not None and self.tolerance > 0.0:
            self.ax_.axhline(self.tolerance, color="black", linestyle="--", linewidth=1, label="tolerance")
        self.ax_.set(yscale="log", xlabel=_AXES[x], ylabel="certified gap")
        if x != "seconds":
            self.ax_.xaxis.get_major_locator().set_params(integer=True)
        if self.ax_.get_legend_handles_labels()[1]:
            self.ax_.legend(frameon=False)
        self.ax_.spines[["top", "right"]].set_visible(False)
        return self

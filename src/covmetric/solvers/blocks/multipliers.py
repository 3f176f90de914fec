"""The multipliers that a Newton step suggests, as a description from which each block computes its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.problem.blocks import KeyedMatrix, PairBlock, PairMultipliers
from covmetric.problem.sums import is_multiple_of_identity
from covmetric.solvers.systems import rates_along


def ratios_along(block: PairBlock, name: str, E: KeyedMatrix) -> FloatArray:
    """Return <A_k, E> / b_k of the pairs of a block. The last value of each name is kept.

    Parameters
    ----------
    block : PairBlock
        The block.
    name : str
        What E is: a metric, or a change of it.
    E : KeyedMatrix
        A symmetric matrix of shape (n, n).

    Returns
    -------
    array of shape (q,)
    """
    ratios: FloatArray = block.cached(name, E.key, lambda: _computed_ratios(block, name, E))
    return ratios


def _computed_ratios(block: PairBlock, name: str, matrix: KeyedMatrix) -> FloatArray:
    if matrix.step is not None:
        before, t, change = matrix.step
        return ratios_along(block, name, before) + t * ratios_along(block, "step", change)
    problem, E = block.problem, matrix.array
    if is_multiple_of_identity(E):  # as at the start of a solve
        return np.asarray(E[0, 0] * problem.squared_norms / problem.bounds)
    return rates_along(problem.sums, E) / problem.bounds


@dataclass(frozen=True)
class StepMultipliers(PairMultipliers):
    """The multipliers alpha(W), or their linearisation along a step from W.

    Attributes
    ----------
    W : KeyedMatrix
        The metric.
    change : KeyedMatrix or None
        The step dW. None means alpha(W).
    """

    W: KeyedMatrix | None = None
    change: KeyedMatrix | None = None

    def raw(self, block: PairBlock) -> FloatArray:
        assert self.W is not None
        key = self.W.key + (b"" if self.change is None else self.change.key)
        multipliers: FloatArray = block.cached("multipliers", key, lambda: self._computed(block))
        return multipliers

    def _computed(self, block: PairBlock) -> FloatArray:
        assert self.W is not None
        problem, slack = block.problem, block.problem.slack
        s = ratios_along(block, "metric", self.W)
        active = problem.terms.active(s)
        # The forces of coincident pairs (s = 0), whose loss does not depend on W, are finite.
        forces = slack.gradient(s[active])
        if self.change is not None:
            ds = ratios_along(block, "step", self.change)[active]
            forces = forces + np.where(s[active] > 0.0, slack.curvature(s[active]) * ds, 0.0)
        raw = np.zeros(problem.n_pairs)
        raw[active] = problem.similar[active] * problem.weights[active] / problem.bounds[active] * forces
        return raw

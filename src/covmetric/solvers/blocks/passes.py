"""The passes of Newton's method over the blocks."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.problem import MetricProblem
from covmetric.problem.blocks import KeyedMatrix, PairBlock, PairPass
from covmetric.solvers.blocks.multipliers import StepMultipliers, ratios_along
from covmetric.solvers.systems import ActiveTerms, dense_sums, rates_along
from covmetric.solvers.systems.terms import compiled_kernels

# The columns of differences from which a block estimates the mean square of its B_k.
_SAMPLE = 64


def _active_terms(block: PairBlock, W: KeyedMatrix, C: FloatArray, fraction: float) -> ActiveTerms:
    """Return the contributions of the active pairs of a block at W = C C^T, with a fraction of the weights."""
    problem = block.problem

    def compute() -> tuple[IntArray, FloatArray, FloatArray]:
        s = ratios_along(block, "metric", W)
        active = np.flatnonzero(problem.terms.active(s) & (s > 0.0))
        s, b = s[active], problem.bounds[active]
        ratio = fraction * problem.weights[active] / b
        return active, ratio * problem.slack.gradient(s), ratio / b * problem.slack.curvature(s)

    return ActiveTerms(problem, C, *block.cached("active", W.key + struct.pack("d", fraction), compute))


def _weighted_sum(problem: MetricProblem, weights: FloatArray) -> FloatArray:
    """Return the sum of w_k A_k over all pairs, by examples if there are far fewer of them than pairs."""
    sums = problem.sums
    if sums.lower_triangles() is not None or len(sums.pairs) < 2 * len(sums.rows):
        return sums.weighted_sum(weights)
    rows = sums.centred_rows().reshape(len(sums.rows), -1)
    images = np.empty_like(rows)
    compiled_kernels().laplacian_product(rows, sums.pairs, weights, images)
    total = images.reshape(-1, problem.n).T @ rows.reshape(-1, problem.n)
    return np.asarray(0.5 * (total + total.T))


def _loss(problem: MetricProblem, s: FloatArray, fraction: float) -> float:
    active = problem.terms.active(s)
    return fraction * float(problem.weights[active] @ problem.slack.divergence(s[active]))


@dataclass(frozen=True)
class GradientPass(PairPass):
    """The loss at W = C C^T and the sum of forces_k A_k, with a matrix in the coordinates of C (`matrix_spacing`).

    If the matrix is that of all active pairs, the sum is a half vector in these coordinates as well.
    """

    spacing: int
    W: KeyedMatrix
    C: FloatArray
    fraction: float

    def of_block(self, block: PairBlock) -> tuple[Any, ...]:
        problem = block.problem
        terms = _active_terms(block, self.W, self.C, self.fraction)
        loss = _loss(problem, ratios_along(block, "metric", self.W), self.fraction)
        if self.spacing == 1:
            return (loss, *dense_sums(terms, _zeros(terms)))
        force = _weighted_sum(problem, terms.over_all_pairs(terms.forces))
        if self.spacing == 0:
            return loss, force
        spacing = _spacing_of_active(self.spacing, len(terms.active), problem.n_pairs)
        sample = _sample(len(terms.active), spacing, block.index)
        springs = spacing * terms.springs[sample]  # each sampled pair stands for so many
        sampled = ActiveTerms(problem, self.C, terms.active[sample], terms.forces[sample], springs)
        return loss, force, dense_sums(sampled, _zeros(terms))[1]


def _spacing_of_active(spacing: int, n_active: int, n_pairs: int) -> int:
    """Return the spacing for which the sample has as many pairs as if all were active."""
    return max(1, spacing * n_active // n_pairs)


def _sample(count: int, spacing: int, seed: int) -> IntArray:
    """Return a random position among each `spacing` consecutive ones, those beyond `count` left out.

    The pairs may be in any order, periodic ones included: positions at equal distances could all be of one kind.
    """
    starts = np.arange(0, count, spacing)
    positions = starts + np.random.default_rng(seed).integers(0, spacing, len(starts))
    return positions[positions < count]


def _zeros(terms: ActiveTerms) -> FloatArray:
    """Return a p x p matrix of zeros in column-major order."""
    return np.zeros((terms.half.size, terms.half.size), order="F")


@dataclass(frozen=True)
class HessianPass(PairPass):
    """The sum of h_k <A_k, E> A_k over the pairs that are active at W."""

    W: KeyedMatrix
    fraction: float
    E: FloatArray

    def of_block(self, block: PairBlock) -> tuple[FloatArray]:
        problem = block.problem
        terms = _active_terms(block, self.W, problem.sums.half.identity, self.fraction)
        springs = terms.over_all_pairs(terms.springs)
        lower = problem.sums.lower_triangles()
        if lower is None:
            return (_weighted_sum(problem, springs * rates_along(problem.sums, self.E)),)
        half, out = problem.sums.half, np.empty(problem.sums.half.size)
        compiled_kernels().stretch(lower, half.doubled(self.E), springs, out)
        return (half.from_lower(out),)


@dataclass(frozen=True)
class PreconditionerPass(PairPass):
    """The sums of h_k and h_k A_k, and a sample of the sums of h_k ||B_k||^2 and of h_k."""

    W: KeyedMatrix
    C: FloatArray
    fraction: float

    def of_block(self, block: PairBlock) -> tuple[Any, ...]:
        problem = block.problem
        terms = _active_terms(block, self.W, self.C, self.fraction)
        sample = slice(None, None, max(1, problem.m * len(terms.active) // _SAMPLE))
        springs, squares = terms.springs[sample], 0.0
        for part, G in problem.sums.transformed(terms.active[sample], self.C):
            squares += float(springs[part] @ ((G @ np.swapaxes(G, 1, 2)) ** 2).sum(axis=(1, 2)))
        total = float(terms.springs.sum())
        return total, _weighted_sum(problem, terms.over_all_pairs(terms.springs)), squares, float(springs.sum())


@dataclass(frozen=True)
class RayPass(PairPass):
    """The loss and its derivative at W + t dW. The blocks may know the squared distances of W and of dW already."""

    W: KeyedMatrix
    change: KeyedMatrix
    fraction: float
    t: float
    known: bool = False

    @property
    def is_light(self) -> bool:
        return self.known

    def of_block(self, block: PairBlock) -> tuple[float, float]:
        problem, slack = block.problem, block.problem.slack
        ds = ratios_along(block, "step", self.change)
        s = ratios_along(block, "metric", self.W) + self.t * ds
        active = problem.terms.active(s)
        s, c = s[active], self.fraction * problem.weights[active]
        return float(c @ slack.divergence(s)), float((c * ds[active]) @ slack.gradient(s))


@dataclass(frozen=True)
class StepLossPass(PairPass):
    """The loss of a metric, accurate enough for a step."""

    W: FloatArray
    fraction: float

    def of_block(self, block: PairBlock) -> tuple[float]:
        problem = block.problem
        return (_loss(problem, rates_along(problem.sums, self.W) / problem.bounds, self.fraction),)


@dataclass(frozen=True)
class CandidatePass(PairPass):
    """For each of several multipliers, how many of them had to be clipped, and the sum of their dual losses."""

    candidates: tuple[StepMultipliers, ...]

    def of_block(self, block: PairBlock) -> tuple[float, ...]:
        problem = block.problem
        values: list[float] = []
        for candidate in self.candidates:
            raw = candidate.raw(block)
            clipped = problem.clipped(raw)
            values += [float((raw != clipped).sum()), problem.dual_losses(clipped)]
        return tuple(values)


@dataclass(frozen=True)
class MultiplePass(PairPass):
    """The sums of c, c s, c d'(s) s and c d''(s) s^2 over the pairs that are active in the metric w I."""

    w: float
    fraction: float

    @property
    def is_light(self) -> bool:
        return True

    def of_block(self, block: PairBlock) -> tuple[float, float, float, float]:
        problem, slack = block.problem, block.problem.slack
        s = self.w * problem.squared_norms / problem.bounds
        active = problem.terms.active(s) & (s > 0.0)
        s, c = s[active], self.fraction * problem.weights[active]
        pull, spring = slack.gradient(s) * s, slack.curvature(s) * s**2
        return float(c.sum()), float(c @ s), float(c @ pull), float(c @ spring)

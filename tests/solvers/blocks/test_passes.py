"""The passes of Newton's method, against literal sums over the pairs."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.problem import BlockProblem
from covmetric.problem.blocks import KeyedMatrix, sources
from covmetric.solvers.blocks import StepMultipliers, passes
from covmetric.solvers.blocks import solver as block_solver
from covmetric.solvers.blocks.multipliers import ratios_along
from tests import naive
from tests.problem.points import random_metric
from tests.problems import SLACKS
from tests.solvers.blocks.test_solver import random_problem

FRACTION = 0.3
SHAPES = [(4, 4), (6, 1), (5, 2)]
pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.fixture(params=["triangles", "differences", "examples"])
def split(request, monkeypatch):
    """Split a problem: blocks that keep their triangles, that do not, or that are larger than the set of examples."""
    if request.param == "examples":
        monkeypatch.setattr(sources, "BLOCK_PAIRS", (31, 31))
    return lambda problem: BlockProblem.split(problem, memory=2.0**30 if request.param == "triangles" else 0.0)


class Point:
    """A metric W = C C^T, a direction, and the sums over the pairs by literal formulas."""

    def __init__(self, problem, seed=0):
        self.problem = problem
        n, rng = problem.n, np.random.default_rng(seed)
        self.C = np.linalg.cholesky(random_metric(n, seed))
        W = self.C @ self.C.T
        self.W = KeyedMatrix.of(0.5 * (W + W.T))
        E = rng.standard_normal((n, n))
        self.change = KeyedMatrix.of(0.02 * (E + E.T))
        self.A = naive.matrices(problem)
        self.s, self.ds = self.ratios(self.W.array), self.ratios(self.change.array)
        self.b, self.c, self.y = problem.bounds, FRACTION * problem.weights, problem.similar

    def ratios(self, E):
        return np.einsum("kij,ij->k", self.A, E) / self.problem.bounds

    def active(self, s):
        return np.flatnonzero(self.y * (s - 1.0) > 0.0)

    def derivatives(self, s):
        """Return c d(s), c d'(s) and c d''(s) of the active pairs."""
        a, slack = self.active(s), self.problem.slack
        values = (slack.divergence(s[a]), slack.gradient(s[a]), slack.curvature(s[a]))
        return a, *(self.c[a] * value for value in values)


@pytest.fixture(params=[(slack, shape) for slack in SLACKS for shape in SHAPES], ids=str)
def point(request):
    slack, (n, m) = request.param
    return Point(random_problem(slack, n, m))


def close(found, expected):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10 * scale)


def test_gradient(point, split):
    a, losses, pulls, springs = point.derivatives(point.s)
    force = np.einsum("k,kij->ij", pulls / point.b[a], point.A[a])
    problem = split(point.problem)
    loss, found = problem.total(passes.GradientPass(0, point.W, point.C, FRACTION))
    close(loss, losses.sum())
    close(found, force)
    loss, found, matrix = problem.total(passes.GradientPass(1, point.W, point.C, FRACTION))
    close(loss, losses.sum())
    close(found, naive.half_vector(point.C.T @ force @ point.C))
    expected = naive.step_system(point.problem, point.C, a, springs / point.b[a] ** 2)[0] - np.eye(len(found))
    close(np.triu(matrix), np.triu(expected))


@pytest.mark.parametrize("spacing", [2, 3])
def test_sampled_matrix(point, split, spacing):
    """Each block takes one of so many of its active pairs, which stands for as many; more of them if few are active."""
    a, losses, pulls, springs = point.derivatives(point.s)
    problem = split(point.problem)
    loss, force, matrix = problem.total(passes.GradientPass(spacing, point.W, point.C, FRACTION))
    close(loss, losses.sum())
    close(force, np.einsum("k,kij->ij", pulls / point.b[a], point.A[a]))
    size = problem.source.block_pairs
    blocks = [np.flatnonzero(a // size == block) for block in range(problem.source.n_blocks)]
    n_pairs = [stop - start for start, stop in map(problem.source.bounds_of, range(len(blocks)))]
    spacings = [max(1, int(spacing * len(block) / count)) for block, count in zip(blocks, n_pairs, strict=True)]
    chosen = [block[passes._sample(len(block), spacings[k], k)] for k, block in enumerate(blocks)]
    sample = np.concatenate(chosen)
    h = np.repeat(spacings, [len(one) for one in chosen]) * springs[sample] / point.b[a[sample]] ** 2
    expected = naive.step_system(point.problem, point.C, a[sample], h)[0] - np.eye(len(matrix))
    close(np.triu(matrix), np.triu(expected))


@pytest.mark.parametrize("count", [0, 1, 5, 29, 1000])
def test_every_pair_is_sampled_as_often(count):
    """Over many blocks, each position occurs with the same frequency, also in blocks shorter than the spacing."""
    spacing, blocks = 13, 4000
    found = np.zeros(count)
    for block in range(blocks):
        positions = passes._sample(count, spacing, block)
        assert (np.diff(positions // spacing) == 1).all()
        found[positions] += 1
    expected = blocks / spacing
    assert (np.abs(found - expected) < 6 * np.sqrt(expected)).all()


def test_hessian(point, split):
    a, _, _, springs = point.derivatives(point.s)
    rates = point.ratios(point.change.array)[a]
    expected = np.einsum("k,kij->ij", springs * rates / point.b[a], point.A[a])
    close(split(point.problem).total(passes.HessianPass(point.W, FRACTION, point.change.array))[0], expected)


def test_direction_solves_the_literal_system(point, split, monkeypatch):
    a, losses, pulls, springs = point.derivatives(point.s)
    H = naive.step_system(point.problem, point.C, a, springs / point.b[a] ** 2)[0]
    force = np.einsum("k,kij->ij", pulls / point.b[a], point.A[a])
    n = point.problem.n
    g = naive.half_vector(point.C.T @ (np.eye(n) + force) @ point.C - np.eye(n))
    original = block_solver.conjugate_gradients
    for spacing, preconditioned in ((1, False), (0, False), (0, True), (2, False)):
        monkeypatch.setattr(
            block_solver, "conjugate_gradients", lambda *args, **k: original(*args, accuracy=1e-13, **k)
        )
        state = block_solver.BlockState(point.C, FRACTION, point.W, spacing, 1e-6, None, preconditioned=preconditioned)
        loss, gradient, x = block_solver._direction(split(point.problem), state)
        close(loss, losses.sum())
        close(gradient, g)
        np.testing.assert_allclose(H @ x, -g, atol=1e-9 * np.linalg.norm(g))


@pytest.mark.parametrize("sample", [1000, 8])
def test_preconditioner(point, split, sample, monkeypatch):
    """The mean of ||B_k||^2 comes from a sample of the columns, all else from all pairs."""
    monkeypatch.setattr(passes, "_SAMPLE", sample)
    a, _, _, springs = point.derivatives(point.s)
    h = springs / point.b[a] ** 2
    B = point.C.T @ point.A[a] @ point.C
    total, mean, squares, weight = split(point.problem).total(passes.PreconditionerPass(point.W, point.C, FRACTION))
    close(total, h.sum())
    close(mean, np.einsum("k,kij->ij", h, point.A[a]))
    if sample == 1000:
        close(weight, total)
        close(squares, h @ (B**2).sum(axis=(1, 2)))
    else:
        assert 0.0 < weight <= total * (1 + 1e-12)
        assert weight < total or point.problem.m == 1 or sources.BLOCK_PAIRS == (7, 7)


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_ray(point, split, t):
    s = point.s + t * point.ds
    a, losses, pulls, _ = point.derivatives(s)
    loss, slope = split(point.problem).total(passes.RayPass(point.W, point.change, FRACTION, t))
    close(loss, losses.sum())
    close(slope, pulls @ point.ds[a])


def test_step_loss(point, split):
    _, losses, _, _ = point.derivatives(point.s)
    close(split(point.problem).total(passes.StepLossPass(point.W.array, FRACTION))[0], losses.sum())


@pytest.mark.parametrize("w", [0.5, 1.0, 2.0])
def test_multiples_of_the_identity(point, split, w):
    s = w * point.ratios(np.eye(point.problem.n))
    a, _, pulls, springs = point.derivatives(s)
    expected = point.c[a].sum(), point.c[a] @ s[a], pulls @ s[a], springs @ s[a] ** 2
    close(split(point.problem).total(passes.MultiplePass(w, FRACTION)), expected)


def test_candidates(point, split):
    """The whole weights, because a candidate belongs to the problem itself."""
    problem, slack = point.problem, point.problem.slack
    a = point.active(point.s)
    scale = point.y[a] * problem.weights[a] / problem.bounds[a]
    plain, moved = np.zeros(60), np.zeros(60)
    plain[a] = scale * slack.gradient(point.s[a])
    moved[a] = plain[a] + scale * slack.curvature(point.s[a]) * point.ds[a]
    block_problem = split(problem)
    candidates = StepMultipliers(W=point.W), StepMultipliers(W=point.W, change=point.change)
    found = block_problem.total(passes.CandidatePass(candidates))
    for k, (candidate, raw) in enumerate(zip(candidates, (plain, moved), strict=True)):
        clipped = problem._dual.clipped(raw)
        assert found[2 * k] == (raw != clipped).sum()
        close(found[2 * k + 1], problem._dual.losses(clipped))
        source = block_problem.source
        blocks = [source.block(j) for j in range(source.n_blocks)]
        close(np.concatenate([candidate.of_block(block) for block in blocks]), clipped)
        half = 0.5 * candidate
        close(np.concatenate([half.of_block(block) for block in blocks]), 0.5 * clipped)


def test_ratios_after_steps(point, split):
    """They are updated along the steps, and are those of the metric after the steps."""
    block = split(point.problem).source.block(1)
    part = slice(block.start, block.start + block.problem.n_pairs)
    one = point.W.moved(0.5, point.change, point.W.array + 0.5 * point.change.array)
    two = one.moved(0.25, point.change, one.array + 0.25 * point.change.array)
    for matrix, t in ((one, 0.5), (two, 0.75), (point.W, 0.0), (two, 0.75)):
        close(ratios_along(block, "metric", matrix), (point.s + t * point.ds)[part])
    assert len({point.W.key, one.key, two.key, point.change.key}) == 4
    assert [t for _, t, _ in two.steps()] == [0.25, 0.5]
    again = KeyedMatrix.of(point.W.array.copy())
    assert again.key == point.W.key
    assert again.moved(0.5, point.change, one.array).key == one.key
    assert again.moved(0.5 + 1e-16, point.change, one.array).key != one.key


def test_values_of_a_block_are_computed_once_per_key():
    block = BlockProblem.split(random_problem()).source.block(0)
    count = []
    for key in (b"a", b"a", b"b", b"a"):
        assert block.cached("x", key, lambda key=key: count.append(1) or key) == key
    assert len(count) == 3


def test_forces_are_those_of_the_fraction(point, split):
    """The same metric with other weights, one after the other."""
    problem = split(point.problem)
    whole, part, again = (
        problem.total(passes.GradientPass(0, point.W, point.C, fraction))[1] for fraction in (1.0, FRACTION, 1.0)
    )
    close(part, FRACTION * whole)
    np.testing.assert_array_equal(again, whole)

"""Newton's method in blocks reaches the optimum of the whole problem, with the same bits for any number of threads."""

from __future__ import annotations

import functools
import signal
from collections import Counter

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import MetricProblem, Newton, Status, solve, solve_path
from covmetric._utils.tuning import COMPILED_FROM_BYTES
from covmetric.problem import BlockProblem, triangles
from covmetric.problem.blocks import KeyedMatrix, Threads, ZeroMultipliers, sources
from covmetric.solvers import registry
from covmetric.solvers.base import StepFailed
from covmetric.solvers.blocks import BlockNewton
from covmetric.solvers.blocks import solver as block_solver
from covmetric.solvers.systems import conjugate_gradients, preconditioner
from tests import naive
from tests.problems import SLACKS
from tests.solvers.hostile import hostile_problem

pytestmark = pytest.mark.usefixtures("small_blocks")
SHAPES = [(4, 4), (6, 1), (5, 2)]


def random_problem(slack="is", n=4, m=4, K=60, lam=1e-2, seed=0):
    """Return a problem with K pairs of 15 examples of two classes, which differ in their first rows."""
    rng = np.random.default_rng([seed, n, m])
    y = np.arange(15) % 2
    examples = rng.standard_normal((15, n, m))
    examples[:, 0] += y[:, None]
    pairs = np.array([rng.choice(15, 2, replace=False) for _ in range(K)])
    similar = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1.0, -1.0)
    bounds = n * m * np.where(similar > 0, 1.0, 3.0) * rng.uniform(0.5, 1.5, K)
    return MetricProblem(examples, pairs, similar, bounds, 1.0 / (lam * K), slack)


def whole(problem, solver="newton", **settings):
    """Solve a problem without blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "SPLIT_FROM", 10**9)
        patch.setattr(registry, "SPLIT_THIN_FROM", 10**9)
        return solve(problem, solver, **settings)


@pytest.fixture(params=[1, 0, 3], ids=["matrix", "conjugate gradients", "sample"])
def system(request, monkeypatch):
    """The linear system of a step; conjugate gradients are accurate, so that the steps are the same."""
    monkeypatch.setattr(block_solver, "matrix_spacing", lambda *_: request.param)
    accurate = functools.partial(conjugate_gradients, accuracy=1e-13)
    monkeypatch.setattr(block_solver, "conjugate_gradients", accurate)


def assert_solved(problem, result, tol):
    """The certificate is that of the literal formulas."""
    assert result.status is Status.SOLVED
    assert result.certificate.relative_gap <= tol
    gap = naive.primal(problem, result.W) - naive.dual(problem, result.multipliers)
    assert gap == pytest.approx(result.certificate.gap, abs=1e-9 * max(1.0, abs(result.certificate.primal)))
    again = problem.certify(result.W, result.multipliers, tol)
    assert again.max_violation == pytest.approx(result.certificate.max_violation, abs=1e-9)
    np.testing.assert_allclose(result.slacks, problem.pair_arrays(problem.certified(result.W))[1], rtol=1e-9)


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_optimum_is_that_of_the_whole_problem(slack, n, m):
    problem = random_problem(slack, n, m)
    result = solve(problem, "newton", tol=1e-12)
    assert_solved(problem, result, 1e-12)
    np.testing.assert_allclose(result.W, whole(problem, tol=1e-12).W, rtol=1e-9, atol=1e-9)
    dykstra = solve(problem, "dykstra", tol=1e-10, random_state=0)
    np.testing.assert_allclose(result.W, dykstra.W, rtol=1e-4, atol=1e-4)
    assert abs(result.certificate.primal - dykstra.certificate.primal) <= 1e-9 * max(1.0, result.certificate.primal)


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("lam", [1e-4, 1e-7])
def test_path_of_weights(slack, lam):
    """Small lambda: the solve begins with a fraction of the weights, which is part of every pass."""
    problem = random_problem(slack, 4, 2, lam=lam)
    split = BlockProblem.split(problem)
    point = split.certified_arrays(np.eye(4), ZeroMultipliers())
    state = BlockNewton().start(split, point, None)
    expected = Newton().start(problem, problem.certified(np.eye(4), np.zeros(60)), None)
    assert state.weight_fraction == pytest.approx(expected.weight_fraction, rel=0.1)
    if slack != "l2":
        assert state.weight_fraction < 1.0
    np.testing.assert_allclose(state.C, expected.C, rtol=0.01)  # the search for it stops at one percent
    result, reference = solve(split, tol=1e-9), whole(problem, tol=1e-9)
    assert result.status is Status.SOLVED
    assert result.certificate.primal == pytest.approx(reference.certificate.primal, rel=2e-9)
    if lam > 1e-6:
        np.testing.assert_allclose(result.W, reference.W, rtol=1e-4, atol=1e-5)
    assert abs(result.n_iter - reference.n_iter) <= 2


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("memory", [2.0**30, 8.0 * 15**2 * 9])
def test_kept_triangles_make_no_difference(slack, memory):
    problem = random_problem(slack, 5, 5)
    split = BlockProblem.split(problem, memory=memory if memory > 1e6 else 0.0)
    assert split.source.keeps_triangles is (memory > 1e6)
    result = solve(split, tol=1e-12)
    assert_solved(problem, result, 1e-12)
    np.testing.assert_allclose(result.W, whole(problem, tol=1e-12).W, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize(("n", "m"), SHAPES)
@pytest.mark.parametrize("spacing", [0, 3])
def test_inexact_steps(slack, n, m, spacing, monkeypatch):
    monkeypatch.setattr(block_solver, "matrix_spacing", lambda *_: spacing)
    problem = random_problem(slack, n, m, lam=1e-4)
    result = solve(problem, "newton", tol=1e-9)
    assert_solved(problem, result, 1e-9)
    assert result.certificate.primal == pytest.approx(whole(problem, tol=1e-9).certificate.primal, rel=2e-9)


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("slack", ["l2", "re"])
def test_coincident_dissimilar_pairs(slack):
    problem = random_problem(slack, 4, 2)
    examples = problem.embedded.copy()
    examples[1] = examples[0]  # classes 0 and 1
    pairs = np.vstack([problem.pairs, [[0, 1], [1, 0]]])
    similar = np.append(problem.similar, [-1.0, -1.0])
    bounds, weights = np.append(problem.bounds, [2.0, 3.0]), np.append(problem.weights, [0.5, 0.25])
    problem = MetricProblem(examples, pairs, similar, bounds, weights, slack)
    result = solve(problem, "newton", tol=1e-9)
    assert_solved(problem, result, 1e-9)
    np.testing.assert_allclose(result.W, whole(problem, tol=1e-9).W, rtol=1e-6, atol=1e-7)


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("slack", SLACKS)
def test_inactive_blocks_and_single_signs(slack):
    """Blocks without an active pair, and problems of similar or of dissimilar pairs only."""
    problem = random_problem(slack)
    loose = np.where(np.arange(60) < 21, np.where(problem.similar > 0, 1e6, 1e-6), 1.0) * problem.bounds
    for other in (
        problem.replace(bounds=loose),
        problem.replace(keep=np.repeat(np.flatnonzero(problem.similar > 0), 2)),
        problem.replace(keep=np.repeat(np.flatnonzero(problem.similar < 0), 2)),
    ):
        result = solve(other, "newton", tol=1e-11)
        assert_solved(other, result, 1e-11)
        np.testing.assert_allclose(result.W, whole(other, tol=1e-11).W, rtol=1e-7, atol=1e-8)


def test_nothing_to_learn():
    problem = random_problem().replace(bounds=np.where(random_problem().similar > 0, 1e9, 1e-9))
    result = solve(problem)
    assert (result.status, result.n_iter) == (Status.SOLVED, 0)
    np.testing.assert_array_equal(result.W, np.eye(4))
    assert not result.multipliers.any()


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("compiled_from", [0, COMPILED_FROM_BYTES])
@pytest.mark.parametrize("slack", SLACKS)
def test_threads_give_the_same_bits(slack, compiled_from, monkeypatch):
    monkeypatch.setattr(triangles, "COMPILED_FROM_BYTES", compiled_from)
    problem = random_problem(slack, lam=1e-4)
    first = solve(problem, tol=1e-9)
    for n_jobs in (2, 3):
        other = solve(problem, tol=1e-9, n_jobs=n_jobs)
        assert other.W.tobytes() == first.W.tobytes()
        assert other.certificate == first.certificate
        assert other.multipliers.tobytes() == first.multipliers.tobytes()
        assert other.slacks.tobytes() == first.slacks.tobytes()
        np.testing.assert_array_equal(other.history.gap, first.history.gap)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")
@pytest.mark.parametrize("slack", SLACKS)
def test_cvxpy_agrees(slack):
    judge = pytest.importorskip("tests.judge")
    if slack not in judge.LOSSES:
        pytest.skip("CVXPY has no expression for this slack")
    problem = random_problem(slack, 3, 2, 30)
    W, value, _ = judge.solve_with_cvxpy(problem)
    result = solve(BlockProblem.split(problem), tol=1e-10)
    assert result.certificate.primal == pytest.approx(value, abs=1e-6)
    np.testing.assert_allclose(result.W, W, atol=1e-3)


@pytest.mark.usefixtures("system")
def test_tol_zero_makes_exactly_max_iter_steps():
    problem = random_problem(lam=1e-3)
    for steps in (0, 1, 4):
        result = solve(problem, tol=0, max_iter=steps)
        assert (result.status, result.n_iter) == (Status.MAX_ITER, steps)
        assert result.history.n_iter[-1] == steps
    with pytest.warns(ConvergenceWarning, match="MAX_ITER after 2 iterations"):
        assert solve(problem, tol=1e-9, max_iter=2).status is Status.MAX_ITER


def check_best_so_far(problem, result):
    """The result is the best metric with the best multipliers, and its certificate is right."""
    assert result.certificate.primal <= result.history.primal.min() * (1 + 1e-12)
    assert result.certificate.dual >= result.history.dual.max() - 1e-12
    again = problem.certify(result.W, result.multipliers)
    assert again.gap == pytest.approx(result.certificate.gap, abs=1e-9 * max(1.0, again.primal))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("how", ["callback", "Ctrl-C in the callback", "Ctrl-C in a pass"])
def test_interrupted_solves_return_the_best_so_far(how, n_jobs, monkeypatch):
    problem = random_problem(lam=1e-4, K=100)
    states = []

    def stop(state):
        states.append(state)
        if len(states) > 1 and how == "Ctrl-C in the callback":
            signal.raise_signal(signal.SIGINT)
        return len(states) > 1 and how == "callback"

    if how == "Ctrl-C in a pass":
        step, count = BlockNewton.step, []

        def interrupted(self, problem, state):
            count.append(1)
            if len(count) == 6:
                signal.raise_signal(signal.SIGINT)
            step(self, problem, state)

        monkeypatch.setattr(BlockNewton, "step", interrupted)
    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        result = solve(problem, tol=1e-13, n_jobs=n_jobs, callback=stop)
    assert result.status is Status.INTERRUPTED
    check_best_so_far(problem, result)
    if how == "Ctrl-C in a pass":
        assert result.n_iter == 5
    else:
        assert result.n_iter == states[-1].n_iter > 0


def test_callbacks_gather_multipliers_when_asked():
    problem = random_problem(lam=1e-3)
    seen = []

    def look(state):
        again = problem.certify(state.W, state.multipliers)
        seen.append((state.n_iter, state.certificate, again))

    result = solve(problem, tol=1e-10, callback=look)
    assert [n_iter for n_iter, _, _ in seen] == result.history.n_iter.tolist()
    for _, certificate, again in seen:
        assert again.gap == pytest.approx(certificate.gap, abs=1e-10 * max(1.0, abs(again.primal)))
    assert result.W.tobytes() == solve(problem, tol=1e-10).W.tobytes(), "looking changes nothing"


@pytest.mark.parametrize("slack", SLACKS)
def test_warm_starts(slack):
    problem = random_problem(slack, lam=1e-3)
    first = solve(problem, tol=1e-9)
    assert first.n_iter > 3
    for start in (first, first.multipliers, whole(problem, tol=1e-9)):
        again = solve(problem, tol=1e-6, warm_start=start)
        assert (again.status, again.n_iter) == (Status.SOLVED, 0)
    near = problem.replace(weights=1.1 * problem.weights)
    for start in (first, first.multipliers):
        result = solve(near, tol=1e-11, warm_start=start)
        assert_solved(near, result, 1e-11)
        assert result.n_iter < first.n_iter
        np.testing.assert_allclose(result.W, whole(near, tol=1e-11).W, rtol=1e-7, atol=1e-8)
    far = solve(problem, tol=1e-9, warm_start=np.full(60, 1e6))
    assert far.status is Status.SOLVED
    with pytest.raises(ValueError, match="warm_start does not fit the problem: multipliers must have one entry per"):
        solve(problem, warm_start=np.zeros(59))


@pytest.mark.parametrize("slack", SLACKS)
def test_solve_path_in_blocks(slack):
    problem = random_problem(slack, lam=1.0)
    lambdas = [1e-3, 1e-1, 1e-2]
    results = solve_path(problem, lambdas, tol=1e-9, n_jobs=2)
    for lam, result in zip(lambdas, results, strict=True):
        single = whole(problem.replace(weights=problem.weights / lam), tol=1e-9)
        assert result.status is Status.SOLVED
        np.testing.assert_allclose(result.W, single.W, rtol=1e-4, atol=1e-5)
    assert [r.W.tobytes() for r in solve_path(problem, lambdas, tol=1e-9)] == [r.W.tobytes() for r in results]


def test_blocks_are_used_where_they_pay(monkeypatch):
    used = []
    split = BlockProblem.split
    monkeypatch.setattr(BlockProblem, "split", lambda problem, **k: used.append(problem) or split(problem, **k))
    assert solve(random_problem(K=22)).status is Status.SOLVED
    assert len(used) == 1
    solve(random_problem(K=21))
    solve(random_problem(), "dykstra")
    solve(random_problem(), "interior")
    solve(random_problem(), "hybrid")
    assert len(used) == 1
    thin = random_problem(n=8, m=1)
    solve(thin)  # 9 blocks, but thin examples are Dykstra's
    assert len(used) == 1
    solve(thin, Newton())
    assert len(used) == 2


@pytest.mark.parametrize("solver", ["dykstra", "hybrid", "interior"])
def test_solvers_that_need_all_pairs_are_refused(solver):
    with pytest.raises(ValueError, match=f"solver '{solver}' needs all pairs at once"):
        solve(BlockProblem.split(random_problem()), solver)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_jobs": 1.5}, "n_jobs"),
        (
            {"executor": "cluster"},
            "executor must be None, .dask., the Client of a Dask cluster, or an Executor; got .cluster.",
        ),
        ({"max_iter": -1}, "max_iter must be None or an integer >= 0, got -1"),
        ({"callback": 3}, "callback must be None or callable, got 3"),
        ({"tol": -1.0}, "tol"),
        ({"solver": Newton(memory=0)}, "memory must be a positive number of bytes, got 0"),
    ],
)
def test_invalid_arguments(settings, message):
    with pytest.raises(ValueError, match=message):
        solve(random_problem(), **settings)


def test_blocks_are_released_after_a_solve():
    split = BlockProblem.split(random_problem())
    kept = []
    result = solve(split, callback=lambda _: kept.append(len(split.source._blocks)))
    assert max(kept) == 9
    assert split.source._blocks == {}
    assert result.multipliers.shape == (60,)
    assert split.source._blocks == {}, "neither does gathering keep them"


def test_problem_in_its_span(monkeypatch):
    from covmetric.problem import span

    monkeypatch.setattr(span, "SPAN_ROWS", 1)
    monkeypatch.setattr(span, "SPAN_MANY_ROWS", 1)
    rng = np.random.default_rng(0)
    inner = random_problem(n=4, m=2)
    basis = np.linalg.qr(rng.standard_normal((9, 4)))[0]
    problem = MetricProblem(basis @ inner.embedded, inner.pairs, inner.similar, inner.bounds, inner.weights)
    result = solve(problem, tol=1e-10)
    assert result.basis is not None and result.core.shape == (4, 4)
    expected = solve(inner, tol=1e-10).W
    np.testing.assert_allclose(result.W, np.eye(9) + basis @ (expected - np.eye(4)) @ basis.T, atol=1e-7)
    assert solve(problem, tol=1e-6, warm_start=result).n_iter == 0


def test_updates_of_squared_distances_stay_accurate(monkeypatch):
    """A block that has lost what it kept computes it again through all steps, to the last bit."""
    problem = random_problem("is", lam=1e-6)
    monkeypatch.setattr(sources.PairBlock, "cached", lambda self, name, key, compute: compute())
    forgetful = solve(problem, "newton", tol=1e-9)
    monkeypatch.undo()
    monkeypatch.setattr(sources, "BLOCK_PAIRS", (7, 7))
    monkeypatch.setattr(sources, "MAX_RANGES", 2)
    kept = solve(problem, "newton", tol=1e-9)
    assert kept.n_iter > 9, "several updates"
    assert kept.W.tobytes() == forgetful.W.tobytes()
    assert kept.certificate == forgetful.certificate


def test_squared_distances_are_computed_anew_after_some_steps():
    split, W = BlockProblem.split(random_problem()), KeyedMatrix.of(np.eye(4))
    change = KeyedMatrix.of(np.zeros((4, 4)))
    lengths = []
    for _ in range(20):
        W = block_solver._moved(split, W, 1.0, change, np.eye(4))
        lengths.append(len(W.steps()))
    assert lengths == [*range(1, 9), *range(9), 0, 1, 2]


@pytest.mark.parametrize("seed", [11, 35, 85])
def test_the_path_starts_again_where_it_is_stuck(seed, monkeypatch):
    """On problems at the limits of double precision, the steps get stuck near the boundary of the cone."""
    follow_path, restarts = block_solver.follow_path, []

    def counted(*arguments):
        restarts.append(follow_path(*arguments))
        return restarts[-1]

    monkeypatch.setattr(block_solver, "follow_path", counted)
    problem = hostile_problem(seed)
    result = solve(BlockProblem.split(problem))
    assert any(restarts)
    reference = whole(problem)
    assert result.status is reference.status is Status.SOLVED
    scale = max(1.0, abs(reference.certificate.primal))
    assert result.certificate.primal == pytest.approx(reference.certificate.primal, abs=2e-6 * scale)


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("slack", SLACKS)
def test_a_solve_without_a_tolerance_ends_where_steps_gain_nothing(slack):
    problem = random_problem(slack, 4, 2)
    with pytest.warns(ConvergenceWarning, match="STALLED"):
        result = solve(problem, tol=0, max_iter=1000)
    assert result.status is Status.STALLED and result.n_iter < 200
    assert result.certificate.relative_gap <= 1e-12


@pytest.mark.usefixtures("system")
def test_a_step_that_is_not_finite_fails():
    split = BlockProblem.split(random_problem())
    state = BlockNewton().start(split, split.certified_arrays(np.eye(4), ZeroMultipliers()), None)
    state.C = 1e160 * np.tril(np.ones((4, 4)))  # its square is not finite
    state.W = KeyedMatrix.of(1e300 * np.eye(4))
    with np.errstate(all="ignore"), pytest.raises(StepFailed):
        BlockNewton().step(split, state)


def test_an_inverse_step_beyond_the_cone_is_not_taken():
    split = BlockProblem.split(random_problem())
    state = BlockNewton().start(split, split.certified_arrays(np.eye(4), ZeroMultipliers()), None)
    C, W = state.C, state.W
    assert block_solver._try_inverse_step(split, state, C, 2.0 * np.eye(4), 7.0) == 7.0
    assert state.C is C and state.W is W
    value = block_solver._try_inverse_step(split, state, C, -0.1 * np.eye(4), np.inf)
    np.testing.assert_allclose(state.W.array, W.array / 1.1, rtol=1e-12)
    problem = random_problem().replace(weights=state.weight_fraction * random_problem().weights)
    assert value == pytest.approx(naive.primal(problem, state.W.array))


def test_points_of_a_line_search_are_light_once_the_distances_are_known(monkeypatch):
    """Blocks that are kept know them after the first point of a step, or after the dual candidates of that step."""
    kinds = []
    run = Threads.run

    def recorded(self, source, task):
        kinds.append((type(task).__name__, task.is_light, getattr(task, "change", None)))
        return run(self, source, task)

    monkeypatch.setattr(Threads, "run", recorded)
    result = solve(random_problem("re", 9, 3, lam=1e-4, seed=3), "newton", tol=1e-9)
    assert result.status is Status.SOLVED
    rays, candidates_before = {}, set()
    for k, (name, light, change) in enumerate(kinds):
        if name == "RayPass":
            rays.setdefault(change.key, []).append(light)
            if kinds[k - 1][0] == "CandidatePass":
                candidates_before.add(change.key)
    assert any(len(lights) > 1 for lights in rays.values()) and 0 < len(candidates_before) < len(rays)
    for key, lights in rays.items():
        assert all(lights[1:])
        assert lights[0] <= (key in candidates_before)
    assert any(rays[key][0] for key in candidates_before)


class CountedPasses(Threads):
    """Threads that count the passes of each kind."""

    def __init__(self):
        super().__init__()
        self.count = Counter()

    def run(self, source, task):
        self.count[type(task).__name__] += 1
        return super().run(source, task)


def test_a_sample_saves_passes(monkeypatch):
    """With a preconditioner from a third of the pairs, conjugate gradients need fewer iterations."""
    monkeypatch.setattr(sources, "BLOCK_PAIRS", (100, 100))
    problem = random_problem("is", 4, 4, K=1000, lam=1e-4)
    counts = {}
    for spacing in (0, 3):
        monkeypatch.setattr(block_solver, "matrix_spacing", lambda *_, spacing=spacing: spacing)
        executor = CountedPasses()
        assert solve(problem, "newton", executor=executor).status is Status.SOLVED
        counts[spacing] = executor.count["HessianPass"]
    assert counts[3] < 0.7 * counts[0], counts


def test_a_sample_that_is_not_positive_definite_is_left_out(monkeypatch):
    """The step then does without it, with the same result."""
    monkeypatch.setattr(block_solver, "matrix_spacing", lambda *_: 0)
    problem = random_problem("is", 4, 4)
    expected = solve(problem, "newton")
    monkeypatch.setattr(block_solver, "matrix_spacing", lambda *_: 3)

    def failed(matrix):
        raise StepFailed

    monkeypatch.setattr(preconditioner, "cholesky", failed)
    result = solve(problem, "newton")
    assert result.W.tobytes() == expected.W.tobytes()


def test_a_sample_of_no_use_is_given_up(monkeypatch):
    """After some iterations, the Gaussian preconditioner takes over."""
    used = []

    class Useless(preconditioner.SampledPreconditioner):
        def apply(self, matrix):
            used.append("sample")
            return (
                np.diag(np.geomspace(1.0, 1e-6, len(matrix))) @ matrix @ np.diag(np.geomspace(1.0, 1e-6, len(matrix)))
            )

    gaussian = preconditioner.GaussianPreconditioner.apply
    monkeypatch.setattr(block_solver, "SampledPreconditioner", Useless)
    monkeypatch.setattr(
        preconditioner.GaussianPreconditioner,
        "apply",
        lambda self, matrix: used.append("Gaussian") or gaussian(self, matrix),
    )
    monkeypatch.setattr(block_solver, "matrix_spacing", lambda *_: 3)
    problem = random_problem("is", 5, 5, K=300, lam=1e-3)
    assert solve(problem, "newton").status is Status.SOLVED
    assert used[:11] == ["sample"] * 10 + ["Gaussian"]
    assert set(used[11:]) == {"Gaussian"}, "nor is it taken in later steps"


def test_a_sample_has_enough_pairs_where_few_are_active(monkeypatch):
    """One pair of a hundred is active, so that the sample holds all of these."""
    monkeypatch.setattr(sources, "BLOCK_PAIRS", (500, 500))
    rng = np.random.default_rng(0)
    examples, first = rng.standard_normal((200, 4, 4)), rng.integers(0, 200, 5000)
    pairs = np.column_stack((first, (first + rng.integers(1, 200, 5000)) % 200))
    distances = ((examples[pairs[:, 0]] - examples[pairs[:, 1]]) ** 2).sum(axis=(1, 2))
    few = MetricProblem(examples, pairs, np.ones(5000), np.quantile(distances, 0.99), 1e5 / 5000)
    counts = {}
    for spacing in (0, 60):
        monkeypatch.setattr(block_solver, "matrix_spacing", lambda *_, spacing=spacing: spacing)
        executor = CountedPasses()
        assert solve(few, "newton", executor=executor).status is Status.SOLVED
        counts[spacing] = executor.count["HessianPass"] + executor.count["PreconditionerPass"]
    assert counts[60] < counts[0], counts

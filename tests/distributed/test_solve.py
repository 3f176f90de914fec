"""Solves on a cluster have the bits of solves on one machine, and survive the loss of workers."""

from __future__ import annotations

import os
import pickle
import re
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import Newton, Status, solve, solve_path
from covmetric.constraints import RandomPairRecipe
from covmetric.problem import BlockProblem
from covmetric.problem.blocks import ExecutorLost, PairBlockError, Threads, sources
from covmetric.solvers.blocks import solver as block_solver
from covmetric.solvers.newton import solver as newton_solver
from tests.distributed.clusters import (
    allowed_failures,
    kill_a_busy_worker,
    two_workers,
    wait_for_two_workers,
    wait_until,
    worker_pids,
)
from tests.problem.points import random_metric
from tests.solvers.blocks.test_solver import check_best_so_far, random_problem

pytest.importorskip("distributed", reason='Dask is not installed: pip install "dask[array]" distributed')
pytestmark = pytest.mark.usefixtures("small_blocks")

Y = np.arange(20) % 3


class SlowRecipe(RandomPairRecipe):
    """Each block takes a while, unless it is made in the process that made the recipe."""

    def __init__(self, *arguments, seconds=0.005, **settings):
        super().__init__(*arguments, **settings)
        self.seconds, self.pid = seconds, os.getpid()

    def make(self, index, count):
        if os.getpid() != self.pid:
            time.sleep(self.seconds)
        return super().make(index, count)


class FaultyRecipe(RandomPairRecipe):
    """Block 3 fails."""

    def make(self, index, count):
        if index == 3:
            raise RuntimeError("no such block")
        return super().make(index, count)


class DeadlyRecipe(SlowRecipe):
    """One block ends the process of a worker."""

    def __init__(self, *arguments, deadly=3, **settings):
        super().__init__(*arguments, **settings)
        self.deadly = deadly

    def make(self, index, count):
        if index == self.deadly and os.getpid() != self.pid:
            os._exit(1)
        return super().make(index, count)


def in_this_process():
    """Start a cluster whose workers are threads, which takes a tenth of the time."""
    return two_workers(processes=False, protocol="tcp://", silence_logs=50)


def recipe_problem(kind=RandomPairRecipe, K=28, weight=2.0, **settings):
    embedded = np.random.default_rng(0).standard_normal((20, 3, 3)) + Y[:, None, None]
    return BlockProblem.from_recipe(embedded, kind(Y, K, **settings), (5.0, 30.0), weight)


def assert_same_bits(found, expected):
    assert (found.status, found.n_iter) == (expected.status, expected.n_iter) == (Status.SOLVED, expected.n_iter)
    assert found.W.tobytes() == expected.W.tobytes()
    assert found.certificate == expected.certificate
    assert found.multipliers.tobytes() == expected.multipliers.tobytes()
    np.testing.assert_array_equal(found.history.gap, expected.history.gap)


@pytest.mark.parametrize("spacing", [1, 0, 2], ids=["matrix", "conjugate gradients", "sample"])
def test_bits_of_threads_and_workers_are_the_same(client, spacing, monkeypatch):
    monkeypatch.setattr(block_solver, "matrix_spacing", lambda *_: spacing)
    problem = random_problem("is", 5, 3, K=28, lam=1e-2)
    one = solve(problem, tol=1e-9)
    assert one.n_iter > 2
    assert_same_bits(solve(problem, tol=1e-9, n_jobs=2), one)
    assert_same_bits(solve(problem, tol=1e-9, executor=client), one)
    again = problem.certify(one.W, one.multipliers, 1e-9)
    assert again.gap == pytest.approx(one.certificate.gap, abs=again.rounding + one.certificate.rounding)


def test_recipes_have_the_same_bits(client):
    problem = recipe_problem()
    one = solve(problem, tol=1e-9)
    assert_same_bits(solve(problem, tol=1e-9, n_jobs=2), one)
    assert_same_bits(solve(problem, tol=1e-9, executor=client), one)


def test_large_passes_are_sent_once(client, monkeypatch):
    """A warm start by an array is part of its pass; so are the examples of a larger problem."""
    monkeypatch.setattr("covmetric.problem.blocks.dask._LARGE_PASS", 16)
    problem = random_problem("l2", 4, 2, K=28, lam=1e-2)
    start = np.full(28, 0.01)
    assert_same_bits(
        solve(problem, tol=1e-9, warm_start=start, executor=client), solve(problem, tol=1e-9, warm_start=start)
    )


def test_paths(client):
    problem = random_problem("re", 4, 2, K=28, lam=1.0)
    found, expected = (solve_path(problem, [1e-1, 1e-2], executor=executor) for executor in (client, None))
    for one, other in zip(found, expected, strict=True):
        assert_same_bits(one, other)


def test_coordinates_of_a_span(client, monkeypatch):
    from covmetric.problem import span

    monkeypatch.setattr(span, "SPAN_ROWS", 1)
    monkeypatch.setattr(span, "SPAN_MANY_ROWS", 1)
    inner = random_problem(n=4, m=2)
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((9, 4)))[0]
    problem = type(inner)(basis @ inner.embedded, inner.pairs, inner.similar, inner.bounds, inner.weights)
    found, expected = solve(problem, executor=client), solve(problem)
    assert found.basis is not None
    assert_same_bits(found, expected)


def test_certificates_on_workers(client):
    from covmetric.problem.blocks.dask import DaskExecutor

    problem = random_problem("is")
    W = random_metric(4)
    with DaskExecutor(client) as executor:
        split = BlockProblem.split(problem, executor)
        for arguments in ((W, None), (None, np.full(60, 1e-3))):
            assert split.certify(*arguments, 1e-15) == BlockProblem.split(problem).certify(*arguments, 1e-15)


# --- Tasks ------------------------------------------------------------------------------------------------------------


def empty_pass(K):
    """Return the pairs and the task of a pass that only checks them."""
    from covmetric.problem.blocks.passes import CheckPass

    return recipe_problem(K=K).source, CheckPass()


def test_the_number_of_tasks_does_not_grow_with_the_pairs(client, monkeypatch):
    """Nor do the bytes of their messages."""
    from covmetric.problem.blocks.dask import DaskExecutor

    monkeypatch.setattr(sources, "MAX_RANGES", 256)
    submit, sent = client.submit, []

    def counted(*arguments, **settings):
        sent.append(len(pickle.dumps([one for one in arguments[1:] if isinstance(one, bytes | int)])))
        return submit(*arguments, **settings)

    monkeypatch.setattr(client, "submit", counted)
    passes = []
    for n_blocks in (20, 300, 3000):
        source, task = empty_pass(7 * n_blocks)
        assert source.n_blocks == n_blocks
        with DaskExecutor(client) as executor:
            executor.run(source, task)  # sends the examples
            sent.clear()
            executor.run(source, task)
            assert executor.n_tasks == 16
        passes.append((len(sent), sum(sent)))
    (count, size), *others = passes
    assert count == 17, "eight per thread, and their sum"
    assert all(other == (17, pytest.approx(size, rel=0.05)) for other in others)


@pytest.mark.parametrize("kind", ["recipe", "arrays"])
def test_a_cluster_that_grows_is_given_more_tasks(client, kind, monkeypatch):
    from covmetric.problem.blocks.dask import DaskExecutor
    from covmetric.problem.blocks.passes import LossPass

    monkeypatch.setattr(sources, "MAX_RANGES", 256)
    problem = recipe_problem(K=280) if kind == "recipe" else BlockProblem.split(random_problem("is", 3, 3, K=280))
    source, task = problem.source, LossPass(random_metric(3))
    nthreads, tasks = client.nthreads(), []
    with DaskExecutor(client) as executor:
        for factor in (1, 2, 1, 8):
            monkeypatch.setattr(client, "nthreads", lambda factor=factor, **_: dict.fromkeys(nthreads, factor))
            assert executor.run(source, task) == Threads().run(source, task)
            tasks.append(executor.n_tasks)
    assert tasks == [16, 32, 32, 40], "at most one per block"


def test_all_workers_keep_their_copies_of_examples_and_recipe(client):
    """Dask drops copies that no task waits for."""
    from covmetric.problem.blocks.dask import DaskExecutor

    wait_for_two_workers(client)
    with DaskExecutor(client) as executor:
        executor.run(*empty_pass(70))
        copied = [executor._examples, executor._parts[0]]
        for _ in range(3):
            client.amm.run_once()
            time.sleep(0.1)
            assert [len(workers) for workers in client.who_has(copied).values()] == [2, 2]
        held = executor._holders
        assert {future.status for future in held} == {"pending"}
    del held
    wait_until(lambda: not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.unrunnable)))


# --- Faults -----------------------------------------------------------------------------------------------------------


def test_a_worker_killed_in_a_pass_changes_nothing(client):
    problem = recipe_problem(SlowRecipe)
    expected = solve(problem)
    killed = []
    thread = threading.Thread(target=lambda: killed.append(kill_a_busy_worker(client)))
    found = solve(problem, executor=client, callback=lambda state: thread.start() if state.n_iter == 0 else None)
    thread.join()
    assert killed
    assert_same_bits(found, expected)


def test_a_block_that_fails_is_named(client):
    problem = recipe_problem(FaultyRecipe)
    with pytest.raises(PairBlockError, match=r"^block 3 failed: RuntimeError: no such block"):
        solve(problem, executor=client)
    # The cluster still works.
    assert client.submit(sum, [1, 2]).result() == 3


def test_invalid_pairs_are_errors_of_the_user(client):
    problem = recipe_problem()
    rows = np.array(problem.source.examples.rows).transpose(0, 2, 1)
    rows[1] = rows[0]
    invalid = BlockProblem.from_recipe(rows, RandomPairRecipe(Y, 2000), (5.0, 30.0), 1.0)
    with pytest.raises(ValueError, match=r"pair \d+ \((0, 1|1, 0)\) is dissimilar, but its examples are equal"):
        solve(invalid, executor=client)


@pytest.mark.parametrize("when", ["between passes", "in a pass"])
def test_a_lost_scheduler_leaves_the_best_model(when, monkeypatch):
    for module in (newton_solver, block_solver):  # so that there is a certificate long before the solve ends
        monkeypatch.setattr(module, "CERTIFY_AT_LEAST_EVERY", 2)
    problem = recipe_problem(SlowRecipe, seconds=0.0)
    expected = solve(problem, tol=1e-9)
    states = []

    def close(state):
        states.append(state)
        if len(states) == 2:
            thread.start()
            if when == "between passes":
                thread.join()

    with in_this_process() as client:
        thread = threading.Thread(target=client.cluster.close)
        if when == "in a pass":
            problem.source.recipe.pid, problem.source.recipe.seconds = None, 0.02
        lost = pytest.warns(RuntimeWarning, match=r"scheduler.*lost: the result is the best metric so far")
        with lost, pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
            result = solve(problem, tol=1e-9, executor=client, callback=close)
        thread.join()
    assert result.status is Status.INTERRUPTED
    assert 0 < states[1].n_iter <= result.n_iter < expected.n_iter
    # The multipliers are gathered here, because the cluster is gone.
    problem.source.recipe.pid = os.getpid()
    assert result.certificate.gap == min(state.certificate.gap for state in states)
    again = recipe_problem().certify(result.W, result.multipliers)
    assert again.gap == pytest.approx(result.certificate.gap, rel=1e-9)


def test_multipliers_are_gathered_after_the_cluster_is_gone():
    problem = random_problem("l2")
    with in_this_process() as client:
        result = solve(problem, tol=1e-9, executor=client)
        client.close()
        with pytest.raises(ExecutorLost, match="the connection to the scheduler of the cluster was lost"):
            solve(problem, executor=client)
    assert result.multipliers.tobytes() == solve(problem, tol=1e-9).multipliers.tobytes()
    assert result.slacks.shape == (60,)


def test_ctrl_c_ends_a_pass(client):
    problem = recipe_problem(SlowRecipe, seconds=0.01)
    states = []

    def interrupt(state):
        states.append(state)
        if state.n_iter > 0 and len(states) == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        result = solve(problem, tol=1e-12, executor=client, callback=interrupt)
    assert result.status is Status.INTERRUPTED
    assert result.n_iter == states[-1].n_iter
    embedded = np.array(problem.source.examples.rows).transpose(0, 2, 1)
    whole = BlockProblem.from_recipe(embedded, RandomPairRecipe(Y, 28), (5.0, 30.0), 2.0)
    check_best_so_far(whole, result)


# Tests that kill a worker are far apart, because its successor takes a while to start.
def test_a_worker_killed_between_passes_changes_nothing(client):
    """The pairs that it held are sent again."""
    problem = random_problem("is", 5, 3, K=28, lam=1e-2)
    expected = solve(problem, tol=1e-9)
    killed = []

    def kill(state):
        if not killed:  # at the start, when the pairs have been placed
            killed.append(next(iter(worker_pids(client).values())))
            os.kill(killed[0], signal.SIGKILL)

    found = solve(problem, tol=1e-9, executor=client, callback=kill)
    assert killed and killed[0] not in worker_pids(client).values()
    assert_same_bits(found, expected)


# --- Arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["dykstra", "hybrid", "interior"])
def test_solvers_that_need_all_pairs_are_refused(client, solver):
    with pytest.raises(ValueError, match=f"solver '{solver}' needs all pairs at once: it works neither with an exec"):
        solve(random_problem(), solver, executor=client)
    with pytest.raises(ValueError, match="needs all pairs at once"):
        solve_path(random_problem(), [1.0], solver, executor=client)


def test_small_problems_are_solved_in_this_process(client, monkeypatch):
    monkeypatch.setattr(type(client), "submit", None)
    small = random_problem(K=20)
    for solver in ("auto", "newton", Newton()):
        assert_same_bits(solve(small, solver, executor=client), solve(small, solver))


def test_checkpoints_on_a_cluster(client, tmp_path):
    problem, path = random_problem("is", 5, 3, K=28, lam=1e-2), tmp_path / "solve.checkpoint"
    expected = solve(problem, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="MAX_ITER"):
        solve(problem, tol=1e-9, executor=client, checkpoint=path, max_iter=2)
    assert_same_bits(solve(problem, tol=1e-9, n_jobs=2, checkpoint=path), expected)


def test_a_block_that_ends_its_workers_is_named(client, monkeypatch):
    monkeypatch.setattr(sources, "MAX_RANGES", 1)  # Dask also blames blocks that wait on the same worker
    problem = recipe_problem(DeadlyRecipe)
    with allowed_failures(client, 0), pytest.raises(PairBlockError, match=r"blocks-0-3.*more memory"):
        solve(problem, executor=client)
    wait_for_two_workers(client)


def test_the_deadly_block_is_found_among_those_that_waited(client, monkeypatch):
    """Dask blames every task of a worker that dies, so that the blocks of each of them have to run alone."""
    monkeypatch.setattr(sources, "MAX_RANGES", 64)
    problem = recipe_problem(DeadlyRecipe, K=280, deadly=2)
    assert len(problem.source.ranges()) == 40, "several per task"
    with allowed_failures(client, 0), pytest.raises(PairBlockError, match=r"^blocks 2 to 2 ended their worker.*memory"):
        solve(problem, executor=client)
    wait_for_two_workers(client)


def test_blocks_that_end_no_worker_alone_are_all_named():
    """A worker may also die because of another program; then nobody knows which block it was."""
    from covmetric.problem.blocks.dask import DaskExecutor
    from covmetric.problem.blocks.passes import CheckPass

    problem = recipe_problem()
    with in_this_process() as client:
        executor = DaskExecutor(client)
        arguments = problem.source, CheckPass()
        error = executor._error_of_deadly_blocks(*arguments, [(2, 4), (0, 2)], RuntimeError("a worker died"))
        of_the_sum = executor._error_of_deadly_blocks(*arguments, [], RuntimeError("a worker died"))
    assert re.match("workers died several times .* one of these blocks: 2 to 3, 0 to 1. Run alone", str(error))
    assert re.match("workers died several times while adding up the blocks .*memory", str(of_the_sum))


def test_blocks_that_fail_alone_did_not_end_a_worker():
    """Block 3 raises an error, but its worker survives."""
    from covmetric.problem.blocks.dask import DaskExecutor
    from covmetric.problem.blocks.passes import CheckPass

    source = recipe_problem(FaultyRecipe).source
    with in_this_process() as client, DaskExecutor(client) as executor:
        with pytest.raises(PairBlockError, match="no such block"):
            executor._run_alone(source, CheckPass(), (2, 4))
        error = executor._error_of_deadly_blocks(source, CheckPass(), [(2, 4), (0, 2)], RuntimeError("a worker died"))
    assert re.match("workers died several times .* one of these blocks: 2 to 3, 0 to 1. Run alone", str(error))


def test_a_range_that_runs_alone_gets_data_that_were_lost():
    from covmetric.problem.blocks.dask import DaskExecutor
    from covmetric.problem.blocks.passes import CheckPass

    source = BlockProblem.split(random_problem("is", 5, 3, K=28)).source
    with in_this_process() as client, DaskExecutor(client) as executor:
        executor._place(source)
        lost = executor._parts[0]
        client.cancel([lost])
        wait_until(lost.cancelled)
        executor._run_alone(source, CheckPass(), (0, 2))
        assert executor._parts[0] is not lost
        assert not executor._parts[0].cancelled()


def test_data_that_only_a_dead_worker_had_are_placed_again(client):
    from covmetric.problem.blocks.dask import DaskExecutor
    from covmetric.problem.blocks.passes import LossPass

    source, task = BlockProblem.split(random_problem("is", 5, 3, K=28)).source, LossPass(random_metric(5))
    with DaskExecutor(client) as executor:
        executor._place(source)
        lost = executor._parts[0]
        (holder,) = client.who_has([lost])[lost.key]
        os.kill(worker_pids(client)[holder], signal.SIGKILL)
        wait_until(lambda: holder not in client.scheduler_info(n_workers=-1)["workers"])
        assert executor.run(source, task) == Threads().run(source, task)
        assert executor._parts[0] is not lost
    wait_for_two_workers(client)

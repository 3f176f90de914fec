"""What runs the blocks of a solve: its life, its errors, and what results still need of it."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
import warnings
from concurrent.futures import CancelledError

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import Status, solve, solve_path
from covmetric._utils.half_vectors import half_vectors_of
from covmetric.problem import BlockProblem
from covmetric.problem.blocks import Executor, ExecutorLost, PairBlockError, Threads, sources
from covmetric.problem.blocks import dask as dask_module
from covmetric.problem.blocks import executors as block_executors
from covmetric.problem.blocks.dask import DaskExecutor
from covmetric.problem.blocks.passes import CheckPass
from covmetric.solvers.blocks.passes import GradientPass, MultiplePass, RayPass
from covmetric.solvers.systems import conjugate_gradients
from tests.solvers.blocks.test_solver import random_problem

pytestmark = pytest.mark.usefixtures("small_blocks")


class Watched(Threads):
    """Threads that raise an error in the pass of a given kind, after some passes of this kind."""

    def __init__(self, kind=CheckPass, after=10**9, error=None):
        super().__init__(2)
        self.kind, self.after, self.error, self.passes, self.closed = kind, after, error, 0, False

    def values(self, source, task):
        self.passes += isinstance(task, self.kind)
        if isinstance(task, self.kind) and self.passes > self.after:
            raise self.error
        return super().values(source, task)

    def close(self):
        self.closed = True
        super().close()


def test_an_executor_of_the_user_serves_several_solves():
    problem = random_problem()
    executor = Watched()
    first = solve_path(problem, [1.0, 0.1], executor=executor)
    second = solve(problem, executor=executor)
    assert not executor.closed
    np.testing.assert_array_equal(second.W, solve(problem).W)
    np.testing.assert_array_equal(first[1].W, solve_path(problem, [1.0, 0.1])[1].W)
    executor.close()


def test_threads_that_a_solve_has_made_are_closed(monkeypatch):
    closed = []
    monkeypatch.setattr(block_executors.Threads, "close", lambda self: closed.append(self))
    solve(random_problem(), n_jobs=2)
    assert len(closed) == 1


@pytest.mark.parametrize("after", [0, 2, 5])
@pytest.mark.parametrize("kind", [GradientPass, RayPass])
def test_a_lost_executor_leaves_the_best_metric_so_far(kind, after):
    problem = random_problem(lam=1e-4)
    executor = Watched(kind, after, ExecutorLost("the cluster is gone"))
    with (
        pytest.warns(RuntimeWarning, match="the cluster is gone: the result is the best metric so far"),
        pytest.warns(ConvergenceWarning, match="INTERRUPTED"),
    ):
        result = solve(problem, executor=executor)
    assert result.status is Status.INTERRUPTED
    again = problem.certify(result.W, result.multipliers)
    assert again.gap == pytest.approx(result.certificate.gap, rel=1e-9, abs=1e-12)


def test_ctrl_c_in_a_pass_leaves_the_best_metric_so_far():
    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        result = solve(random_problem(lam=1e-4), executor=Watched(GradientPass, 2, KeyboardInterrupt()))
    assert result.status is Status.INTERRUPTED and np.isfinite(result.certificate.gap)


def test_a_block_that_fails_is_named():
    class Failing(CheckPass):
        def of_block(self, block):
            if block.index == 3:
                raise MemoryError("too large")
            return super().of_block(block)

    for n_jobs in (1, 2):
        with pytest.raises(PairBlockError, match=r"^block 3 failed: MemoryError: too large"):
            BlockProblem.split(random_problem(), Threads(n_jobs)).total(Failing())


def test_sums_that_fail_name_their_blocks():
    class Failing(CheckPass):
        def combine(self, first, second):
            raise MemoryError("too large")

    with pytest.raises(PairBlockError, match=r"^adding up blocks 0 to 3 failed: MemoryError: too large"):
        BlockProblem.split(random_problem(), Threads()).total(Failing())


def test_the_first_of_several_blocks_that_fail_is_named(monkeypatch):
    class Failing(CheckPass):
        def of_block(self, block):
            if block.index in (4, 7):
                time.sleep(0.05 if block.index == 4 else 0.0)
                raise MemoryError(f"block {block.index}")
            return super().of_block(block)

    monkeypatch.setattr(sources, "MAX_RANGES", 4)  # with blocks 4 and 7 in different ranges
    for n_jobs in (1, 2, 3):
        with pytest.raises(PairBlockError, match="MemoryError: block 4"):
            BlockProblem.split(random_problem(), Threads(n_jobs)).total(Failing())


def test_an_error_of_a_helping_thread_is_not_lost():
    class Leaving(CheckPass):
        def of_block(self, block):
            if threading.current_thread() is not threading.main_thread():
                raise SystemExit("left")
            time.sleep(0.02)
            return super().of_block(block)

    with Threads(2) as executor, pytest.raises(SystemExit, match="left"):
        BlockProblem.split(random_problem(), executor).total(Leaving())


def test_light_passes_of_few_pairs_run_in_one_thread(monkeypatch):
    class Light(CheckPass):
        is_light = True

        def of_block(self, block):
            names.add(threading.current_thread().name)
            time.sleep(0.005)
            return super().of_block(block)

    for light_pairs, n_threads in ((10**9, 1), (0, 2)):
        names: set[str] = set()
        monkeypatch.setattr(block_executors, "LIGHT_PASS_PAIRS", light_pairs)
        with Threads(2) as executor:
            BlockProblem.split(random_problem(), executor).total(Light())
        assert len(names) == n_threads


def test_blocks_of_arrays_have_equal_sizes(monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_PAIRS", (4, 10))
    source = BlockProblem.split(random_problem(K=60)).source
    assert [source.block(k).problem.n_pairs for k in range(source.n_blocks)] == [8] * 7 + [4]


def test_asking_for_other_attributes_gathers_nothing(monkeypatch):
    result = solve(random_problem(), n_jobs=2)
    assert result.is_deferred
    assert not hasattr(result, "shape")
    interrupted = result.with_status(Status.INTERRUPTED)
    assert interrupted.status is Status.INTERRUPTED and interrupted.is_deferred and result.is_deferred
    restored = pickle.loads(pickle.dumps(result))
    assert not restored.is_deferred
    np.testing.assert_array_equal(restored.multipliers, interrupted.multipliers)


def test_states_of_callbacks_can_be_pickled():
    states = []
    result = solve(random_problem(), callback=states.append)
    restored = pickle.loads(pickle.dumps(states[-1]))
    np.testing.assert_array_equal(restored.multipliers, result.multipliers)


def test_conjugate_gradients_end_where_the_residual_vanishes():
    half = half_vectors_of(3)
    solution = conjugate_gradients(np.zeros(6), lambda X: X, half, accuracy=0.0)
    np.testing.assert_array_equal(solution.x, np.zeros(6))
    exact = conjugate_gradients(np.arange(6.0), lambda X: 2.0 * X, half, accuracy=0.0, max_iter=50)
    np.testing.assert_allclose(exact.x, 0.5 * np.arange(6.0), rtol=1e-15)


class LostClient:
    """A client whose workers are gone."""

    status = "running"

    def __init__(self, error):
        self.error = error

    def scatter(self, *args, **settings):
        raise self.error

    def sync(self, call, callback_timeout):
        return call()


@pytest.mark.parametrize("error", [TimeoutError("No valid workers found"), OSError("closed"), CancelledError()])
def test_a_cluster_without_workers_is_a_lost_executor(error):
    executor: Executor = DaskExecutor(LostClient(error))
    with pytest.raises(ExecutorLost, match="the workers of the cluster were lost"):
        executor.run(BlockProblem.split(random_problem()).source, CheckPass())


class ClientOf(LostClient):
    """A client that fetches the value of one future."""

    def __init__(self, future):
        super().__init__(None)
        self.future = future

    def sync(self, call, callback_timeout):
        return self.future.result(callback_timeout)


class LateFuture:
    """A future that is not ready in time, which Dask sometimes tells by an error of its own."""

    status = "pending"

    def __init__(self):
        self.errors = [TimeoutError(), UnboundLocalError("result"), TimeoutError()]

    def done(self):
        return False

    def result(self, timeout):
        if self.errors:
            raise self.errors.pop()
        return "value"


class FailedFuture:
    """A future that has finished with an error."""

    status = "error"

    def __init__(self, error):
        self.error = error

    def done(self):
        return True

    def exception(self):
        return self.error

    def result(self, timeout):
        raise self.error


@pytest.mark.parametrize("error", [TimeoutError("of a file"), UnboundLocalError("a variable")])
def test_a_future_that_failed_is_not_waited_for(error):
    pytest.importorskip("distributed")
    with pytest.raises(type(error), match=str(error)):
        DaskExecutor(ClientOf(FailedFuture(error)))._result(FailedFuture(error), [])


def test_a_sum_that_is_given_up_tells_which_part_ended_its_worker():
    distributed = pytest.importorskip("distributed")
    killed = FailedFuture(distributed.KilledWorker("blocks-2-3", None, 1))
    given_up = FailedFuture(CancelledError())
    executor = DaskExecutor(ClientOf(given_up))
    with pytest.raises(distributed.KilledWorker):
        executor._result(given_up, [LateFuture(), FailedFuture(ValueError()), killed])
    with pytest.raises(CancelledError):
        executor._result(given_up, [LateFuture(), FailedFuture(ValueError())])


def test_a_future_that_is_late_is_waited_for():
    pytest.importorskip("distributed")
    late = LateFuture()
    assert DaskExecutor(ClientOf(late))._result(late, []) == "value"


def test_a_network_that_is_slower_than_the_patience_ends_no_solve(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(dask_module, "_PATIENCE", 1e-5)
    source, task = BlockProblem.split(random_problem()).source, CheckPass()
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert DaskExecutor(client).run(source, task) == Threads().run(source, task)


def test_data_that_no_worker_confirms_are_sent_again(monkeypatch):
    """Dask waits forever for a worker that dies while data are sent to it."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(dask_module, "_SEND_SECONDS", 0.5)
    source, task = BlockProblem.split(random_problem()).source, CheckPass()
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        scatter, calls = client.scatter, []

        def once_never(*arguments, **settings):
            calls.append(1)
            return asyncio.sleep(3600) if len(calls) == 1 else scatter(*arguments, **settings)

        monkeypatch.setattr(client, "scatter", once_never)
        DaskExecutor(client).run(source, task)
    assert len(calls) > 1


@pytest.mark.parametrize("error", [ExecutorLost("the cluster is gone"), KeyboardInterrupt()])
def test_an_executor_lost_at_the_start_leaves_the_starting_point(error):
    problem = random_problem(lam=1e-4)
    executor = Watched(MultiplePass, 0, error)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = solve(problem, executor=executor)
    messages = [str(one.message) for one in caught]
    assert any("the cluster is gone" in message for message in messages) is isinstance(error, ExecutorLost)
    assert any("INTERRUPTED" in message for message in messages)
    assert (result.status, result.n_iter) == (Status.INTERRUPTED, 0)
    np.testing.assert_array_equal(result.W, np.eye(4))
    assert result.certificate.primal == pytest.approx(problem.primal(np.eye(4)), rel=1e-9)


@pytest.mark.parametrize(("n_jobs", "calls"), [(1, 0), (2, 1)])
def test_only_several_threads_let_the_process_keep_freed_memory(n_jobs, calls, monkeypatch):
    called = []
    monkeypatch.setattr(block_executors, "keep_freed_memory", lambda: called.append(True))
    Threads(n_jobs).close()
    assert len(called) == calls

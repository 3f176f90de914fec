from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

from covmetric import CovMetric, CovMetricClassifier, CovMetricPairs, RandomPairs, load_model
from covmetric.problem.blocks import Threads, sources
from covmetric.solvers import registry
from covmetric.solvers.executors import chosen_executor, solving_with


class CountingThreads(Threads):
    """Threads that count the passes, and that cannot be copied, like the client of a cluster."""

    def __init__(self, n_jobs=1):
        super().__init__(n_jobs)
        self.passes = 0

    def values(self, source, task):
        self.passes += 1
        return super().values(source, task)

    def __deepcopy__(self, memo):
        raise TypeError("cannot be copied")


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 20 pairs, so that small problems are solved in blocks."""
    monkeypatch.setattr(sources, "BLOCK_PAIRS", (20, 20))
    monkeypatch.setattr(registry, "SPLIT_THIN_FROM", 4)


def examples():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    A = rng.standard_normal((60, 4, 15))
    A[y == 1, 0] *= 2.0
    A[y == 2, 1] *= 2.0
    return A @ A.swapaxes(1, 2) / 15, y


def learner(**settings):
    return CovMetric("log", pairs=RandomPairs(budget=100), random_state=0, **settings)


def test_metric_has_the_same_bits_for_threads_and_executors(small_blocks):
    X, y = examples()
    executor = CountingThreads(3)
    serial = learner().fit(X, y)
    assert serial.status_.name == "SOLVED" and len(serial.result_.multipliers) > 4 * 20
    for other in (learner(n_jobs=2), learner(executor=executor)):
        np.testing.assert_array_equal(other.fit(X, y).W_, serial.W_)
        np.testing.assert_array_equal(other.result_.multipliers, serial.result_.multipliers)
    assert executor.passes > 10, "the blocks were run by the executor"


def test_pairs_estimator_takes_an_executor(small_blocks):
    X, y = examples()
    rng = np.random.default_rng(1)
    index = rng.integers(60, size=(150, 2))
    index = index[index[:, 0] != index[:, 1]]
    similar = np.where(y[index[:, 0]] == y[index[:, 1]], 1, -1)
    executor = CountingThreads()
    serial = CovMetricPairs("log").fit(X[index], similar)
    other = CovMetricPairs("log", executor=executor).fit(X[index], similar)
    np.testing.assert_array_equal(other.get_mahalanobis_matrix(), serial.get_mahalanobis_matrix())
    assert executor.passes > 10


def test_copies_share_the_executor_and_copy_the_rest(small_blocks):
    X, y = examples()
    executor = CountingThreads()
    with config_context(enable_metadata_routing=True):
        original = learner(executor=executor).set_fit_request(groups=True)
        copied = clone(original)
        assert copied.get_metadata_routing().fit.requests == original.get_metadata_routing().fit.requests
    assert copied.executor is executor and original.executor is executor
    assert copied.pairs is not original.pairs
    deep = copy.deepcopy(original)
    assert deep.executor is executor and deep.pairs is not original.pairs
    classifier = CovMetricClassifier(original).fit(X, y)  # which clones its learner
    assert classifier.learner_.executor is executor and executor.passes > 10


def test_model_files_hold_no_executor(tmp_path, small_blocks):
    X, y = examples()
    fitted = learner(executor=CountingThreads()).fit(X, y)
    fitted.save(tmp_path / "a.model")
    learner().fit(X, y).save(tmp_path / "b.model")
    assert load_model(tmp_path / "a.model").executor is None
    np.testing.assert_array_equal(load_model(tmp_path / "a.model").W_, fitted.W_)


@pytest.mark.parametrize("solver", ["dykstra", "hybrid", "interior"])
def test_solvers_that_need_all_pairs_refuse_an_executor(solver):
    X, y = examples()
    with pytest.raises(ValueError, match=r"needs all pairs at once.*choose solver='auto' or 'newton'"):
        learner(solver=solver, executor=CountingThreads()).fit(X, y)


@pytest.mark.parametrize("executor", ["cluster", 3, object()])
def test_other_executors_are_refused(executor, small_blocks):
    X, y = examples()
    with pytest.raises(ValueError, match="executor must be None, 'dask', the Client of a Dask cluster"):
        learner(executor=executor).fit(X, y)


def test_no_client_is_a_clear_error(small_blocks):
    pytest.importorskip("distributed", reason='Dask is not installed: pip install "dask[array]" distributed')
    X, y = examples()
    with pytest.raises(ValueError, match=r"there is no client: create a dask\.distributed\.Client first"):
        learner(executor="dask").fit(X, y)


def test_defaults_hold_within_the_block_only():
    assert chosen_executor(None, None) == (None, None)
    with solving_with(4, "dask"):
        assert chosen_executor(None, None) == (4, "dask")
        assert chosen_executor(2, None) == (2, None), "arguments come first"
        with solving_with():
            assert chosen_executor(None, None) == (None, None)
    assert chosen_executor(None, None) == (None, None)


def test_partial_fit_takes_the_executor_of_the_learner(small_blocks):
    X, y = examples()
    executor = CountingThreads()
    serial = CovMetricClassifier(learner()).fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    other = CovMetricClassifier(learner(executor=executor)).fit(X[:40], y[:40])
    n_passes = executor.passes
    other.partial_fit(X[40:], y[40:])
    np.testing.assert_array_equal(other.metric_.W, serial.metric_.W)
    assert executor.passes > n_passes + 5

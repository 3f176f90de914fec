"""What runs through joblib runs on a cluster, with the same results."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
import time

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_info, threadpool_limits

from covmetric import CovMetricClassifier, CovMetricCV
from covmetric._utils import parallel
from covmetric._utils.parallel import Shared, lost_worker_errors, run_calls
from covmetric.descriptors import DESCRIPTORS
from covmetric.distributed.blocks import in_block
from covmetric.experiments.compare import compare
from tests.data import classes_of_matrices
from tests.descriptors.contract import examples_for
from tests.distributed.clusters import allowed_failures, kill_a_busy_worker, worker_pids
from tests.images import write_objects

X, Y = classes_of_matrices(60, n=4)


@pytest.fixture
def on_cluster(client):
    """Let joblib use the cluster."""
    with parallel_config(backend="dask"):
        yield client


def assert_same(found, expected):
    """Raise AssertionError unless two fitted searches agree to the last bit."""
    assert found.best_params_ == expected.best_params_
    assert found.W_.tobytes() == expected.W_.tobytes()
    assert list(found.cv_results_) == list(expected.cv_results_)
    for name, values in expected.cv_results_.items():
        if name != "params":
            np.testing.assert_array_equal(np.ma.getdata(found.cv_results_[name]), np.ma.getdata(values), err_msg=name)


def total(numbers, factor, _):
    return float((numbers * factor).sum()), numbers.ctypes.data % 16, os.getpid()


def surroundings():
    inner = Parallel()(delayed(os.getpid)() for _ in range(3))
    blas = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
    return set(inner) == {os.getpid()}, type(get_active_backend()[0]).__name__, blas


def call_again():
    return os.getpid(), list(run_calls(os.getpid, [()] * 4))


def fail(number):
    if number == 2:
        raise ValueError(f"number {number} is bad")
    return number


def slow_sum(numbers, _):
    time.sleep(0.05)
    return float(numbers.sum())


def die_at_3(number):
    if number == 3:
        os._exit(1)
    return number


def test_calls_return_in_order_and_to_the_last_bit(on_cluster):
    # The name of the last argument shifts the addresses of the arrays within Dask's messages.
    calls = [(np.random.default_rng(i).random(10_001 + i), Shared(1.1), "x" * i) for i in range(12)]
    local = [total(*(getattr(argument, "value", argument) for argument in call)) for call in calls]
    found = list(run_calls(total, calls))
    assert [value for value, *_ in found] == [value for value, *_ in local]
    assert {address for _, address, _ in found} == {0}
    assert os.getpid() not in {pid for *_, pid in found}


def test_shared_arguments_are_sent_once(on_cluster):
    array, number = Shared(np.ones(1000)), Shared(2.0)
    results = run_calls(total, ((array, number, i) for i in range(20)))
    next(results)
    assert sum(str(key).startswith("shared-") for key in on_cluster.who_has()) == 2
    assert len(list(results)) == 19


def test_calls_on_workers_are_not_parallel_themselves(on_cluster):
    ((same_process, backend, blas),) = run_calls(surroundings, [()])
    assert same_process
    assert backend == "SequentialBackend"
    assert blas
    assert set(blas) == {1}


def test_calls_limit_threads_that_the_worker_does_not_limit():
    with threadpool_limits(2):
        _, backend, blas = parallel._call_alone(surroundings, ())
        assert backend == "SequentialBackend"
        assert set(blas) == {1}
        with in_block(0):
            assert set(surroundings()[2]) == {1}


def test_calls_within_the_tasks_of_users_stay_on_their_worker(on_cluster):
    for pid, inner in Parallel()(delayed(call_again)() for _ in range(3)):
        assert pid != os.getpid()
        assert inner == [pid] * 4


def test_errors_of_calls_are_raised(on_cluster):
    with pytest.raises(ValueError, match="number 2 is bad"):
        list(run_calls(fail, [(i,) for i in range(5)]))


def test_the_call_that_kills_its_workers_is_named(on_cluster):
    # A single call: Dask also blames calls that wait on the same worker.
    with allowed_failures(on_cluster, 0), pytest.raises(lost_worker_errors(), match="die_at_3-0-"):
        list(run_calls(die_at_3, [(3,)]))


def test_shared_arguments_survive_the_death_of_all_workers(on_cluster):
    shared, pids = Shared(X), worker_pids(on_cluster)
    results = run_calls(slow_sum, ((shared, i) for i in range(20)))
    next(results)
    for pid in pids.values():
        os.kill(pid, signal.SIGKILL)
    assert list(results) == [float(X.sum())] * 19


def test_search_equals_the_local_one(on_cluster):
    learner = CovMetricCV(phi=["log", "relog"], lambdas=[np.inf, 1e-1, 1e-2], cv=3, random_state=0)
    found = learner.fit(X, Y)
    with parallel_config(backend="sequential"):
        assert_same(found, CovMetricCV(**learner.get_params()).fit(X, Y))


def test_search_survives_the_death_of_a_worker(on_cluster):
    learner = CovMetricCV(phi=["log", "relog", "sqrt"], lambdas=[1e-1, 1e-2, 1e-3], cv=10, random_state=0)
    killer = threading.Thread(target=kill_a_busy_worker, args=(on_cluster,))
    killer.start()
    found = learner.fit(X, Y)
    assert not killer.is_alive(), "the search ended before a worker was killed"
    with parallel_config(backend="sequential"):
        assert_same(found, CovMetricCV(**learner.get_params()).fit(X, Y))


def test_classifier_that_chooses_its_rule_equals_the_local_one(on_cluster):
    found = CovMetricClassifier(rule="auto", random_state=0).fit(X, Y)
    with parallel_config(backend="sequential"):
        expected = CovMetricClassifier(rule="auto", random_state=0).fit(X, Y)
    assert found.predict_proba(X).tobytes() == expected.predict_proba(X).tobytes()


def test_comparison_equals_the_local_one(on_cluster):
    def results(table):
        timed = [one for row in table.rows for one in row.folds]
        return [dataclasses.replace(one, fit_seconds=None, predict_seconds=None) for one in timed]

    arguments = {"methods": ["log-3nn", "covmetric-3nn"], "folds": 2, "reg": 0.0}
    found = results(compare(X, Y, **arguments))
    with parallel_config(backend="sequential"):
        assert found == results(compare(X, Y, **arguments))
    assert len(found) == 4
    assert not any(one.failure for one in found)


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_descriptors_equal_the_local_ones(on_cluster, name):
    examples = examples_for(DESCRIPTORS[name](), 40)
    found = DESCRIPTORS[name]().fit_transform(examples)
    with parallel_config(backend="sequential"):
        assert found.tobytes() == DESCRIPTORS[name]().fit_transform(examples).tobytes()


def test_files_are_described_as_locally(on_cluster, tmp_path):
    paths = sorted(write_objects(tmp_path).rglob("*.png"))
    found = DESCRIPTORS["images"]("colour").fit_transform(paths)
    with parallel_config(backend="sequential"):
        assert found.tobytes() == DESCRIPTORS["images"]("colour").fit_transform(paths).tobytes()

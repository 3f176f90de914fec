"""The benchmark of scale runs, on the smallest sizes."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

from benchmarks import clusters, cost_model, extraction, many_pairs, scale, threads
from covmetric import CovMetricCV, MetricProblem
from covmetric.constraints import RandomPairRecipe
from covmetric.solvers import registry


@pytest.fixture
def run(client, monkeypatch, capsys):
    """Run a section on the cluster of the tests; return what it prints."""
    for module in (clusters, cost_model, extraction, many_pairs):
        monkeypatch.setattr(module, "two_workers", lambda megabytes: nullcontext(client))

    def output(*arguments):
        scale.main(list(arguments))
        return capsys.readouterr().out

    return output


def test_extraction_is_bounded_and_equal(run):
    output = run("extraction", "--images", "6", "--size", "30", "40", "--block", "2")
    assert "6 of 30 x 40 pixels" in output
    assert "bits of one process  equal (6 images compared)" in output


def test_search_is_the_same_everywhere(run, monkeypatch):
    monkeypatch.delitem(clusters.WAYS, "two processes")  # they take seconds to start
    monkeypatch.setattr(clusters, "CovMetricCV", partial(CovMetricCV, phi=["log"], lambdas=[0.1], cv=2))
    output = run("search", "--examples", "24", "--size", "3", "--repeats", "1")
    assert "W and scores   equal, bit by bit" in output


def test_neighbors_are_found_again(run):
    output = run("neighbors", "--references", "500", "--block", "60", "--queries", "4", "--dimensions", "3")
    assert "nearest, again       equal" in output


def test_threads_have_equal_bits(run, monkeypatch):
    monkeypatch.setattr(threads, "SIZES", ((2, 300_000),))
    monkeypatch.setattr(threads, "SMALL_SIZES", ((3, 20),))
    monkeypatch.setattr(threads, "LAMBDAS", (1e-2,))
    monkeypatch.setattr(threads, "labelled_problem", lambda *sizes: recipe_arrays(*sizes))
    lines = run("threads", "--rounds", "1").splitlines()
    assert [line.split()[-1] for line in lines[-2:]] == ["equal", "equal"]


def recipe_arrays(embedded, labels, K, lam, slack):
    """Return a problem whose pairs are drawn at once, which is faster than `labelled_problem` does it."""
    made = RandomPairRecipe(labels, K).make(0, K)
    return MetricProblem(embedded, made.pairs, made.similar, np.where(made.similar > 0, 1.0, 9.0), 1 / (lam * K), slack)


def test_a_problem_is_solved_as_a_whole_inside_the_block_only():
    before = registry.SPLIT_FROM
    with threads.never_split():
        assert before < registry.SPLIT_FROM
    assert before == registry.SPLIT_FROM


def test_pairs_are_solved_in_a_process_of_their_own(run):
    output = run("pairs", "--pairs", "5e3", "--size", "3")
    assert "5,000 at n = m = 3" in output
    assert "SOLVED" in output


def test_workers_report_what_they_moved(run):
    lines = run("workers", "--pairs", "3e3", "--size", "3", "--idle", "0.1").splitlines()
    values = lines[2].split()
    assert values[:2] == ["3,000", "SOLVED"]
    assert float(values[7]) > 0.0  # kB per pass


def test_the_model_predicts_positive_times(run, monkeypatch):
    monkeypatch.setattr(cost_model, "SOLVES", ((2, 2, 200), (3, 3, 200), (9, 9, 2000)))
    monkeypatch.setattr(cost_model, "PREDICTIONS", ((9, 10**6, 2), (9, 10**6, 4)))
    lines = run("model", "--pairs", "2000").splitlines()
    two, four = (float(line.split()[-1]) for line in lines[-2:])
    assert two > four > 0.0


def test_unknown_sections_are_refused(capsys):
    with pytest.raises(SystemExit):
        scale.main(["nothing"])
    assert "invalid choice: 'nothing' (choose from" in capsys.readouterr().err

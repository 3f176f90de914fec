"""The benchmark of scale runs, on the smallest sizes."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import pytest

from benchmarks import clusters, extraction, scale
from covmetric import CovMetricCV


@pytest.fixture
def run(client, monkeypatch, capsys):
    """Run a section on the cluster of the tests; return what it prints."""
    for module in (clusters, extraction):
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


def test_unknown_sections_are_refused(capsys):
    with pytest.raises(SystemExit):
        scale.main(["nothing"])
    assert "invalid choice: 'nothing' (choose from" in capsys.readouterr().err

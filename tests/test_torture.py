"""The robustness campaigns run, on a few inputs each, and what they count as a defect is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.torture.campaigns import CAMPAIGNS, run_apart, run_campaign
from benchmarks.torture.outcomes import Tally, check_finite, check_result
from covmetric import CovMetric, make_paper_problem, solve

# These start Python several times, or change limits and signals of their process.
APART = {"images", "model-files", "full-disk", "interrupts", "kills"}
SLOW = {"read-only", "warnings"}


@pytest.mark.parametrize("name", sorted(set(CAMPAIGNS) - SLOW))
def test_campaigns_find_no_defects_in_a_few_inputs(name):
    tally = (run_apart if name in APART else run_campaign)(name, 0, True)
    assert tally.defects == []
    assert tally.inputs == tally.certified + tally.clear > 0


def raise_error(error):
    raise error


@pytest.mark.parametrize(
    "work",
    [
        lambda: raise_error(ValueError("a message that is not one of covmetric")),
        lambda: exec(compile("import numpy; numpy.zeros(2) + numpy.zeros(3)", "/covmetric/a.py", "exec"), {}),
        lambda: raise_error(IndexError("index 5 is out of bounds")),
        lambda: np.linalg.cholesky(-np.eye(2)),
        lambda: np.float64(1.0) / np.float64(0.0),
        lambda: check_finite(np.array([np.nan])),
        lambda: check_result(replace(solve(make_paper_problem()), W=np.full((10, 10), np.nan))),
    ],
)
def test_accidents_are_defects(work):
    tally = Tally("test")
    tally.attempt(work, "input 7")
    assert len(tally.defects) == tally.inputs == 1
    assert tally.defects[0].startswith("input 7: ")


def test_messages_of_covmetric_are_clear_errors():
    tally = Tally("test")
    tally.attempt(lambda: CovMetric(lam=-1).fit(np.eye(3)[None].repeat(4, 0), [0, 0, 1, 1]), "lam")
    assert (tally.certified, tally.clear, tally.defects) == (0, 1, [])


def test_crash_of_a_campaign_is_a_defect():
    tally = run_apart("no such campaign", 0, True)
    assert tally.defects == ["the process ended with code 1"]

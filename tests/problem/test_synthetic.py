"""The paper's synthetic problem."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import make_paper_problem
from tests.problems import SLACKS


@pytest.mark.parametrize("slack", SLACKS)
def test_problem_matches_the_paper(slack):
    problem = make_paper_problem(n=7, K=300, lam=1e-3, seed=5, slack=slack)
    assert (problem.n, problem.m, problem.n_pairs, problem.slack.name) == (7, 7, 300, slack)
    F = problem.embedded[:-1]
    assert (np.abs(F) <= 0.5).all()
    assert F.min() < -0.49 and F.max() > 0.49 and abs(F.mean()) < 0.01
    np.testing.assert_array_equal(problem.bounds, np.ones(300))
    np.testing.assert_allclose(problem.weights, 1.0 / 0.3)
    assert 100 < (problem.similar > 0).sum() < 200


def test_defaults_are_the_first_problem_of_the_papers_grid():
    default, spelled_out = make_paper_problem(), make_paper_problem(n=10, K=50, lam=1e-2, seed=0, slack="is")
    np.testing.assert_array_equal(default.embedded, spelled_out.embedded)
    np.testing.assert_array_equal(default.weights, spelled_out.weights)
    assert default.slack.name == "is"


def test_seed_determines_the_problem():
    one, same, other = (make_paper_problem(3, 5, 1e-2, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.embedded, same.embedded)
    np.testing.assert_array_equal(one.similar, same.similar)
    assert not np.array_equal(one.embedded, other.embedded)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lam": 0.0}, r"lam must be positive, got 0.0"),
        ({"lam": -1.0}, r"lam must be positive, got -1.0"),
        ({"lam": np.nan}, r"lam must be positive, got nan"),
        ({"lam": "1"}, r"lam must be positive, got '1'"),
        ({"n": 0}, r"n must be an integer >= 1, got 0"),
        ({"K": 2.5}, r"K must be an integer >= 1, got 2.5"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_paper_problem(**arguments)

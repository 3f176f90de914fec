"""The optimum with which experiments compare iterations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from covmetric import Status, make_paper_problem, solve
from covmetric.experiments import optimum as module
from covmetric.experiments.optimum import certified_optimum


def test_optimum_is_that_of_another_solver():
    problem = make_paper_problem(n=5, K=20, lam=1e-2, seed=1)
    expected = solve(problem, "dykstra", tol=1e-11, random_state=0).certificate.primal
    assert certified_optimum(problem, 1e-12) == pytest.approx(expected, rel=1e-10)


def test_interrupted_solve_raises(monkeypatch):
    def interrupted(*args, **settings):
        return replace(solve(*args, **settings), status=Status.INTERRUPTED)

    monkeypatch.setattr(module, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        certified_optimum(make_paper_problem(n=3, K=5), 1e-9)


def test_tolerance_below_the_rounding_error_gives_no_warning(recwarn):
    certified_optimum(make_paper_problem(n=5, K=20, lam=1e-4), 1e-16)
    assert not recwarn.list

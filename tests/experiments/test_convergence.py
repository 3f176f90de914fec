"""The paper's convergence experiment as a function and as a command."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from covmetric import make_paper_problem
from covmetric.experiments.convergence import convergence, main


@pytest.fixture(scope="module")
def table():
    return convergence(sizes=[10], lambdas=[1e-2, 1e-3, 1e-4], seeds=5)


def test_the_problem_is_the_papers():
    problem = make_paper_problem(n=10, K=50, lam=1e-3, seed=0)
    F = problem.embedded[:-1]
    assert F.shape == (50, 10, 10)
    assert -0.5 <= F.min() < -0.49 < 0.49 < F.max() <= 0.5
    assert set(problem.similar) == {-1.0, 1.0}
    assert (problem.bounds == 1.0).all()
    np.testing.assert_allclose(problem.weights, 1.0 / (1e-3 * 50))
    with pytest.raises(ValueError, match="lam must be positive, got 0"):
        make_paper_problem(lam=0.0)


def test_stochastic_orders_beat_cyclic_at_small_lambda(table):
    """The paper's claim, at n = 10: medians over 5 seeds of the epochs to 1e-6."""
    epochs = {(row.lam, row.order): row.epochs for row in table.summary()}
    for lam in (1e-3, 1e-4):
        assert epochs[lam, "perm"] < epochs[lam, "cyclic"]
        assert epochs[lam, "rand"] < epochs[lam, "cyclic"]
    assert all(row.unsolved == 0 for row in table.summary())


def test_points(table):
    """The gap never grows, an epoch is K projections, and gap and objective belong together."""
    for a, b in zip(table.points, table.points[1:], strict=False):
        if (a.n, a.lam, a.order, a.seed) == (b.n, b.lam, b.order, b.seed):
            assert b.epoch == a.epoch + 1
            assert b.gap <= a.gap
            assert b.seconds > a.seconds
        assert a.projections == 50 * a.epoch
        assert a.true_gap >= -1e-10 * max(1.0, a.primal)
        assert a.relative_gap == pytest.approx(a.gap / max(1.0, abs(a.primal)))


def test_csv(table):
    file = io.StringIO()
    table.write_csv(file)
    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert len(rows) == len(table.points)
    assert float(rows[-1]["gap"]) == table.points[-1].gap


def test_command(capsys, tmp_path):
    main(["--sizes", "5", "--lambdas", "1e-2", "--seeds", "2", "--csv", str(tmp_path / "points.csv")])
    out = capsys.readouterr().out
    assert "Median over 2 seeds" in out
    assert out.count("perm") == 1
    assert "times that of the optimal metric" in out
    assert (tmp_path / "points.csv").read_text().startswith("n,lam,order,seed,epoch")
    main(["--sizes", "5", "--lambdas", "1e-2", "--seeds", "1", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["order"] for row in rows] == ["cyclic", "perm", "rand"]


def test_unsolved_runs_are_counted():
    table = convergence(sizes=[10], lambdas=[1e-4], orders=["cyclic"], seeds=2, max_epochs=3)
    assert table.summary()[0].unsolved == 2


def test_nothing_to_run():
    with pytest.raises(ValueError, match="nothing to run"):
        convergence(sizes=[])

"""The progress bar of a solve."""

from __future__ import annotations

from covmetric import make_paper_problem, solve
from covmetric.learning.progress import progress_callback


def test_nothing_is_shown_without_verbose(capsys):
    with progress_callback(0) as callback:
        assert callback is None
    assert capsys.readouterr().err == ""


def test_bar_shows_the_iterations_and_the_certified_gap(capsys):
    states = []
    with progress_callback(1) as callback:

        def record(state):
            states.append(state)
            return callback(state)

        result = solve(make_paper_problem(n=4, K=10, lam=1e-1, seed=0), "newton", callback=record)
    shown = capsys.readouterr().err
    assert result.status.name == "SOLVED"  # the callback does not stop the solve
    assert shown.rstrip().endswith(f"relative gap {states[-1].certificate.relative_gap:.1e}]")
    assert "learning" in shown
    assert f"{result.n_iter} iterations" in shown

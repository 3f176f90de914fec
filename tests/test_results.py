"""The committed results: the verdicts follow from the committed rows, and change if the rows do."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from covmetric.experiments.claims import judge_claims, make_remarks, read_evidence
from covmetric.experiments.convergence_table import ConvergenceTable
from covmetric.experiments.reports import TextTable, claims_report

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
TOOL = ROOT / "tools" / "results.py"

needs_results = pytest.mark.skipif(not RESULTS.is_dir(), reason="docs/results is absent")


@pytest.fixture(scope="module")
def evidence():
    return read_evidence(RESULTS)


@pytest.fixture(scope="module")
def committed():
    return json.loads((RESULTS / "claims.json").read_text(encoding="utf-8"))


def flattened(value, path=()):
    """Return the values of nested dictionaries and lists by their paths."""
    if isinstance(value, dict | list | tuple):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {key: leaf for name, one in items for key, leaf in flattened(one, (*path, str(name))).items()}
    return {path: value}


def assert_same(stored, computed):
    """Compare nested dictionaries and lists: floats up to rounding, everything else exactly."""
    stored, computed = flattened(stored), flattened(computed)
    assert stored.keys() == computed.keys()
    for path, value in computed.items():
        if isinstance(value, float):
            assert stored[path] == pytest.approx(value, rel=1e-9, abs=1e-12), path
        else:
            assert stored[path] == value, path


@needs_results
def test_verdicts_and_numbers_follow_from_the_committed_rows(evidence, committed):
    assert committed["evidence"] == evidence.codes
    for name, computed in (("claims", judge_claims(evidence)), ("remarks", make_remarks(evidence))):
        assert [one.id for one in computed] == [stored["id"] for stored in committed[name]]
        for one, stored in zip(computed, committed[name], strict=True):
            assert stored.get("verdict") == getattr(one, "verdict", None)
            assert_same(stored["numbers"], one.numbers)
            texts = {key: value for key, value in asdict(one).items() if isinstance(value, str)}
            assert {key: stored[key] for key in texts} == texts


@needs_results
def test_page_has_the_committed_verdicts(evidence):
    page = (RESULTS / "claims.md").read_text(encoding="utf-8")
    for part in claims_report(evidence).parts:
        assert (part.markdown() if isinstance(part, TextTable) else part) in page


def exchanged(rows):
    """Return rows in which W = I has the accuracy of the learned W, and vice versa."""

    def key(row):
        return getattr(row, "reading", ""), row.protocol, row.phi, row.seed

    eye = {key(row): row.accuracy for row in rows if row.W == "eye"}
    learned = {
        key(row): row.accuracy
        for row in rows
        if row.W == "is" and getattr(row, "variant", "") in ("", "balanced pairs")
    }
    return [replace(row, accuracy=learned[key(row)] if row.W == "eye" else eye[key(row)]) for row in rows]


def renamed(points, names):
    """Return the points of the convergence experiment with other names of the orders."""
    altered = [replace(point, order=names.get(point.order, point.order)) for point in points]
    return ConvergenceTable(sorted(altered, key=lambda p: (p.n, p.lam, p.order, p.seed, p.epoch)))


#: For each claim, a change of the rows that must change the verdict.
ALTERATIONS = {
    "projection-cost": lambda e: {"projection": [replace(row, seconds=row.seconds * row.n) for row in e.projection]},
    "bound": lambda e: {
        "convergence": ConvergenceTable([replace(p, paper_bound=0.5 * p.objective_gap) for p in e.convergence.points])
    },
    "tighter-bound": lambda e: {
        "convergence": ConvergenceTable([replace(p, paper_bound=0.5 * p.gap) for p in e.convergence.points])
    },
    "stochastic-orders": lambda e: {
        "convergence": renamed(e.convergence.points, {"cyclic": "perm", "perm": "rand", "rand": "cyclic"})
    },
    "cyclic-too-slow": lambda e: {"convergence": renamed(e.convergence.points, {"cyclic": "perm", "perm": "cyclic"})},
    "learning-brodatz": lambda e: {"brodatz": exchanged(e.brodatz), "readings": exchanged(e.readings)},
    "learning-eth80": lambda e: {"eth80": exchanged(e.eth80), "readings": exchanged(e.readings)},
    "best-phi-brodatz": lambda e: {
        name: [replace(row, accuracy=row.accuracy - 0.5 * (row.phi == "chol")) for row in getattr(e, name)]
        for name in ("brodatz", "readings")
    },
    "best-phi-eth80": lambda e: {
        name: [replace(row, accuracy=row.accuracy + 0.5 * (row.phi == "log")) for row in getattr(e, name)]
        for name in ("eth80", "readings")
    },
    "leml": lambda e: {"leml": [replace(point, best_excess=1e-9) for point in e.leml]},
}


@needs_results
@pytest.mark.parametrize("claim", ALTERATIONS)
def test_altered_rows_change_the_verdict(claim, evidence, committed):
    altered = replace(evidence, **ALTERATIONS[claim](evidence))
    before = {stored["id"]: stored["verdict"] for stored in committed["claims"]}
    after = {one.id: one.verdict for one in judge_claims(altered)}
    assert after[claim] != before[claim]


@needs_results
def test_every_claim_with_numbers_has_an_alteration(committed):
    assert {stored["id"] for stored in committed["claims"] if stored["numbers"]} == ALTERATIONS.keys()


@pytest.fixture
def tool():
    if not TOOL.is_file():
        pytest.skip("tools/results.py is absent")
    spec = importlib.util.spec_from_file_location("results_tool", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tool_lists_files_of_other_commits(tool, tmp_path):
    from covmetric.plotting import save_figure
    from covmetric.plotting.figures import new_figure

    pytest.importorskip("PIL.Image")
    for name, commit in (("new", "0123456789"), ("old", "abcdef0123"), ("dirty", "0123456789+changes")):
        save_figure(
            new_figure(1, 1, 1)[0], tmp_path / f"{name}.png", f"A picture. Made with covmetric 1 at commit {commit}."
        )
        (tmp_path / f"{name}.md").write_text(
            f"# Title\n\nMade by `it` on 2026 with covmetric 1 at commit {commit}, Python\n"
        )
        (tmp_path / f"{name}.csv").write_text(f"n,code\n1,{commit}\n")
        (tmp_path / f"{name}.json").write_text(json.dumps({"code": commit}))
    (tmp_path / "none.md").write_text("# Title\n")
    (tmp_path / "none.csv").write_text("n\n1\n")
    (tmp_path / "mixed.csv").write_text("n,code\n1,0123456789\n2,abcdef0123\n")
    found = tool.outdated(tmp_path, "0123456789")
    assert found == {
        **{f"old.{ending}": {"abcdef0123"} for ending in ("png", "md", "csv", "json")},
        **{f"dirty.{ending}": {"0123456789+changes"} for ending in ("png", "md", "csv", "json")},
        "none.md": set(),
        "none.csv": set(),
        "mixed.csv": {"0123456789", "abcdef0123"},
    }

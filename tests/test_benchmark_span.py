"""The benchmark of the reduction to a span, on the smallest sizes, and the memory of its largest problem."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import span

LARGEST = """
import json
from benchmarks.memory import peak_kilobytes
from benchmarks.problems import labelled_problem, simulated_classes
from covmetric import solve

embedded, labels = simulated_classes(8256, 300, 1, classes=5)
result = solve(labelled_problem(embedded, labels, 3000, 1e-2, "is"), "hybrid")
print(json.dumps({
    "status": result.status.name,
    "gap": result.certificate.relative_gap,
    "basis": result.basis.shape,
    "gigabytes": peak_kilobytes() / 2**20,
}))
"""


def test_case_is_solved_within_its_span():
    row = span.case(12, 40, 200, 1e-2, repeats=1)
    assert row["status"] == "SOLVED"
    assert (row["n"], row["r"]) == (78, 39)
    assert row["whole"] > 0.0
    assert row["ratio"] > 0.0


def test_unknown_arguments_are_refused():
    with pytest.raises(SystemExit, match="unknown arguments"):
        span.main(["speed", "memory"])


def test_tangent_vectors_of_128_channels_need_less_than_a_gigabyte():
    """A single array of shape (n, n) takes 0.5 GB, and a solve of the whole problem needs many of them."""
    root = Path(__file__).parents[1]
    run = subprocess.run([sys.executable, "-c", LARGEST], capture_output=True, text=True, cwd=root, check=True)
    row = json.loads(run.stdout.splitlines()[-1])
    assert row["status"] == "SOLVED"
    assert row["gap"] <= 1e-6
    assert row["basis"] == [8256, 299]
    assert row["gigabytes"] < 1.0

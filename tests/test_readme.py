"""The examples of the README and of docs/metric.md run, and print the documented output."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


assert README.read_text().count("```python") == 2
EXAMPLE = re.compile(r"```python\n((?:(?!```).)*?)```(?:(?!```).)*?```text\n(.*?)```", re.DOTALL)
BLOCKS = EXAMPLE.findall(README.read_text()) + EXAMPLE.findall((ROOT / "docs" / "metric.md").read_text())


@pytest.mark.parametrize(("block", "stable"), [(0, 4), (1, 5), (2, 12)], ids=["estimators", "problem", "metric"])
def test_example(block, stable):
    code, printed = BLOCKS[block]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})
    assert NUMBER.sub("#", out.getvalue()) == NUMBER.sub("#", printed)
    # The gap depends on the last bits; accuracies, the metric and the objective do not.
    expected, got = (NUMBER.findall(t)[:stable] for t in (printed, out.getvalue()))
    assert [round(float(x), 2) for x in got] == [round(float(x), 2) for x in expected]
    assert len(code.splitlines()) <= 16

"""The README's example runs, and prints what the README says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


assert README.read_text().count("```python") == 2
BLOCKS = re.findall(r"```python\n(.*?)```.*?```text\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.parametrize(("block", "stable"), [(0, 4), (1, 5)], ids=["estimators", "problem"])
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

"""The README's example runs, and prints what the README says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def test_example():
    text = README.read_text()
    code, printed = (re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)[1] for kind in ("python", "text"))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})
    assert NUMBER.sub("#", out.getvalue()) == NUMBER.sub("#", printed)
    # The gap depends on the last bits; the metric and the objective do not.
    expected, got = (NUMBER.findall(t)[:5] for t in (printed, out.getvalue()))
    assert [round(float(x), 2) for x in got] == [round(float(x), 2) for x in expected]
    assert len(code.splitlines()) <= 16

"""The code of docs/howto/scaling.md runs, except for what needs a cluster of computers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "scaling.md"
BLOCK = re.compile(r"(<!-- not run: .*? -->\n)?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_runs(capsys, tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason='Dask is not installed: pip install "dask[array]" distributed')
    found = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    code = [text for reason, text in found if not reason]
    assert (len(code), len(found)) == (5, 7)
    monkeypatch.chdir(tmp_path)  # of the checkpoint
    exec("\n".join(code), {"__name__": "page"})
    assert capsys.readouterr().out.splitlines() == ["(6, 6)", "SOLVED True", "(30, 5, 5)", "[0 1 2 3 4]"]

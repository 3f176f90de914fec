"""The documentation: every block of Python and every command of the how-tos runs and prints what the page shows.

A block that a reader can only run with data of their own has a comment before it, ``<!-- not run: the reason -->``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn import config_context

import covmetric
import covmetric.models  # registers the kinds of models before a page patches the registry
from covmetric.cli import main
from covmetric.embeddings import EMBEDDINGS
from covmetric.model_file.kinds import KINDS, KINDS_BY_CLASS

DOCS = Path(__file__).parents[1] / "docs"
HOWTO = DOCS / "howto"
#: tests/distributed/test_page.py runs scaling.md, which starts a cluster.
PAGES = sorted({path.name for path in HOWTO.glob("*.md")} - {"index.md", "scaling.md"})
BLOCK = re.compile(r"(?:<!-- not run: (?P<reason>.*?) -->\n+)?^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@dataclass(frozen=True)
class Block:
    kind: str
    text: str
    reason: str | None
    line: int


def blocks(page):
    text = (HOWTO / page).read_text(encoding="utf-8")
    return [
        Block(found["kind"], found["text"], found["reason"], text[: found.start("text")].count("\n"))
        for found in BLOCK.finditer(text)
    ]


def run_python(block, page, namespace):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * block.line + block.text, page, "exec"), namespace)
    return printed.getvalue()


def run_commands(block):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for line in block.text.splitlines():
            if line.startswith("$ covmetric "):
                assert main(shlex.split(line)[2:]) == 0, line
    return printed.getvalue()


def assert_shown(shown, printed):
    """Words are the same; numbers are near, because the last digits depend on the machine."""
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split(), printed
    expected, got = ([float(x) for x in NUMBER.findall(text)] for text in (shown, printed))
    np.testing.assert_allclose(got, expected, rtol=0.05, atol=0.02, err_msg=printed)


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_the_how_to_run_and_print_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    namespace, printed = {}, ""
    with config_context(), mpl.rc_context(), contextlib.ExitStack() as stack:
        stack.callback(plt.close, "all")
        for registry in (EMBEDDINGS, KINDS, KINDS_BY_CLASS):  # a page registers a class of its own
            stack.enter_context(patch.dict(registry))
        for block in blocks(page):
            if block.kind == "text" and block.reason is None:
                assert_shown(block.text, printed)
            elif block.kind == "python" and block.reason is None:
                printed = run_python(block, page, namespace)
            elif block.kind == "console" and block.reason is None:
                printed = run_commands(block)


def test_all_blocks_of_the_how_tos_are_known():
    """A block of another kind would not be run."""
    kinds = {block.kind for page in PAGES for block in blocks(page)}
    assert kinds <= {"python", "console", "text", "none", "{toctree}", "{literalinclude} ../../tools/toys/phi.py"}
    assert sum(block.kind == "python" and block.reason is None for page in PAGES for block in blocks(page)) > 20


def test_reference_lists_every_public_name():
    reference = (DOCS / "api" / "index.rst").read_text(encoding="utf-8").split()
    assert set(covmetric.__all__) - {"__version__"} <= set(reference)
    packages = (DOCS / "api" / "packages.rst").read_text(encoding="utf-8").split()
    internal = {"_utils", "cli", "estimators", "experiments", "learning", "tasks"}
    found = {path.parent.name for path in Path(covmetric.__file__).parent.glob("*/__init__.py")}
    assert {f"covmetric.{name}" for name in found - internal} == {word for word in packages if "covmetric." in word}


@pytest.fixture
def links():
    spec = importlib.util.spec_from_file_location("links_tool", DOCS.parent / "tools" / "links.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tool_finds_links_that_lead_nowhere_and_pages_that_load_from_elsewhere(links, tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#here">b</a><a href="#top">top</a><a href="https://example.org">other</a>'
        '<a href="b.html#gone">b</a><a href="c.html">c</a><script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="here"></p><img src="missing.png"><link rel="next" href="a.html">')
    assert links.problems(tmp_path) == [
        "a.html: loads https://example.org/x.js",
        "a.html: b.html#gone has no such anchor",
        "a.html: c.html does not exist",
        "b.html: missing.png does not exist",
    ]
    assert links.main([str(tmp_path)]) == 1


def test_blocks_that_are_not_run_have_a_reason():
    reasons = [block.reason for page in PAGES for block in blocks(page) if block.reason is not None]
    assert all(len(reason.split()) > 2 for reason in reasons)

"""Keep a number and its standard error on one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_WITH_ERROR = re.compile(r"(?<=\d) ± (?=\d)")


def join_errors(app: Sphinx, document: nodes.document, page: str) -> None:
    """Keep a number and its standard error on one line."""
    for text in list(document.findall(nodes.Text)):
        if _WITH_ERROR.search(text) and not isinstance(text.parent, nodes.literal | nodes.literal_block):
            text.parent.replace(text, nodes.Text(_WITH_ERROR.sub("\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}", text)))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the reader of pages."""
    app.connect("doctree-resolved", join_errors)
    return {"parallel_read_safe": True}

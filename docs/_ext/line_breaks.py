"""Where lines may break: between the parts of a name in the sidebar, but not in a number with its standard error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# After a dot or an underscore, and before a capital letter that follows a small one.
_PARTS = re.compile(r"(?<=\w[._])(?=\w)|(?<=[a-z])(?=[A-Z])")
_LINK_TEXT = re.compile(r"(?<=>)[^<>\s]+(?=</a>)")
_WITH_ERROR = re.compile(r"(?<=\d) ± (?=\d)")


def allow_breaks(
    app: Sphinx, page: str, template: str, context: dict[str, Any], document: nodes.document | None
) -> None:
    """Let the names of classes, functions and packages in the sidebar break between their parts."""
    generate = context.get("generate_toctree_html")
    if generate is None:
        return

    def generate_with_breaks(kind: str, **settings: Any) -> Any:
        html = generate(kind, **settings)
        return _LINK_TEXT.sub(lambda text: _PARTS.sub("<wbr>", text.group()), str(html)) if kind == "sidebar" else html

    context["generate_toctree_html"] = generate_with_breaks


def join_errors(app: Sphinx, document: nodes.document, page: str) -> None:
    """Keep a number and its standard error on one line."""
    for text in list(document.findall(nodes.Text)):
        if _WITH_ERROR.search(text) and not isinstance(text.parent, nodes.literal | nodes.literal_block):
            text.parent.replace(text, nodes.Text(_WITH_ERROR.sub("\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}", text)))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the writer of pages, after the theme."""
    app.connect("html-page-context", allow_breaks, priority=900)
    app.connect("doctree-resolved", join_errors)
    return {"parallel_read_safe": True}

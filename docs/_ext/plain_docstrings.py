"""Show the formulas of docstrings as they are: outside backquotes, ``|x|``, ``W*`` and ``name_`` are not markup."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: A literal, which stays as it is; or a character that reStructuredText would take for markup.
_PARTS = re.compile(r"(``.*?``|:\w+:`.*?`|`[^`]*`_?)|(?<!\\)(\||(?<![*\\])\*(?!\*)|(?<=\w)_(?!\w))")


def escape(line: str) -> str:
    """Put a backslash before the characters of a line that would be markup."""
    return _PARTS.sub(lambda match: match[1] or rf"\{match[2]}", line)


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape all lines except those of directives and examples."""
    lines[:] = [line if line.lstrip().startswith((">>>", "...", "..")) else escape(line) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    """Run after numpydoc, which is connected with the default priority of 500."""
    app.connect("autodoc-process-docstring", process, priority=900)
    return {"parallel_read_safe": True}

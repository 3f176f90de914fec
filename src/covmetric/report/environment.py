"""Pages from templates, by Jinja2. All text is escaped: names of files may contain HTML."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from covmetric.report.content import Page


def render(page: Page) -> str:
    """Return a page as HTML that needs no other file.

    Parameters
    ----------
    page : Page
        The content.

    Returns
    -------
    str
        The HTML.

    Raises
    ------
    ImportError
        If Jinja2 is not installed.

    Examples
    --------
    >>> from covmetric.report.content import Page
    >>> "<h1>a &lt;b&gt;</h1>" in render(Page("a <b>", "nothing"))
    True
    """
    html: str = environment().get_template("page.html").render(page=page)
    return html


def require_jinja() -> None:
    """Raise ImportError, with the remedy, if Jinja2 is not installed. Call it before long work whose page needs it.

    Raises
    ------
    ImportError
        If Jinja2 is not installed.

    Examples
    --------
    >>> require_jinja()
    """
    environment()


@cache
def environment() -> Any:
    """Return the environment of the templates.

    Returns
    -------
    jinja2.Environment
        The environment, which escapes everything and refuses unknown names.

    Raises
    ------
    ImportError
        If Jinja2 is not installed.

    Examples
    --------
    >>> environment().from_string("{{ name }}").render(name="<b>")
    '&lt;b&gt;'
    """
    try:
        jinja2 = import_module("jinja2")
    except ImportError as error:
        raise ImportError("a report needs the package jinja2: pip install jinja2") from error
    return jinja2.Environment(
        loader=jinja2.PackageLoader("covmetric.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

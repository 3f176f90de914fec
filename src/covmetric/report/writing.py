"""Pages as files."""

from __future__ import annotations

import os
from pathlib import Path

from covmetric.report.content import Page
from covmetric.report.environment import render


def write_page(page: Page, path: str | os.PathLike[str]) -> Path:
    """Write a page to a file.

    Parameters
    ----------
    page : Page
        The page.
    path : path-like
        The file. An existing file is replaced.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ImportError
        If Jinja2 is not installed.
    ValueError
        If the folder of the file does not exist.

    Examples
    --------
    >>> import tempfile
    >>> from covmetric.report.content import Page
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page(Page("A title", "A sentence."), f"{folder}/page.html").read_text()[:15]
    '<!DOCTYPE html>'
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise ValueError(f"there is no folder {target.parent}")
    # Names of files may hold bytes that are not text, which Python shows as lone surrogates.
    target.write_bytes(render(page).encode("utf-8", errors="replace"))
    return target

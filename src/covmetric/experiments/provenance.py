"""The version of the code that computed a result."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from covmetric._version import __version__

_SOURCES = Path(__file__).parents[1]


@cache
def code_version() -> str:
    """Return the last commit that changed the sources of covmetric.

    Returns
    -------
    str
        The abbreviated commit, with "+changes" if the sources have uncommitted changes. The release, for example
        "v0.1.0", if the sources are not in a git repository of their own.

    Examples
    --------
    >>> code_version() == code_version()
    True
    """
    tracked = _git("ls-files", "--error-unmatch", "__init__.py")
    commit = _git("log", "-1", "--format=%h", "--abbrev=10", "--", ".")
    if tracked is None or not commit:
        return f"v{__version__}"
    return commit + ("+changes" if _git("status", "--porcelain", "--", ".") else "")


def _git(*arguments: str) -> str | None:
    """Return what a git command prints in the folder of the sources, or None if it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=_SOURCES, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()

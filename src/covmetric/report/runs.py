"""Results that were written earlier, and their pages."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from covmetric.report.comparisons import comparison_page
from covmetric.report.content import Page
from covmetric.report.evaluations import evaluation_page

# The page of a result, by an entry that only results of this kind have.
_PAGES: dict[str, Callable[[Mapping[str, Any]], Page]] = {"confusion": evaluation_page, "rows": comparison_page}
# No result is larger: a million predictions take 100 MB.
_MAX_BYTES = 200_000_000


def read_run(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what `covmetric evaluate --json` or `covmetric compare --json` (without `--unseen`) wrote.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    dict
        The result.

    Raises
    ------
    ValueError
        If the file is not such a result.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "run.json")
    ...     written = file.write_text('{"confusion": {}}')
    ...     read_run(file)
    {'confusion': {}}
    """
    size = os.stat(path).st_size
    if size > _MAX_BYTES:
        raise ValueError(f"{path} has {size} bytes, which is too large for a result of covmetric")
    try:
        run = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is neither a model file nor a result of evaluate --json or compare --json") from error
    if not isinstance(run, dict) or not any(name in run for name in _PAGES):
        raise ValueError(
            f"{path} is JSON, but not a result: it must be what covmetric evaluate --json or compare --json wrote"
        )
    if _is_about_new_classes(run):
        raise ValueError(
            f"{path}: a comparison on new classes (--unseen) has no page; its table is what compare prints"
        )
    return run


def _is_about_new_classes(run: Mapping[str, Any]) -> bool:
    """Return whether `covmetric compare --unseen --json` wrote a result: its rows have splits in place of folds."""
    rows = run.get("rows")
    return isinstance(rows, list) and any(isinstance(row, dict) and "splits" in row for row in rows)


def run_page(run: Mapping[str, Any]) -> Page:
    """Return the page of a result that `read_run` read.

    Parameters
    ----------
    run : mapping
        The result.

    Returns
    -------
    Page
        The page.

    Raises
    ------
    ValueError
        If the result is incomplete or invalid.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.experiments.compare import compare
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> run_page(compare(data.X, data.y, methods=["log-3nn"], folds=2).as_dict()).title
    'Comparison of methods'
    """
    page = next((page for name, page in _PAGES.items() if name in run), None)
    if page is None:
        raise ValueError("the result is neither an evaluation nor a comparison")
    return page(run)

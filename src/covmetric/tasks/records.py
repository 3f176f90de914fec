"""What a result says about its origin: the command, the code, the packages, the data."""

from __future__ import annotations

import platform
import shlex
from collections import Counter
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from covmetric._version import __version__
from covmetric.experiments.provenance import code_version

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pyriemann")


def origin(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the entries of a result that say how to reproduce it.

    Parameters
    ----------
    arguments : sequence of str
        The arguments of the command.

    Returns
    -------
    dict
        The entries `command`, `version`, `commit` and `versions`.

    Examples
    --------
    >>> origin(["compare", "my data.npz"])["command"]
    "covmetric compare 'my data.npz'"
    """
    return {
        "command": shlex.join(["covmetric", *arguments]),
        "version": __version__,
        "commit": code_version(),
        "versions": package_versions(),
    }


def package_versions() -> dict[str, str]:
    """Return the versions of Python, covmetric and the packages that results depend on.

    Returns
    -------
    dict
        Versions by name. Packages that are not installed are left out.

    Examples
    --------
    >>> sorted(package_versions())[:2]
    ['covmetric', 'numba']
    """
    versions = {"python": platform.python_version(), "covmetric": __version__}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def data_record(path: Path, content: str, labels: Any, n_features: int, groups: Any, skipped: Any) -> dict[str, Any]:
    """Return the entry `data` of a result.

    Parameters
    ----------
    path : Path
        The file or folder.
    content : str
        What the matrices are.
    labels : sequence of length l
        The labels.
    n_features : int
        The number of rows of a matrix.
    groups : sequence of length l or None
        The groups.
    skipped : sequence of (str, str)
        The names of the examples that were left out, and the reasons.

    Returns
    -------
    dict
        The entries that docs/guide/cli.md lists.

    Examples
    --------
    >>> record = data_record(Path("a/b.npz"), "matrices", ["x", "y", "x"], 4, None, ())
    >>> record["name"], record["classes"], record["class_counts"], record["n_groups"]
    ('b', ['x', 'y'], [2, 1], None)
    """
    counts = Counter(str(label) for label in labels)
    classes = sorted(counts)
    return {
        "name": path.stem if path.suffix else path.name or str(path.resolve().name),
        "path": str(path),
        "content": content,
        "n_examples": len(labels),
        "classes": classes,
        "class_counts": [counts[name] for name in classes],
        "n_features": n_features,
        "n_groups": None if groups is None else len(set(groups)),
        "skipped": [list(one) for one in skipped],
    }

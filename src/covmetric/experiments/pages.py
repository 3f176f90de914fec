"""Results as files: all rows as CSV, and a page in Markdown with the command, the versions and the date."""

from __future__ import annotations

import csv
import datetime
import importlib.metadata
import platform
from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import covmetric


def write_csv(path: Path, rows: Sequence[Any]) -> Path:
    """Dataclasses of one kind, a line each."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(rows[0])])
        writer.writerows(astuple(row) for row in rows)
    return path


def write_page(path: Path, title: str, command: str, parts: Sequence[str], seconds: float) -> Path:
    """A page of parts, each a paragraph, a table or a picture in Markdown."""
    packages = ("numpy", "scipy", "scikit-learn", "numba", "pyriemann")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    made = (
        f"Made by `{command}` on {datetime.date.today():%Y-%m-%d}, in {seconds:.0f} s, with covmetric "
        f"{covmetric.__version__}, Python {platform.python_version()}, {versions}."
    )
    path.write_text("\n\n".join([f"# {title}", made, *parts]) + "\n")
    return path


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)

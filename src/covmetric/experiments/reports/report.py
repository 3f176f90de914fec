"""A report: paragraphs, tables and pictures, which are written as a Markdown page."""

from __future__ import annotations

import csv
import datetime
import importlib.metadata
import platform
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from covmetric._version import __version__
from covmetric.experiments.provenance import code_version
from covmetric.plotting import save_figure


@dataclass(frozen=True)
class TextTable:
    """A table of strings.

    Attributes
    ----------
    head : sequence of str
        The names of the columns.
    rows : sequence of sequences of str
        The cells.
    title : str
        The heading above the table, or "" for no heading.

    Examples
    --------
    >>> table = TextTable(["n", "seconds"], [["10", "0.5"], ["100", "31.0"]])
    >>> print(table.markdown())
    | n | seconds |
    | --- | --- |
    | 10 | 0.5 |
    | 100 | 31.0 |
    >>> print(table.text())
      n  seconds
     10      0.5
    100     31.0
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""

    def markdown(self) -> str:
        """Return the table in Markdown, below its title.

        Returns
        -------
        str
        """
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"## {self.title}\n\n{table}" if self.title else table

    def text(self) -> str:
        """Return the table as text with aligned columns, below its title.

        Returns
        -------
        str
        """
        lines = [self.head, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.head))]
        table = "\n".join(
            "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )
        return f"{self.title}\n\n{table}" if self.title else table


@dataclass(frozen=True)
class Picture:
    """A picture that is drawn when the report is written.

    Attributes
    ----------
    filename : str
        The name of the file, which ends with the format.
    description : str
        What the picture shows.
    draw : function
        Returns the matplotlib Figure.

    Examples
    --------
    >>> from covmetric.plotting.figures import new_figure
    >>> Picture("empty.png", "An empty page", lambda: new_figure(2, 2, 1)[0]).filename
    'empty.png'
    """

    filename: str
    description: str
    draw: Callable[[], Any]


@dataclass(frozen=True)
class Report:
    """The result of an experiment.

    Attributes
    ----------
    name : str
        The name of the experiment and of the files.
    title : str
        The title of the page.
    parts : sequence of str, TextTable or Picture
        The content of the page; a str is a paragraph.
    summary : sequence of dataclass instances
        The statistics.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> report = Report("means", "Some means", ["A table:", TextTable(["mean"], [["2.0"]])], [])
    >>> with TemporaryDirectory() as folder:
    ...     page = report.write(Path(folder), "covmetric reproduce means")
    ...     page.name, page.read_text().splitlines()[0]
    ('means.md', '# Some means')
    """

    name: str
    title: str
    parts: Sequence[str | TextTable | Picture]
    summary: Sequence[Any]

    def write(self, folder: Path, command: str) -> Path:
        """Write the page and its pictures, which all name the version of the code.

        Parameters
        ----------
        folder : Path
            An existing folder.
        command : str
            The command that made the report.

        Returns
        -------
        Path
            The page.
        """
        packages = ("numpy", "scipy", "scikit-learn", "numba", "pyriemann")
        versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in packages)
        origin = (
            f"Made by `{command}` on {datetime.date.today():%Y-%m-%d} with {software()}, Python "
            f"{platform.python_version()}, {versions}."
        )
        parts = [_write_part(part, folder) for part in self.parts]
        page = folder / f"{self.name}.md"
        page.write_text("\n\n".join([f"# {self.title}", origin, *parts]) + "\n")
        return page


def _write_part(part: str | TextTable | Picture, folder: Path) -> str:
    """Return the part in Markdown; a picture is drawn and saved."""
    if isinstance(part, TextTable):
        return part.markdown()
    if isinstance(part, Picture):
        path = save_figure(part.draw(), folder / part.filename, f"{part.description}. Made with {software()}.")
        return f"![{part.description}]({path.name})"
    return part


def software() -> str:
    """Return the version of covmetric and the last commit that changed its sources.

    Returns
    -------
    str
        For example "covmetric 0.1.0 at commit 0123456789"; without the commit if the sources are not in a repository.

    Examples
    --------
    >>> software().startswith("covmetric ")
    True
    """
    code = code_version()
    return f"covmetric {__version__}" + ("" if code == f"v{__version__}" else f" at commit {code}")


def write_csv(path: Path, records: Sequence[Any]) -> Path:
    """Write dataclass instances of one class to a CSV file.

    Parameters
    ----------
    path : Path
        The file.
    records : sequence of dataclass instances
        One line each; at least one.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from covmetric.experiments.estimates import mean_and_standard_error
    >>> with TemporaryDirectory() as folder:
    ...     path = write_csv(Path(folder) / "means.csv", [mean_and_standard_error([1.0, 3.0])])
    ...     path.read_text().splitlines()
    ['mean,standard_error,count', '2.0,1.0,2']
    """
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(records[0])])
        writer.writerows(astuple(record) for record in records)
    return path

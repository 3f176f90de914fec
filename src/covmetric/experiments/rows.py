"""Rows of an experiment in a CSV file that is written run by run, so that a stopped experiment resumes."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints

from covmetric._utils.warning import warn
from covmetric.experiments.provenance import code_version

Row = TypeVar("Row")
Run = TypeVar("Run", bound=Hashable)

#: The column that the file adds to the fields of a row: the version of the code that computed it.
_CODE = "code"
_READERS: dict[type, Callable[[str], Any]] = {
    int: int,
    float: float,
    str: str,
    bool: lambda text: {"True": True, "False": False}[text],
}


class RowFile(Generic[Row]):
    """The rows of an experiment in a CSV file.

    The file is replaced as a whole whenever rows are added, so that it always holds whole runs.

    Parameters
    ----------
    path : Path
        The file.
    row_type : dataclass
        The class of the rows. Its fields are int, float, str or bool.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from covmetric.experiments.rank_one import RankOneSummary
    >>> row = RankOneSummary(lam=1e-2, seed=0, optimum=2.0, excess=0.5, best_excess=0.25)
    >>> with TemporaryDirectory() as folder:
    ...     file = RowFile(Path(folder) / "leml.csv", RankOneSummary)
    ...     file.write([row])
    ...     file.read() == [row]
    True
    """

    def __init__(self, path: Path, row_type: type[Row]) -> None:
        self.path = path
        self.row_type = row_type
        self.columns = [field.name for field in fields(row_type)]  # type: ignore[arg-type]

    def read(self, any_code: bool = False) -> list[Row]:
        """Return the rows of the file.

        Parameters
        ----------
        any_code : bool, default=False
            Whether to return the rows of all versions of the code, instead of the current one alone.

        Returns
        -------
        list of Row
            The rows, or an empty list if there is no file, or if its columns are those of another version.

        Raises
        ------
        ValueError
            If a value cannot be read.
        """
        if not self.path.is_file():
            return []
        types = get_type_hints(self.row_type)
        with self.path.open(newline="") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames != [*self.columns, _CODE]:
                return []
            lines = [line for line in reader if any_code or line[_CODE] == code_version()]
        try:
            return [
                self.row_type(**{name: _READERS[types[name]](line[name]) for name in self.columns}) for line in lines
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{self.path} holds a value that cannot be read ({error}): remove the file") from error

    def codes(self) -> list[str]:
        """Return the versions of the code that computed the rows of the file.

        Returns
        -------
        list of str
            The versions, each of them once. The list is empty if there is no file, or if it has no such column.
        """
        if not self.path.is_file():
            return []
        with self.path.open(newline="") as file:
            return sorted({line[_CODE] for line in csv.DictReader(file) if _CODE in line})

    def write(self, rows: Iterable[Row]) -> None:
        """Replace the file by these rows, which the current code has computed.

        Parameters
        ----------
        rows : iterable of Row
            The rows.
        """
        draft = self.path.with_name(self.path.name + ".part")
        with draft.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*self.columns, _CODE])
            writer.writeheader()
            writer.writerows({**asdict(row), _CODE: code_version()} for row in rows)  # type: ignore[call-overload]
        os.replace(draft, self.path)

    def set_aside(self) -> Path | None:
        """Rename the file, for example because it holds rows of another version of the code.

        Returns
        -------
        Path or None
            The new name, or None if there is no file.
        """
        if not self.path.is_file():
            return None
        target = self.path.with_name(f"{self.path.stem}.old{self.path.suffix}")
        os.replace(self.path, target)
        return target


def resume(
    file: RowFile[Row] | None,
    runs: Sequence[Run],
    run_of: Callable[[Row], Run],
    compute: Callable[[Sequence[Run]], Iterator[tuple[Run, list[Row]]]],
) -> list[Row]:
    """Compute the runs that a file does not hold yet, and write each of them to the file as soon as it is done.

    Rows of other runs or of another version of the code are not used: the old file is renamed, with a warning.

    Parameters
    ----------
    file : RowFile or None
        The file; None means that everything is computed and nothing is written.
    runs : sequence of Run
        The runs of the experiment.
    run_of : function
        Returns the run to which a row belongs.
    compute : function
        Takes the missing runs and yields each of them with its rows, in any order.

    Returns
    -------
    list of Row
        The rows of all runs, in the order of `runs`.

    Examples
    --------
    >>> resume(None, [1, 2], len, lambda missing: ((run, ["x" * run]) for run in missing))
    ['x', 'xx']
    """
    done: dict[Run, list[Row]] = {}
    if file is not None:
        wanted = set(runs)
        stored = file.read()
        for row in stored:
            if run_of(row) in wanted:
                done.setdefault(run_of(row), []).append(row)
        if sum(map(len, done.values())) < len(stored) or not stored:
            aside = file.set_aside()
            if aside is not None:
                warn(
                    f"{file.path} holds rows of other settings or of another version of the code; it has been renamed "
                    f"{aside.name}"
                )
            if done:
                file.write(row for run in runs for row in done.get(run, ()))
    for run, rows in compute([run for run in runs if run not in done]):
        done[run] = rows
        if file is not None:
            file.write(row for key in runs for row in done.get(key, ()))
    return [row for run in runs for row in done[run]]

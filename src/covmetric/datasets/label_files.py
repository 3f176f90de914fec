"""Labels of examples in CSV files."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

_ONE_NAME = "name"
_ONE_LABEL = "label"
_ONE_GROUP = "group"


@dataclass(frozen=True)
class Labels:
    """The rows of a CSV file with labels.

    Attributes
    ----------
    labels : list of str
        The label of each row.
    names : list of str or None
        The name of each row, or None if the file has no column `name`.
    groups : list of str or None
        The group of each row, or None if the file has no column `group`.
    """

    labels: list[str]
    names: list[str] | None
    groups: list[str] | None


def read_labels(path: Path, needs_names: bool = False) -> Labels:
    r"""Read a CSV file with a header that has a column `label`, and optionally `name` and `group`.

    Parameters
    ----------
    path : Path
        The file, in UTF-8.
    needs_names : bool, default=False
        Whether the column `name` is required.

    Returns
    -------
    Labels
        The rows, in the order of the file.

    Raises
    ------
    ValueError
        If the file is not a CSV file in UTF-8, a column is missing, a row has more or fewer cells than the header, a
        label is empty, or a name occurs twice.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "labels.csv"
    ...     _ = path.write_text("name,label\n1.png,cat\n2.png,dog\n")
    ...     read_labels(path)
    Labels(labels=['cat', 'dog'], names=['1.png', '2.png'], groups=None)
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            rows, lines = [], []
            for row in reader:
                if row:
                    rows.append(row)
                    lines.append(reader.line_num)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read the labels in {path}: {error}") from None
    header = [column.strip().lower() for column in rows[0]] if rows else []
    required = (_ONE_NAME, _ONE_LABEL) if needs_names else (_ONE_LABEL,)
    missing = [column for column in required if column not in header]
    if missing:
        raise ValueError(
            f"{path} has no column {missing[0]!r}: its first line must name the columns {' and '.join(required)} (and "
            f"optionally {_ONE_GROUP}), separated by commas; it has {header}"
        )
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(header):
            raise ValueError(f"{path}: line {line} has {len(row)} cells, but the header has {len(header)}")
    columns = {column: [row[k].strip() for row in rows[1:]] for k, column in enumerate(header)}
    _check_rows(path, columns, lines[1:])
    return Labels(columns[_ONE_LABEL], columns.get(_ONE_NAME), columns.get(_ONE_GROUP))


def _check_rows(path: Path, columns: dict[str, list[str]], lines: list[int]) -> None:
    labels, names = columns[_ONE_LABEL], columns.get(_ONE_NAME)
    if not labels:
        raise ValueError(f"{path} has a header, but no rows")
    if "" in labels:
        raise ValueError(f"{path}: line {lines[labels.index('')]} has no label")
    if names is not None and len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"{path} has several rows for {twice!r}: each name must occur once")

"""The rows of all experiments, as the evidence for the verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from covmetric.experiments.claims.completeness import missing_rows
from covmetric.experiments.convergence_table import ConvergenceTable, Point
from covmetric.experiments.image_sets import SetRow
from covmetric.experiments.projection import ProjectionRow
from covmetric.experiments.rank_one import RankOnePoint
from covmetric.experiments.readings import ReadingRow
from covmetric.experiments.recognition import RecognitionRow
from covmetric.experiments.rows import RowFile

#: The class of the rows of each experiment.
ROW_TYPES: dict[str, type[Any]] = {
    "projection": ProjectionRow,
    "convergence": Point,
    "leml": RankOnePoint,
    "eth80": RecognitionRow,
    "brodatz": RecognitionRow,
    "eth80-sets": SetRow,
    "readings": ReadingRow,
}


@dataclass(frozen=True)
class Evidence:
    """The rows of all experiments.

    Attributes
    ----------
    projection : list of ProjectionRow
        The times of projections.
    convergence : ConvergenceTable
        The gaps of Dykstra's algorithm.
    leml : list of RankOnePoint
        The runs of LEML.
    brodatz, eth80 : list of RecognitionRow
        The accuracies on the two data sets.
    image_sets : list of SetRow
        The accuracies on image sets.
    readings : list of ReadingRow
        The accuracies in the readings of the paper.
    codes : dict from str to str
        The version of the code that computed the rows of each experiment.
    """

    projection: list[ProjectionRow]
    convergence: ConvergenceTable
    leml: list[RankOnePoint]
    brodatz: list[RecognitionRow]
    eth80: list[RecognitionRow]
    image_sets: list[SetRow]
    readings: list[ReadingRow]
    codes: dict[str, str]


def row_file(folder: Path, experiment: str) -> RowFile[Any]:
    """Return the file with the rows of an experiment.

    Parameters
    ----------
    folder : Path
        The folder of the results.
    experiment : str
        A key of `ROW_TYPES`.

    Returns
    -------
    RowFile

    Examples
    --------
    >>> row_file(Path("results"), "leml").path.name
    'leml.csv'
    """
    return RowFile(folder / f"{experiment}.csv", ROW_TYPES[experiment])


def read_evidence(folder: Path) -> Evidence:
    """Read the rows of all experiments, of whatever version of the code.

    Parameters
    ----------
    folder : Path
        The folder of the results.

    Returns
    -------
    Evidence

    Raises
    ------
    ValueError
        If a file is missing, was written by a version with other columns, or is incomplete because its experiment was
        stopped. The message names the command that completes it.

    Examples
    --------
    >>> try:
    ...     read_evidence(Path("nowhere"))
    ... except ValueError as error:
    ...     print(str(error)[:47])
    nowhere lacks the rows of projection, convergen
    """
    files = {name: row_file(folder, name) for name in ROW_TYPES}
    rows = {name: file.read(any_code=True) for name, file in files.items()}
    missing = [name for name in ROW_TYPES if not rows[name]]
    if missing:
        raise ValueError(
            f"{folder} lacks the rows of {', '.join(missing)}: run `covmetric reproduce {' '.join(missing)} --out "
            f"{folder}` first"
        )
    for name, file in files.items():
        lacking = missing_rows(name, rows[name])
        if lacking:
            raise ValueError(
                f"{file.path} is incomplete ({lacking}): run `covmetric reproduce {name} --out {folder}` first"
            )
    return Evidence(
        projection=rows["projection"],
        convergence=ConvergenceTable(rows["convergence"]),
        leml=rows["leml"],
        brodatz=rows["brodatz"],
        eth80=rows["eth80"],
        image_sets=rows["eth80-sets"],
        readings=rows["readings"],
        codes={name: ", ".join(file.codes()) for name, file in files.items()},
    )

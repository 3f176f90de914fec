"""The rows of all experiments, as the evidence for the verdicts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from covmetric.experiments.convergence import ORDERS
from covmetric.experiments.convergence_table import ConvergenceTable, Point
from covmetric.experiments.image_sets import SetRow
from covmetric.experiments.projection import ProjectionRow
from covmetric.experiments.protocols import PROTOCOLS
from covmetric.experiments.rank_one import RankOnePoint
from covmetric.experiments.reading_definitions import READINGS
from covmetric.experiments.readings import BRODATZ, ETH80, SLACK, ReadingRow
from covmetric.experiments.recognition import BALANCED, EYE, PHIS, SLACKS, RecognitionRow
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
    for name, incomplete in _incomplete(rows).items():
        raise ValueError(
            f"{files[name].path} is incomplete ({incomplete}): run `covmetric reproduce {name} --out {folder}` first"
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


def _incomplete(rows: Mapping[str, list[Any]]) -> dict[str, str]:
    """Say which rows are missing, for each experiment of which some are."""
    metrics = [("", EYE), *((BALANCED, slack) for slack in SLACKS)]
    splits = {
        name: [
            (protocol, phi, *metric)
            for protocol, (data_set, _) in PROTOCOLS.items()
            if data_set == name
            for phi in PHIS
            for metric in metrics
        ]
        for name in ("brodatz", "eth80")
    }
    splits["eth80"] += [
        (ETH80, phi, variant, SLACK) for phi in ("log", "relog") for variant in (BALANCED, "neighbour pairs")
    ]
    splits["eth80"].append((ETH80, "relog", "", EYE))
    required: dict[str, tuple[Iterable[Hashable], dict[Hashable, set[int]]]] = {
        name: (keys, _seeds(((row.protocol, row.phi, row.variant, row.W), row.seed) for row in rows[name]))
        for name, keys in splits.items()
    }
    problems = dict.fromkeys((row.n, row.lam) for row in rows["convergence"])
    required["convergence"] = (
        [(*problem, order) for problem in problems for order in ORDERS],
        _seeds(((row.n, row.lam, row.order), row.seed) for row in rows["convergence"]),
    )
    required["readings"] = (
        [
            (reading, protocol, phi, W)
            for reading in READINGS
            for protocol in (BRODATZ, ETH80)
            for phi in PHIS
            for W in (EYE, SLACK)
        ],
        _seeds(((row.reading, row.protocol, row.phi, row.W), row.seed) for row in rows["readings"]),
    )
    required["eth80-sets"] = ([np.inf], _seeds((row.lam, row.repeat) for row in rows["eth80-sets"]))
    found = {}
    for name, (keys, seeds) in required.items():
        everything = set().union(*seeds.values())
        lacking = [key for key in {**dict.fromkeys(keys), **seeds} if seeds.get(key, set()) != everything]
        if lacking:
            found[name] = (
                f"{lacking[0]} lacks {len(everything - seeds.get(lacking[0], set()))} of {len(everything)} splits"
            )
    if len({row.n for row in rows["projection"]}) < 2:
        found["projection"] = "there is only one size"
    return found


def _seeds(rows: Iterable[tuple[Hashable, int]]) -> dict[Hashable, set[int]]:
    """Return the seeds of each key."""
    seeds: dict[Hashable, set[int]] = {}
    for key, seed in rows:
        seeds.setdefault(key, set()).add(seed)
    return seeds

"""The recognition experiments in each reading of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from joblib import Parallel, delayed
from tqdm import tqdm

from covmetric._utils.validation import FloatArray
from covmetric.experiments.evaluation import evaluate, grid_text, grid_values
from covmetric.experiments.protocols import PROTOCOLS
from covmetric.experiments.reading_definitions import READINGS, load_filtered
from covmetric.experiments.recognition import EYE, LAMBDAS, PHIS
from covmetric.experiments.rows import RowFile, resume
from covmetric.learning.splits import Split

#: The protocols on which the claims are checked; both are those of the paper's text.
BRODATZ, ETH80 = "brodatz 3/1", "eth80 by image"
#: The slack with which W is learned.
SLACK = "is"


@dataclass(frozen=True)
class ReadingRow:
    """One Phi and one W in one reading on one split.

    Attributes
    ----------
    reading : str
        A key of `READINGS`.
    protocol : str
        A key of `PROTOCOLS`.
    seed : int
        The seed of the split, of the folds and of the pairs.
    phi : str
        The embedding.
    W : str
        "eye" for W = I, or the slack with which W was learned.
    lambdas : str
        The values of lambda to choose from, in descending order, separated by spaces; "" for W = I.
    lam : float
        The lambda that was chosen on the training part; inf for W = I.
    accuracy : float
        The accuracy of 3-NN on the test part.
    relative_gap : float
        The certified relative gap of the final solve; 0 for W = I.
    seconds : float
        The time to choose lambda, to learn W and to classify the test part.
    """

    reading: str
    protocol: str
    seed: int
    phi: str
    W: str
    lambdas: str
    lam: float
    accuracy: float
    relative_gap: float
    seconds: float


class _Run(NamedTuple):
    """The settings of a row."""

    reading: str
    protocol: str
    seed: int
    phi: str
    W: str
    lambdas: str


def readings(
    folder: Any = None,
    seeds: int = 5,
    names: Sequence[str] = tuple(READINGS),
    protocols: Sequence[str] = (BRODATZ, ETH80),
    lambdas: Sequence[float] = LAMBDAS,
    n_jobs: int | None = None,
    progress: bool = False,
    file: RowFile[ReadingRow] | None = None,
) -> list[ReadingRow]:
    """Compute the 3-NN accuracies of W = I and of the learned W in each reading.

    Parameters
    ----------
    folder : path or None, default=None
        A folder with the subfolders "brodatz" and "eth80". None means the folder in the environment variable
        COVMETRIC_DATA.
    seeds : int, default=5
        The number of splits.
    names : sequence of str
        Keys of `READINGS`; all of them by default.
    protocols : sequence of str, default=('brodatz 3/1', 'eth80 by image')
        Keys of `PROTOCOLS`.
    lambdas : sequence of float, default=(1e2, 1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-4)
        The values of lambda to choose from, as in `recognition`.
    n_jobs : int or None, default=None
        The number of processes that read images, and over which the readings and the splits are distributed. The
        accuracies do not depend on it.
    progress : bool, default=False
        Whether to show a progress bar.
    file : RowFile or None, default=None
        The file to which rows are written as soon as they are computed, and from which the experiment resumes.

    Returns
    -------
    list of ReadingRow
        The rows, ordered by reading, protocol, split, Phi and W.

    Raises
    ------
    ValueError
        If a reading or a protocol is unknown.
    """
    for what, given, available in (("reading", names, READINGS), ("protocol", protocols, PROTOCOLS)):
        for value in given:
            if value not in available:
                raise ValueError(f"{what} must be one of {', '.join(map(repr, available))}, got {value!r}")
    grid = grid_text(lambdas)
    runs = [
        _Run(name, protocol, seed, phi, W, "" if W == EYE else grid)
        for name in names
        for protocol in protocols
        for seed in range(seeds)
        for phi in PHIS
        for W in (EYE, SLACK)
    ]

    def compute(missing: Sequence[_Run]) -> Iterator[tuple[_Run, list[ReadingRow]]]:
        tasks: dict[tuple[str, str, int], list[_Run]] = {}
        for run in missing:
            tasks.setdefault((run.reading, run.protocol, run.seed), []).append(run)
        sources = {task: (PROTOCOLS[task[1]][0], READINGS[task[0]].filters) for task in tasks}
        data = {source: load_filtered(*source, folder, n_jobs) for source in dict.fromkeys(sources.values())}
        work = (
            delayed(_compute)(data[source].X, data[source].y, data[source].names, split, tasks[task])
            for task, source in sources.items()
            for split in [PROTOCOLS[task[1]][1](data[source], task[2])]
        )
        done = Parallel(n_jobs, return_as="generator_unordered")(work)
        for rows in tqdm(done, "readings", len(tasks), disable=not progress):
            yield from ((_run_of(row), [row]) for row in rows)

    return resume(file, runs, _run_of, compute)


def _run_of(row: ReadingRow) -> _Run:
    return _Run(row.reading, row.protocol, row.seed, row.phi, row.W, row.lambdas)


def _compute(X: FloatArray, y: Any, names: Sequence[str], split: Split, runs: Sequence[_Run]) -> list[ReadingRow]:
    """Compute rows of one reading on one split."""
    reading = READINGS[runs[0].reading]
    adapted = X if reading.adapt is None else reading.adapt(X, names, split.train)
    rows = []
    for run in runs:
        learner = None if run.W == EYE else replace(reading.learner, slack=run.W)
        outcome = evaluate(adapted, y, split, run.phi, learner, grid_values(run.lambdas), run.seed)
        rows.append(ReadingRow(*run, **asdict(outcome)))
    return rows

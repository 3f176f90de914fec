"""Section 5.2 of the paper: 3-NN with W = I and with learned W, for each Phi and slack, on Brodatz and ETH-80."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from joblib import Parallel, delayed
from tqdm import tqdm

from covmetric._utils.validation import FloatArray
from covmetric.constraints import NeighborPairs, QuantileBounds, RandomPairs
from covmetric.experiments.evaluation import Learner, evaluate, grid_text, grid_values, tuning_subset
from covmetric.experiments.protocols import LOADERS, PROTOCOLS, region_size
from covmetric.experiments.rows import RowFile, resume
from covmetric.learning.splits import Split

PHIS = ("id", "log", "sqrt", "chol")
SLACKS = ("is", "l2", "re")
#: The values of lambda to choose from; the paper does not give any.
LAMBDAS = (1e2, 1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-4)
#: The variant of the figure. Like all but "uniform pairs" and "neighbour pairs", it has as many similar as dissimilar
#: pairs. All variants divide squared distances by their median. Both are choices of ours, which the paper leaves open.
BALANCED = "balanced pairs"
#: The variant that differs from `BALANCED` only in the tolerance of the search, the default of `CovMetricCV`.
LOOSE_SEARCH = "search to 1e-3"
VARIANTS: dict[str, Learner] = {
    BALANCED: Learner(RandomPairs(100, balance=0.5), (0.05, 0.95)),
    "quantile bounds": Learner(RandomPairs(100, balance=0.5), QuantileBounds(0.05, 0.95)),
    "uniform pairs": Learner(RandomPairs(100, balance=None), (0.05, 0.95)),
    "neighbour pairs": Learner(NeighborPairs(), (0.05, 0.95)),
    LOOSE_SEARCH: Learner(RandomPairs(100, balance=0.5), (0.05, 0.95), search_tol=1e-3),
}
#: The Phi and the variants on the page of each data set. On Brodatz, neighbour pairs would be 170,000 pairs.
PAGES: dict[str, dict[str, Any]] = {
    "brodatz": {"variants": (BALANCED, "quantile bounds", "uniform pairs", LOOSE_SEARCH)},
    "eth80": {"phis": (*PHIS, "relog"), "variants": tuple(VARIANTS)},
}
#: W = I, in the column W of the rows.
EYE = "eye"


@dataclass(frozen=True)
class RecognitionRow:
    """One Phi and one W on one split.

    Attributes
    ----------
    protocol : str
        A key of `PROTOCOLS`.
    variant : str
        A key of `VARIANTS`, or "" for W = I.
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
    n_train, n_test : int
        The numbers of matrices in the two parts.
    n_tuning : int
        The number of training matrices that choose lambda; 0 for W = I.
    region : str
        The height and the width of the image regions, in pixels, for example "128 x 128".
    """

    protocol: str
    variant: str
    seed: int
    phi: str
    W: str
    lambdas: str
    lam: float
    accuracy: float
    relative_gap: float
    seconds: float
    n_train: int
    n_test: int
    n_tuning: int
    region: str


class _Run(NamedTuple):
    """The settings of a row."""

    protocol: str
    seed: int
    phi: str
    variant: str
    W: str
    lambdas: str


def recognition(
    protocols: Sequence[str],
    folder: Any = None,
    seeds: int = 5,
    phis: Sequence[str] = PHIS,
    slacks: Sequence[str] = SLACKS,
    variants: Sequence[str] = (BALANCED,),
    lambdas: Sequence[float] = LAMBDAS,
    n_jobs: int | None = None,
    progress: bool = False,
    file: RowFile[RecognitionRow] | None = None,
) -> list[RecognitionRow]:
    """Compute the 3-NN accuracies of W = I and of the learned W.

    Parameters
    ----------
    protocols : sequence of str
        Keys of `PROTOCOLS`, all of the same data set.
    folder : path or None, default=None
        The folder of the images, as in `load_brodatz` and `load_eth80`.
    seeds : int, default=5
        The number of splits.
    phis : sequence of str, default=('id', 'log', 'sqrt', 'chol')
        The embeddings.
    slacks : sequence of str, default=('is', 'l2', 're')
        The slack divergences. The variant "search to 1e-3" uses the first one only.
    variants : sequence of str, default=('balanced pairs',)
        Keys of `VARIANTS`.
    lambdas : sequence of float, default=(1e2, 1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-4)
        The values of lambda to choose from.
    n_jobs : int or None, default=None
        The number of processes that read images, and over which the splits and the embeddings are distributed. The
        accuracies do not depend on it.
    progress : bool, default=False
        Whether to show a progress bar.
    file : RowFile or None, default=None
        The file to which rows are written as soon as they are computed, and from which the experiment resumes.

    Returns
    -------
    list of RecognitionRow
        The rows, ordered by protocol, split, Phi, variant and slack.

    Raises
    ------
    ValueError
        If a protocol or a variant is unknown, or if the protocols use different data sets.
    """
    for name, given, known in (("protocol", protocols, PROTOCOLS), ("variant", variants, VARIANTS)):
        for value in given:
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
    data_sets = {PROTOCOLS[protocol][0] for protocol in protocols}
    if len(data_sets) != 1:
        raise ValueError(f"protocols must use one data set, got {', '.join(map(repr, protocols))}")
    grid = grid_text(lambdas)
    metrics = [("", EYE), *((variant, slack) for variant in variants for slack in _slacks(variant, slacks))]
    runs = [
        _Run(protocol, seed, phi, variant, W, grid if variant else "")
        for protocol in protocols
        for seed in range(seeds)
        for phi in phis
        for variant, W in metrics
    ]

    def compute(missing: Sequence[_Run]) -> Iterator[tuple[_Run, list[RecognitionRow]]]:
        if not missing:
            return
        (data_set,) = data_sets
        data = LOADERS[data_set](folder, n_jobs=n_jobs)
        region = region_size(data)
        # A task is one split and one Phi, so that resuming repeats little, and all processes have work.
        tasks: dict[tuple[str, int, str], list[_Run]] = {}
        for run in missing:
            tasks.setdefault((run.protocol, run.seed, run.phi), []).append(run)
        work = (
            delayed(_compute)(data.X, data.y, PROTOCOLS[protocol][1](data, seed), task, region)
            for (protocol, seed, _), task in tasks.items()
        )
        done = Parallel(n_jobs, return_as="generator_unordered")(work)
        for rows in tqdm(done, "recognition", len(tasks), disable=not progress):
            yield from ((_run_of(row), [row]) for row in rows)

    return resume(file, runs, _run_of, compute)


def _slacks(variant: str, slacks: Sequence[str]) -> Sequence[str]:
    """Return the slacks of a variant: one is enough to compare two tolerances of the search."""
    return slacks[:1] if variant == LOOSE_SEARCH else slacks


def _run_of(row: RecognitionRow) -> _Run:
    return _Run(row.protocol, row.seed, row.phi, row.variant, row.W, row.lambdas)


def _compute(X: FloatArray, y: Any, split: Split, runs: Sequence[_Run], region: str) -> list[RecognitionRow]:
    """Compute rows of one split."""
    rows = []
    for run in runs:
        learner = replace(VARIANTS[run.variant], slack=run.W) if run.variant else None
        outcome = evaluate(X, y, split, run.phi, learner, grid_values(run.lambdas), run.seed)
        rows.append(
            RecognitionRow(
                run.protocol,
                run.variant,
                run.seed,
                run.phi,
                run.W,
                run.lambdas,
                **asdict(outcome),
                n_train=len(split.train),
                n_test=len(split.test),
                n_tuning=0 if learner is None else len(tuning_subset(split, run.seed)),
                region=region,
            )
        )
    return rows

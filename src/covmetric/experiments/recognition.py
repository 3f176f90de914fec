"""Section 4.2 of the paper: 3-NN with W = I and with learned W, for each Phi and slack, on Brodatz and ETH-80."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch
from tqdm import tqdm

from covmetric.constraints import QuantileBounds, RandomPairs
from covmetric.datasets import load_brodatz, load_eth80
from covmetric.estimators import CovMetric, CovMetricClassifier, CovMetricCV
from covmetric.experiments.estimates import Estimate, mean_and_standard_error
from covmetric.learning.splits import Split

PHIS = ("id", "log", "sqrt", "chol")
SLACKS = ("is", "l2", "re")
LAMBDAS = (1e-1, 1e-2, 1e-3, 1e-4)
#: The paper's pairs and bounds; the same pairs with quantiles as bounds; uniform pairs with the paper's bounds.
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {"pairs": RandomPairs(100, balance=0.5), "bounds": (0.05, 0.95)},
    "quantile bounds": {"pairs": RandomPairs(100, balance=0.5), "bounds": QuantileBounds(0.05, 0.95)},
    "uniform pairs": {"pairs": RandomPairs(100, balance=None), "bounds": (0.05, 0.95)},
}
_REG = 1e-9
# The number of training examples used to choose lambda; the cost of the neighbours grows with its square.
_TUNING_EXAMPLES = 4000


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
        The seed of the split and of the pairs.
    phi : str
        The embedding.
    W : str
        "eye" for W = I, or the slack with which W was learned.
    lam : float
        The lambda that was chosen on the training part; inf for W = I.
    accuracy : float
        The accuracy of 3-NN on the test part.
    relative_gap : float
        The certified relative gap of the final solve.
    seconds : float
        The time to choose lambda and to learn W.
    """

    protocol: str
    variant: str
    seed: int
    phi: str
    W: str
    lam: float
    accuracy: float
    relative_gap: float
    seconds: float


@dataclass(frozen=True)
class RecognitionSummary:
    """One Phi and one W over all splits.

    Attributes
    ----------
    protocol, variant, phi, W : str
        As in `RecognitionRow`.
    accuracy : Estimate
        The accuracy of 3-NN in percent.
    lambdas : tuple of float
        The lambda of each split.
    """

    protocol: str
    variant: str
    phi: str
    W: str
    accuracy: Estimate
    lambdas: tuple[float, ...]


def brodatz_splits(data: Bunch, seed: int, n_train: int) -> Split:
    """Draw quarters of each texture for training.

    Parameters
    ----------
    data : Bunch
        The result of `load_brodatz`.
    seed : int
        The seed of the draw.
    n_train : int
        The number of quarters, of four, for training.

    Returns
    -------
    Split
    """
    rng = np.random.default_rng(seed)
    train = np.zeros(len(data.y), dtype=bool)
    for texture in np.unique(data.y):
        train |= (data.y == texture) & np.isin(data.groups, rng.permutation(4)[:n_train])
    chosen = np.flatnonzero(train)
    return Split(chosen, np.flatnonzero(~train), data.groups[chosen])


def eth80_by_image(data: Bunch, seed: int) -> Split:
    """Draw 20 images of each object for training, as in the paper; both parts then hold views of the same objects.

    Parameters
    ----------
    data : Bunch
        The result of `load_eth80`.
    seed : int
        The seed of the draw.

    Returns
    -------
    Split
    """
    rng = np.random.default_rng(seed)
    train = np.concatenate([rng.permutation(np.flatnonzero(data.groups == g))[:20] for g in np.unique(data.groups)])
    return Split(np.sort(train), np.setdiff1d(np.arange(len(data.y)), train))


def eth80_by_object(data: Bunch, seed: int) -> Split:
    """Draw five objects of each class for training, with all their images.

    Parameters
    ----------
    data : Bunch
        The result of `load_eth80`.
    seed : int
        The seed of the draw.

    Returns
    -------
    Split
    """
    rng = np.random.default_rng(seed)
    objects: list[Any] = []
    for c in np.unique(data.y):
        objects += rng.permutation(np.unique(data.groups[data.y == c]))[:5].tolist()
    train = np.flatnonzero(np.isin(data.groups, objects))
    return Split(train, np.flatnonzero(~np.isin(data.groups, objects)), data.groups[train])


#: The data set of each protocol, and the function that splits it.
PROTOCOLS: dict[str, tuple[str, Callable[[Bunch, int], Split]]] = {
    "brodatz 3/1": ("brodatz", lambda data, seed: brodatz_splits(data, seed, 3)),
    "brodatz 2/2": ("brodatz", lambda data, seed: brodatz_splits(data, seed, 2)),
    "eth80 by image": ("eth80", eth80_by_image),
    "eth80 by object": ("eth80", eth80_by_object),
}
_LOADERS: dict[str, Callable[..., Bunch]] = {"brodatz": load_brodatz, "eth80": load_eth80}


def recognition(
    protocols: Sequence[str],
    folder: Any = None,
    seeds: int = 5,
    phis: Sequence[str] = PHIS,
    slacks: Sequence[str] = SLACKS,
    variants: Sequence[str] = ("paper",),
    n_jobs: int | None = None,
    progress: bool = False,
) -> Iterator[RecognitionRow]:
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
        The slack divergences.
    variants : sequence of str, default=('paper',)
        Keys of `VARIANTS`.
    n_jobs : int or None, default=None
        The number of processes that read images and choose lambda.
    progress : bool, default=False
        Whether to show a progress bar.

    Yields
    ------
    RecognitionRow
        The rows in the order in which they are computed.

    Raises
    ------
    ValueError
        If a protocol is unknown.
    """
    for protocol in protocols:
        if protocol not in PROTOCOLS:
            raise ValueError(f"protocol must be one of {', '.join(map(repr, PROTOCOLS))}, got {protocol!r}")
    names = {PROTOCOLS[protocol][0] for protocol in protocols}
    loaded = {name: _LOADERS[name](folder, n_jobs=n_jobs) for name in names}
    work = [(protocol, seed, phi) for protocol in protocols for seed in range(seeds) for phi in phis]
    for protocol, seed, phi in tqdm(work, "recognition", disable=not progress):
        name, make = PROTOCOLS[protocol]
        data = loaded[name]
        split = make(data, seed)
        yield _eye(protocol, data, split, seed, phi)
        for variant in variants:
            for slack in slacks:
                yield _learned(protocol, variant, data, split, seed, phi, slack, n_jobs)


def _eye(protocol: str, data: Bunch, split: Split, seed: int, phi: str) -> RecognitionRow:
    accuracy, _ = _score(CovMetric(phi, lam=np.inf, reg=_REG), data, split)
    return RecognitionRow(protocol, "", seed, phi, "eye", np.inf, accuracy, 0.0, 0.0)


def _learned(
    protocol: str, variant: str, data: Bunch, split: Split, seed: int, phi: str, slack: str, n_jobs: int | None
) -> RecognitionRow:
    started = time.perf_counter()
    settings = {"slack": slack, "reg": _REG, "random_state": seed, **VARIANTS[variant]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        lam = _chosen_lambda(CovMetricCV(phi, lambdas=LAMBDAS, n_jobs=n_jobs, **settings), data, split, seed)
        accuracy, result = _score(CovMetric(phi, lam=lam, **settings), data, split)
    gap, seconds = result.certificate.relative_gap, time.perf_counter() - started
    return RecognitionRow(protocol, variant, seed, phi, slack, lam, accuracy, gap, seconds)


def _chosen_lambda(search: CovMetricCV, data: Bunch, split: Split, seed: int) -> float:
    """Return the lambda with the best cross-validated accuracy on the training part; W = I is not a candidate."""
    rng = np.random.default_rng(seed)
    subset = np.sort(rng.permutation(len(split.train))[:_TUNING_EXAMPLES])
    rows = split.train[subset]
    search.fit(data.X[rows], data.y[rows], groups=None if split.groups is None else split.groups[subset])
    scores = search.cv_results_["mean_test_score"]
    candidates = [(score, params["lam"]) for score, params in zip(scores, search.cv_results_["params"], strict=True)]
    return float(max((score, lam) for score, lam in candidates if lam != np.inf)[1])


def _score(learner: CovMetric, data: Bunch, split: Split) -> tuple[float, Any]:
    classifier = CovMetricClassifier(learner).fit(data.X[split.train], data.y[split.train])
    predicted = classifier.predict(data.X[split.test])
    return float(np.mean(predicted == data.y[split.test])), classifier.learner_.result_


def summarize_recognition(rows: Sequence[RecognitionRow]) -> list[RecognitionSummary]:
    """Average the accuracies over the splits.

    Parameters
    ----------
    rows : sequence of RecognitionRow
        The result of `recognition`.

    Returns
    -------
    list of RecognitionSummary
        One entry per protocol, variant, Phi and W.

    Examples
    --------
    >>> rows = [RecognitionRow("p", "paper", seed, "log", "is", 1e-2, 0.9 + 0.02 * seed, 0.0, 1.0) for seed in (0, 1)]
    >>> summarize_recognition(rows)[0].accuracy.text()
    '91.0 ± 1.0'
    """
    groups: dict[tuple[str, str, str, str], list[RecognitionRow]] = {}
    for row in rows:
        groups.setdefault((row.protocol, row.variant, row.phi, row.W), []).append(row)
    return [
        RecognitionSummary(
            *key, mean_and_standard_error([100.0 * row.accuracy for row in group]), tuple(row.lam for row in group)
        )
        for key, group in groups.items()
    ]

"""The paper's section 4.2: 3-NN with W = I and with learned W, for each Phi and each slack, on Brodatz and ETH-80."""

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

from covmetric._utils.validation import FloatArray
from covmetric.constraints import QuantileBounds, RandomPairs
from covmetric.datasets import load_brodatz, load_eth80
from covmetric.estimators import CovMetric, CovMetricClassifier, CovMetricCV
from covmetric.learning.splits import Split

PHIS = ("id", "log", "sqrt", "chol")
SLACKS = ("is", "l2", "re")
LAMBDAS = (1e-1, 1e-2, 1e-3, 1e-4)
#: The paper's pairs and bounds; its bounds replaced by quantiles; its balanced pairs replaced by uniform ones.
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {"pairs": RandomPairs(100, balance=0.5), "bounds": (0.05, 0.95)},
    "quantile bounds": {"pairs": RandomPairs(100, balance=0.5), "bounds": QuantileBounds(0.05, 0.95)},
    "uniform pairs": {"pairs": RandomPairs(100, balance=None), "bounds": (0.05, 0.95)},
}
_REG = 1e-9
# Lambda is chosen on at most so many training examples; neighbours cost the square of their number.
_CHOOSE_ON = 4000


@dataclass(frozen=True)
class RecognitionRow:
    """One Phi and one W on one split.

    Attributes
    ----------
    protocol, variant : str
    seed : int
    phi : str
    W : str
        "eye", or the slack that W was learned with.
    lam : float
        Chosen on the training part; inf for "eye".
    accuracy : float
        Of 3-NN on the test part.
    relative_gap : float
        What is proven of the final solve.
    seconds : float
        To choose lambda and to learn.
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


def brodatz_splits(data: Bunch, seed: int, n_train: int) -> Split:
    """`n_train` quarters of each texture, at random, for training, and the others."""
    rng = np.random.default_rng(seed)
    train = np.zeros(len(data.y), dtype=bool)
    for texture in np.unique(data.y):
        train |= (data.y == texture) & np.isin(data.groups, rng.permutation(4)[:n_train])
    chosen = np.flatnonzero(train)
    return Split(chosen, np.flatnonzero(~train), data.groups[chosen])


def eth80_by_image(data: Bunch, seed: int) -> Split:
    """20 images of each object, at random, for training, as in the paper: views of one object are on both sides."""
    rng = np.random.default_rng(seed)
    train = np.concatenate([rng.permutation(np.flatnonzero(data.groups == g))[:20] for g in np.unique(data.groups)])
    return Split(np.sort(train), np.setdiff1d(np.arange(len(data.y)), train))


def eth80_by_object(data: Bunch, seed: int) -> Split:
    """Half of the objects of each class, at random, with all their images, for training."""
    rng = np.random.default_rng(seed)
    chosen: list[Any] = []
    for c in np.unique(data.y):
        chosen += rng.permutation(np.unique(data.groups[data.y == c]))[:5].tolist()
    train = np.flatnonzero(np.isin(data.groups, chosen))
    return Split(train, np.flatnonzero(~np.isin(data.groups, chosen)), data.groups[train])


#: Each protocol: what loads the data from a folder, and what splits it.
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
    """3-NN accuracies for W = I and the learned W, as they are ready.

    Parameters
    ----------
    protocols : sequence of str
        Of `PROTOCOLS`; all of one data set.
    folder : path or None
        As in `load_brodatz` and `load_eth80`.
    seeds : int
        Splits.
    phis, slacks : sequences of str
    variants : sequence of str
        Of `VARIANTS`.
    n_jobs : int or None
        For reading, and for choosing lambda.
    progress : bool
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
    """The lambda with the best cross-validated accuracy on the training part; W = I does not compete."""
    rng = np.random.default_rng(seed)
    some = np.sort(rng.permutation(len(split.train))[:_CHOOSE_ON])
    rows = split.train[some]
    search.fit(data.X[rows], data.y[rows], groups=None if split.groups is None else split.groups[some])
    scores = search.cv_results_["mean_test_score"]
    found = [(score, params["lam"]) for score, params in zip(scores, search.cv_results_["params"], strict=True)]
    return float(max(one for one in found if one[1] != np.inf)[1])


def _score(learner: CovMetric, data: Bunch, split: Split) -> tuple[float, Any]:
    classifier = CovMetricClassifier(learner).fit(data.X[split.train], data.y[split.train])
    predicted = classifier.predict(data.X[split.test])
    return float(np.mean(predicted == data.y[split.test])), classifier.learner_.result_


def means(rows: Sequence[RecognitionRow]) -> dict[tuple[str, str, str, str], tuple[float, float, int]]:
    """Mean and standard error of the accuracies in percent, and their number, by protocol, variant, phi and W."""
    keys = dict.fromkeys((row.protocol, row.variant, row.phi, row.W) for row in rows)
    found = {}
    for key in keys:
        values: FloatArray = 100.0 * np.array(
            [r.accuracy for r in rows if (r.protocol, r.variant, r.phi, r.W) == key], dtype=np.float64
        )
        error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
        found[key] = float(values.mean()), error, len(values)
    return found

"""The accuracy of every combination of Phi, prior, lambda and decision rule, for docs/measurements/choices.md.

Nothing is chosen by cross-validation: each combination is fitted on the training part and scored on the test part. The
series are those on which the defaults were chosen; on the gestures, the test session differs from the training session.
Needs the data folder that COVMETRIC_DATA names, except for the gestures.

    python -m benchmarks.choices [NAME ...] [--splits N] [--jobs N]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import defaultdict

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from benchmarks import problems
from benchmarks.recognition import DATA, REG
from covmetric import CovMetric
from covmetric.datasets import load_emg
from covmetric.experiments.estimates import mean_and_standard_error
from covmetric.learning.scoring import Scoring

GESTURES = "gestures"
NAMES = ("NATOPS", "ERing", "Epilepsy", GESTURES)
METRICS = [
    *((phi, "identity", lam) for phi in ("relog", "log", "chol", "tangent-pca") for lam in (np.inf, 1e-1, 1e-2)),
    *(("tangent-pca", prior, lam) for prior in ("within", "gmml") for lam in (np.inf, 1e-1)),
]
RULES = {
    "3-NN": Scoring("neighbors"),
    "mean": Scoring("mean"),
    "logistic": Scoring("logistic"),
    "svm": Scoring("svm"),
    "svm, C=10": Scoring("svm", C=10.0),
}


def load_split(name: str, seed: int):
    """Return matrices, classes, groups, and the indices of the training part and the test part."""
    if name != GESTURES:
        return DATA[name][0](seed)
    data = load_emg()
    mine = data.person == np.unique(data.person)[seed]
    return data.X, data.y, data.groups, *(np.flatnonzero(mine & (data.session == session)) for session in (1, 2))


def one_split(name: str, seed: int) -> dict[tuple, float]:
    """Return the accuracy of each metric with each rule, in percent."""
    X, y, groups, train, test = load_split(name, seed)
    codes = np.unique(y, return_inverse=True)[1]
    accuracies = {}
    for phi, prior, lam in METRICS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            metric = CovMetric(phi, prior=prior, lam=lam, reg=REG, random_state=seed)
            metric.fit(X[train], codes[train], groups=None if groups is None else groups[train])
        references, queries = metric.transform(X[train]), metric.transform(X[test])
        for rule, scoring in RULES.items():
            predicted = scoring.create(codes.max() + 1).fit(references, codes[train]).predict(queries)
            accuracies[phi, prior, lam, rule] = 100.0 * float(np.mean(predicted == codes[test]))
    return accuracies


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Score all combinations of Phi, prior, lambda and rule.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"data sets (default: {', '.join(NAMES)})")
    parser.add_argument("--splits", type=int, default=8, help="number of splits of each series (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (default: %(default)s)")
    options = parser.parse_args(arguments)
    names = options.names or list(NAMES)
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        parser.error(f"unknown data set {unknown[0]!r}; the data sets are {', '.join(NAMES)}")
    if set(names) != {GESTURES} and not problems.available():
        raise SystemExit("no real data: set COVMETRIC_DATA to the folder")
    tasks = [(name, seed) for name in names for seed in range(2 if name == GESTURES else options.splits)]
    work = Parallel(options.jobs, return_as="generator")(delayed(one_split)(*task) for task in tasks)
    results = defaultdict(list)
    for (name, _), accuracies in zip(tasks, tqdm(work, "splits", len(tasks)), strict=True):
        results[name].append(accuracies)
    for name in names:
        unit = "people" if name == GESTURES else "splits"
        print(f"\n{name}, {len(results[name])} {unit}: accuracy in percent\n")
        print(f"| Phi | prior | lambda | {' | '.join(RULES)} |\n|---|---|---|{'---|' * len(RULES)}")
        for phi, prior, lam in METRICS:
            cells = [
                mean_and_standard_error([split[phi, prior, lam, rule] for split in results[name]]).text()
                for rule in RULES
            ]
            print(f"| {phi} | {prior} | {lam:g} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(sys.argv[1:])

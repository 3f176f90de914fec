"""The accuracy on real data of W = I, of the paper's settings, of our defaults and of CovMetricCV.

Needs the data folder that COVMETRIC_DATA names. The defaults were chosen on NATOPS, ERing and Epilepsy; the other data
sets were evaluated once, afterwards.

    python -m benchmarks.recognition [NAME ...] [--splits N] [--jobs N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit
from tqdm import tqdm

from benchmarks import problems
from covmetric import PAPER_SETTINGS, CovMetric, CovMetricClassifier, CovMetricCV
from covmetric.experiments.estimates import mean_and_standard_error

REG = 1e-6
RULES = ("neighbors", "mean")


def stratified(X, y, train: float, seed: int):
    return next(StratifiedShuffleSplit(1, train_size=train, random_state=seed).split(X, y))


def from_series(name: str, train: float):
    def split(seed: int):
        X, y = problems.series(name)
        return X, y, None, *stratified(X, y, train, seed)

    return split


def ssvep(seed: int):
    """Return a split that tests on one recording of a subject; the seed selects the subject and the recording."""
    X, y, subject, record = problems.ssvep()
    rows = [(s, r) for s in np.unique(subject) for r in np.unique(record[subject == s])]
    rows = [(s, r) for s, r in rows if len(np.unique(record[subject == s])) > 1]
    s, r = rows[seed % len(rows)]
    train, test = np.flatnonzero((subject == s) & (record != r)), np.flatnonzero(record == r)
    groups = record if len(np.unique(record[train])) > 1 else None
    return X, y, groups, train, test


def brodatz(seed: int):
    """Return a split with three quarters of each texture for training and one for testing."""
    X, y, quarters = problems.brodatz_quarters(10)
    return X, y, quarters, np.flatnonzero(quarters != seed % 4), np.flatnonzero(quarters == seed % 4)


def eth80_by_image(seed: int):
    """Return a split with half of all images for training, as in the paper; both parts show the same objects."""
    X, y, _ = problems.eth80_images(slice(None))
    return X, y, None, *stratified(X, y, 0.5, seed)


def eth80_by_object(seed: int):
    X, y, objects = problems.eth80_images(slice(None))
    train, test = next(GroupShuffleSplit(1, train_size=0.5, random_state=seed).split(X, y, objects))
    return X, y, objects, train, test


DATA: dict[str, tuple[Callable, int]] = {
    "NATOPS": (from_series("NATOPS", 0.5), 8),
    "ERing": (from_series("ERing", 1 / 3), 8),
    "Epilepsy": (from_series("Epilepsy", 0.5), 8),
    "JapaneseVowels": (from_series("JapaneseVowels", 0.42), 8),
    "SSVEP": (ssvep, 27),
    "Brodatz": (brodatz, 4),
    "ETH-80 by image": (eth80_by_image, 5),
    "ETH-80 by object": (eth80_by_object, 5),
}


def methods(seed: int) -> dict[str, object]:
    """Return the learners; the paper does not give lambda, so that CovMetricCV chooses it on the training part."""
    paper = {key: value for key, value in PAPER_SETTINGS.items() if key != "solver"}
    return {
        "W = I, log": CovMetric("log", lam=np.inf, reg=REG),
        "best W = I": CovMetricCV(lambdas=[], reg=REG, random_state=seed),
        "paper, log": CovMetricCV("log", **paper, reg=REG, random_state=seed),
        "CovMetric()": CovMetric(reg=REG, random_state=seed),
        "CovMetricCV()": CovMetricCV(reg=REG, random_state=seed),
    }


def one_split(name: str, seed: int) -> list[dict[str, object]]:
    """Return the accuracies of all methods with both rules on one split."""
    X, y, groups, train, test = DATA[name][0](seed)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        for method, learner in methods(seed).items():
            for rule in RULES:
                searched = isinstance(learner, CovMetricCV)
                if searched:
                    learner.set_params(rule=rule)
                given = {"groups": groups[train]} if searched and groups is not None else {}
                started = time.perf_counter()
                fitted = CovMetricClassifier(learner, rule=rule).fit(X[train], y[train], **given)
                seconds = time.perf_counter() - started
                best = fitted.learner_.best_params_ if searched else {}
                choice = f"{best['phi']} {best['lam']:g}" if best else ""
                accuracy = fitted.score(X[test], y[test])
                rows.append(
                    {"data": name, "seed": seed, "method": method, "rule": rule, "accuracy": accuracy,
                     "seconds": seconds, "choice": choice}
                )  # fmt: skip
    return rows


def print_table(rows: list[dict], names: list[str]) -> None:
    for name in names:
        splits = 1 + max(row["seed"] for row in rows if row["data"] == name)
        print(f"\n{name}, {splits} splits: accuracy in percent, mean and standard error")
        print(f"{'':>15} {'3-NN':>12} {'class means':>13} {'fit, s':>8}  chosen for 3-NN (times): Phi lambda")
        for method in methods(0):
            cells, chosen, seconds = [], Counter(), 0.0
            for rule in RULES:
                selected = [r for r in rows if (r["data"], r["method"], r["rule"]) == (name, method, rule)]
                cells.append(mean_and_standard_error([100.0 * r["accuracy"] for r in selected]).text())
                if rule == "neighbors":
                    chosen.update(r["choice"] for r in selected if r["choice"])
                    seconds = float(np.mean([r["seconds"] for r in selected]))
            words = ", ".join(f"{choice} ({count})" for choice, count in chosen.most_common(4))
            print(f"{method:>15} {cells[0]:>12} {cells[1]:>13} {seconds:>8.2f}  {words}")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Compare fixed and learned metrics on real data.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"data sets: {', '.join(map(repr, DATA))} (default: all)"
    )
    parser.add_argument("--splits", type=int, help="largest number of splits per data set (default: all)")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (default: %(default)s)")
    parser.add_argument("--json", help="write all accuracies to this file")
    options = parser.parse_args(arguments)
    if not problems.available():
        raise SystemExit("no real data: set COVMETRIC_DATA to the folder")
    names = options.names or list(DATA)
    unknown = [name for name in names if name not in DATA]
    if unknown:
        parser.error(f"unknown data set {unknown[0]!r}; the data sets are {', '.join(map(repr, DATA))}")
    tasks = [(name, seed) for name in names for seed in range(min(options.splits or 99, DATA[name][1]))]
    work = Parallel(options.jobs, return_as="generator")(delayed(one_split)(*task) for task in tasks)
    rows = [row for part in tqdm(work, "splits", len(tasks)) for row in part]
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file)
    print_table(rows, names)


if __name__ == "__main__":
    main(sys.argv[1:])

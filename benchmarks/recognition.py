"""The accuracy on real data of fixed metrics, of pyRiemann's classifiers, of GMML and of our estimators.

Needs the data folder that COVMETRIC_DATA names. The defaults were chosen on NATOPS, ERing and Epilepsy only. All rivals
are tuned on the same five folds of the training part, by groups if there are any. Differences are paired by split.

    python -m benchmarks.recognition [NAME ...] [--splits N] [--methods METHOD ...] [--jobs N] [--json FILE]

With --json, the rows of each split are written when it ends. Rows that the file has already are not measured again, so
that a run can be stopped and continued, and its parts can be run one by one. All rows must be of one state of the code.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import Bunch
from tqdm import tqdm

from benchmarks import problems
from covmetric import CovMetric, CovMetricClassifier, CovMetricCV
from covmetric.experiments import protocols
from covmetric.experiments.estimates import mean_and_standard_error, paired_difference
from covmetric.experiments.methods import Training, available_methods
from covmetric.learning.splits import make_splits

REG = 1e-6
#: The methods of `covmetric compare` that are the rivals, in the order of the table.
RIVALS = ("mdm", "fgmdm", "tangent-logreg", "tangent-svm", "tangent-lda", "peer:gmml")
#: pyRiemann's methods, the best of which "auto" is compared with.
PYRIEMANN = ("mdm", "fgmdm", "tangent-logreg", "tangent-svm")
OURS = ("best fixed 3-NN", "CovMetric() 3-NN", "CovMetricCV() 3-NN", "rule='auto'")
FOLDS = 5


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
    """Return a split with five of the ten objects of each class for training."""
    X, y, objects = problems.eth80_images(slice(None))
    split = protocols.eth80_by_object(Bunch(X=X, y=y, groups=objects), seed)
    return X, y, objects, split.train, split.test


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


def ours(name: str, seed: int):
    """Return one of our classifiers."""
    learners = {
        "best fixed 3-NN": CovMetricCV(lambdas=[], reg=REG, random_state=seed, cv=FOLDS),
        "CovMetric() 3-NN": CovMetric(reg=REG, random_state=seed),
        "CovMetricCV() 3-NN": CovMetricCV(reg=REG, random_state=seed),
    }
    if name in learners:
        return CovMetricClassifier(learners[name])
    return CovMetricClassifier(rule="auto", random_state=seed)


def one_split(name: str, seed: int, methods=(*OURS, *RIVALS)) -> list[dict[str, object]]:
    """Return the accuracy, the log loss and the seconds of the methods on one split."""
    X, y, groups, train, test = DATA[name][0](seed)
    codes = np.unique(y, return_inverse=True)[1]
    given = None if groups is None else groups[train]
    folds = [(fold.train, fold.test) for fold in make_splits(FOLDS, X[train], codes[train], given, seed)]
    regularised = X + REG * np.trace(X, axis1=1, axis2=2)[:, None, None] / X.shape[1] * np.eye(X.shape[1])
    rows = []
    for method in methods:
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")
            searched = method in OURS and method != "CovMetric() 3-NN"
            # Singular matrices stop a search for 'auto', which has no reg, and pyRiemann's methods.
            data = X if method in OURS[:3] else regularised
            if method in OURS:
                classifier = ours(method, seed)
            else:
                classifier = available_methods()[method].make(Training(0.0, seed, lambda: folds, folder))
            started = time.perf_counter()
            try:
                classifier.fit(data[train], codes[train], **({"groups": given} if method in OURS else {}))
            except ValueError as error:
                if method in OURS:
                    raise
                rows.append({"data": name, "seed": seed, "method": method, "failure": str(error).splitlines()[-1]})
                continue
            seconds = time.perf_counter() - started
            row = {"data": name, "seed": seed, "method": method, "seconds": seconds}
            row["accuracy"] = float(np.mean(classifier.predict(data[test]) == codes[test]))
            if method in ("rule='auto'", "tangent-logreg"):
                probabilities = classifier.predict_proba(data[test])
                row["log loss"] = float(log_loss(codes[test], probabilities, labels=classifier.classes_))
            if searched:
                best = classifier.learner_.best_params_
                phi = getattr(best["phi"], "name", best["phi"])
                row["choice"] = " ".join([f"{phi} {best['lam']:g}", rule_text(classifier.rule_)])
        rows.append(row)
    return rows


def rule_text(rule: dict) -> str:
    """Return the decision rule as text; combined rules with their weights."""
    if "rules" not in rule:
        return " ".join(map(str, rule.values()))
    parts = [{**one, "weight": f"{one['weight']:.2f}"} for one in rule["rules"]]
    return "(" + " + ".join(" ".join(map(str, part.values())) for part in parts) + ")"


def values(rows: list[dict], name: str, method: str, key: str = "accuracy") -> dict[int, float]:
    """Return the values of a method on a data set, by split."""
    unit = 100.0 if key == "accuracy" else 1.0
    return {r["seed"]: unit * r[key] for r in rows if (r["data"], r["method"]) == (name, method) and key in r}


def print_table(rows: list[dict], names: list[str]) -> None:
    for name in names:
        auto = values(rows, name, "rule='auto'")
        print(f"\n{name}, {len(auto)} splits: accuracy in percent, and rule='auto' minus the method, paired by split")
        print(f"{'':>20} {'accuracy':>12} {'auto minus it':>14} {'log loss':>14} {'fit, s':>8}")
        for method in (*OURS, *RIVALS):
            mine, losses = values(rows, name, method), values(rows, name, method, "log loss")
            if not mine:
                failures = [r["failure"] for r in rows if (r["data"], r["method"]) == (name, method)]
                if failures:
                    print(f"{method:>20} fails: {failures[0]}")
                continue
            seconds = float(np.mean(list(values(rows, name, method, "seconds").values())))
            difference = "" if method == "rule='auto'" else paired_difference(auto, mine).text(sign=True)
            loss = mean_and_standard_error(list(losses.values())).text(3) if losses else ""
            accuracy = mean_and_standard_error(list(mine.values())).text()
            print(f"{method:>20} {accuracy:>12} {difference:>14} {loss:>14} {seconds:>8.2f}")
        best = max(PYRIEMANN, key=lambda method: np.mean(list(values(rows, name, method).values()) or [-np.inf]))
        if values(rows, name, best):
            difference = paired_difference(auto, values(rows, name, best)).text(sign=True)
            print(f"  rule='auto' minus the best of pyRiemann in the mean ({best}): {difference}")
        choices = [r["choice"] for r in rows if r["data"] == name and r["method"] == "rule='auto'"]
        print(f"  chosen: {', '.join(choices)}")


def missing_tasks(rows: list[dict], names: list[str], splits: int | None, methods) -> list[tuple[str, int, list[str]]]:
    """Return the data set, the split and the methods of each task whose rows are missing."""
    done = {(row["data"], row["seed"], row["method"]) for row in rows}
    tasks = []
    for name in names:
        for seed in range(min(splits or 99, DATA[name][1])):
            missing = [method for method in methods if (name, seed, method) not in done]
            if missing:
                tasks.append((name, seed, missing))
    return tasks


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Compare fixed and learned metrics on real data.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"data sets: {', '.join(map(repr, DATA))} (default: all)"
    )
    parser.add_argument("--splits", type=int, help="largest number of splits per data set (default: all)")
    parser.add_argument(
        "--methods", nargs="+", choices=(*OURS, *RIVALS), default=(*OURS, *RIVALS), help="(default: all)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep all accuracies in this file, and continue it")
    options = parser.parse_args(arguments)
    if not problems.available():
        raise SystemExit("no real data: set COVMETRIC_DATA to the folder")
    names = options.names or list(DATA)
    unknown = [name for name in names if name not in DATA]
    if unknown:
        parser.error(f"unknown data set {unknown[0]!r}; the data sets are {', '.join(map(repr, DATA))}")
    rows = json.loads(options.json.read_text()) if options.json and options.json.exists() else []
    tasks = missing_tasks(rows, names, options.splits, options.methods)
    work = Parallel(options.jobs, return_as="generator")(delayed(one_split)(*task) for task in tasks)
    for part in tqdm(work, "splits", len(tasks)):
        rows += part
        if options.json:
            options.json.write_text(json.dumps(rows))
    print_table(rows, names)


if __name__ == "__main__":
    main(sys.argv[1:])

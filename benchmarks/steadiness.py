"""How much the accuracy of tuned methods depends on the seed of the search and on single training trials.

Each method is fitted on a fixed split of real data, (a) with several seeds of its search, and (b) on random subsamples
of 90 percent of the training trials. The spread of the accuracies is compared with their standard error over splits:
a smaller spread means that the choice of the settings adds less uncertainty than the choice of the data does.

The folds of rule='auto' are not random. "random folds" draws them anew with each seed, as the rivals do: it shows how
much the choice of the folds is worth. "no search" and MDM have no settings: their spread over subsamples comes from the
trials alone, and no choice of settings can avoid it.

The subsamples are stratified by class. They leave out trials and not groups, because some training sets have only two
groups; the folds of the search keep groups together. All subsamples are searched with the same seed.

    python -m benchmarks.steadiness [NAME ...] [--repeats N] [--fixed N] [--splits N] [--jobs N] [--json FILE]
    python -m benchmarks.steadiness --cost      # the time of the default searches on NATOPS instead

Needs the data folder that COVMETRIC_DATA names, and geomstats for EMG.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedShuffleSplit
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks import problems, recognition
from benchmarks.recognition import FOLDS, REG
from covmetric import CovMetric, CovMetricClassifier, CovMetricCV
from covmetric._utils.validation import generator
from covmetric.estimators.default_search import default_search
from covmetric.estimators.grid import RULE_PARAMS, make_grid
from covmetric.experiments.estimates import mean_and_standard_error
from covmetric.experiments.methods import Training, available_methods
from covmetric.learning.search import choose_candidate
from covmetric.learning.splits import make_splits

AUTO, REDRAWN, WINNER, SEARCH = "rule='auto'", "random folds", "best score", "CovMetricCV() 3-NN"
RIVALS = ("tangent-logreg", "tangent-svm")
#: The candidate that rule='auto' prefers, without a search. Its spread shows how much is due to the trials themselves.
NO_SEARCH, MDM = "no search", "mdm"
METHODS = (AUTO, REDRAWN, WINNER, NO_SEARCH, MDM, SEARCH, *RIVALS)
SEEDS, SUBSAMPLES = "seeds", "subsamples"
FRACTION = 0.9
ROUNDS = 5


def emg(seed: int):
    """Return a split that trains on one session of a person and tests on the other one; both orders are possible."""
    data = problems.emg()
    people = np.unique(data.person)
    person = data.person == people[seed % len(people)]
    first = 1 + seed // len(people) % 2
    train, test = (np.flatnonzero(person & (data.session == session)) for session in (first, 3 - first))
    return data.X, data.y, data.groups, train, test


DATA: dict[str, tuple[Callable, int]] = {
    **{name: recognition.DATA[name] for name in ("NATOPS", "ERing", "Epilepsy", "JapaneseVowels", "SSVEP")},
    "EMG": (emg, 4),
}


def fit_redrawn(X, codes, groups, seed: int):
    """Return rule='auto' with random folds, and the metric with the single rule that scores best in the same search.

    The scores do not depend on n_std_errors, so one search is enough for both.
    """
    auto = CovMetricClassifier(default_search(cv=FOLDS, random_state=seed), rule="auto").fit(X, codes, groups)
    search = auto.learner_
    scores = np.transpose([search.cv_results_[f"split{fold}_test_score"] for fold in range(_count_folds(search))])
    best = choose_candidate(make_grid(search, X).preference, scores, 0.0)
    params = search.cv_results_["params"][best]
    metric = {name: value for name, value in params.items() if name not in RULE_PARAMS}
    rule = {name: value for name, value in params.items() if name in RULE_PARAMS and value is not None}
    learner = search._learner(search.tol, random_state=search.best_estimator_.random_state, **metric)
    return auto, CovMetricClassifier(learner, **rule).fit(X, codes, groups), choice(params)


def _count_folds(search) -> int:
    return sum(name.startswith("split") for name in search.cv_results_)


def choice(params: dict) -> str:
    """Return chosen settings as text."""
    settings = {name.split("__")[-1]: value for name, value in params.items() if name not in ("pairs", "slack")}
    given = [value for value in settings.values() if value is not None]
    return " ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in given)


def fit_rival(method: str, X, codes, groups, seed: int):
    """Return one of pyRiemann's methods, tuned on the folds that our searches with the same seed draw."""
    folds_seed = int(generator(seed).integers(2**32))
    folds = [(fold.train, fold.test) for fold in make_splits(FOLDS, X, codes, groups, folds_seed)]
    with tempfile.TemporaryDirectory() as folder:
        return available_methods()[method].make(Training(0.0, seed, lambda: folds, folder)).fit(X, codes)


def run(name: str, split: int, seed: int, subsample: int | None, methods=METHODS) -> list[dict[str, object]]:
    """Return the accuracy and the choice of each method, on all the training trials or on a subsample."""
    X, y, groups, train, test = DATA[name][0](split)
    codes = np.unique(y, return_inverse=True)[1]
    if subsample is not None:
        draw = StratifiedShuffleSplit(1, train_size=FRACTION, random_state=1000 * split + subsample)
        train = train[np.sort(next(draw.split(train, codes[train]))[0])]
    # Some matrices are singular, which pyRiemann refuses.
    X = X + REG * np.trace(X, axis1=1, axis2=2)[:, None, None] / X.shape[1] * np.eye(X.shape[1])
    arguments = X[train], codes[train], None if groups is None else groups[train], seed
    fitted: dict[str, tuple] = {}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        if AUTO in methods:
            auto = CovMetricClassifier(rule="auto", random_state=seed).fit(*arguments[:3])
            fitted[AUTO] = auto, choice(auto.learner_.best_params_)
        if REDRAWN in methods or WINNER in methods:
            auto, winner, winner_choice = fit_redrawn(*arguments)
            fitted |= {REDRAWN: (auto, choice(auto.learner_.best_params_)), WINNER: (winner, winner_choice)}
        if NO_SEARCH in methods:
            first = CovMetric("relog", lam=1e-2, random_state=seed)
            fitted[NO_SEARCH] = CovMetricClassifier(first, rule="svm").fit(*arguments[:3]), "relog 0.01 svm 1"
        if MDM in methods:
            fitted[MDM] = fit_rival(MDM, *arguments), ""
        if SEARCH in methods:
            search = CovMetricClassifier(CovMetricCV(random_state=seed)).fit(*arguments[:3])
            fitted[SEARCH] = search, choice(search.learner_.best_params_)
        for method in RIVALS:
            if method in methods:
                rival = fit_rival(method, *arguments)
                fitted[method] = rival, choice(rival.best_params_)
        place = {"data": name, "split": split, "seed": seed, "subsample": subsample}
        return [
            {**place, "method": m, "choice": c, "accuracy": 100.0 * float(np.mean(f.predict(X[test]) == codes[test]))}
            for m, (f, c) in fitted.items()
            if m in methods
        ]


def splits_of(name: str, count: int) -> list[int]:
    """Return `count` splits of a data set, evenly spaced, so that they include many subjects of SSVEP."""
    last = DATA[name][1] - 1
    return np.unique(np.linspace(0, last, min(count, last + 1)).round().astype(int)).tolist()


def plan(name: str, n_splits: int, n_fixed: int, repeats: int) -> list[tuple[str, int, int, int | None]]:
    """Return the data set, split, seed and subsample of each task. A split has the same seed in all its subsamples."""
    splits = splits_of(name, n_splits)
    fixed = splits[:n_fixed]
    tasks = [(name, split, 0, None) for split in splits]
    tasks += [(name, split, seed, None) for split in fixed for seed in range(1, repeats)]
    tasks += [(name, split, 0, subsample) for split in fixed for subsample in range(repeats)]
    return tasks


def repeated_rows(rows: list[dict], name: str, method: str, repeat: str) -> list[list[dict]]:
    """Return the rows of each fixed split, over the seeds or over the subsamples."""
    rows = [row for row in rows if (row["data"], row["method"]) == (name, method)]
    fixed = sorted({row["split"] for row in rows if row["subsample"] is not None})
    whole = repeat == SEEDS
    return [[row for row in rows if row["split"] == s and (row["subsample"] is None) == whole] for s in fixed]


def spread(rows: list[list[dict]]) -> dict[str, object]:
    """Return the mean, standard deviation and range within a split, averaged over splits, and the distinct choices."""
    values = np.array([[row["accuracy"] for row in part] for part in rows])
    return {
        "mean": float(values.mean()),
        "deviation": float(np.sqrt(values.var(axis=1, ddof=1).mean())),
        "range": float(np.ptp(values, axis=1).mean()),
        "choices": [len({row["choice"] for row in part}) for part in rows],
    }


def over_splits(rows: list[dict], name: str, method: str):
    """Return the mean accuracy over the splits, with its standard error."""
    key = (name, method, 0, None)
    return mean_and_standard_error(
        [r["accuracy"] for r in rows if (r["data"], r["method"], r["seed"], r["subsample"]) == key]
    )


def print_table(rows: list[dict], name: str) -> None:
    """Print the spreads of a data set as Markdown, and the choices of rule='auto'."""
    methods = [method for method in METHODS if any((r["data"], r["method"]) == (name, method) for r in rows)]
    estimate = over_splits(rows, name, methods[0])
    n_fixed = len(repeated_rows(rows, name, methods[0], SEEDS))
    print(f"\n{name}: accuracy in percent over {estimate.count} splits; spreads within {n_fixed} of them\n")
    columns = [f"{repeat}: {what}" for repeat in (SEEDS, SUBSAMPLES) for what in ("mean", "sd", "range", "choices")]
    print(f"| method | splits | {' | '.join(columns)} | sd below the standard error |")
    print("|" + "---|" * (len(columns) + 3))
    for method in methods:
        estimate = over_splits(rows, name, method)
        cells, steady = [], []
        for repeat in (SEEDS, SUBSAMPLES):
            one = spread(repeated_rows(rows, name, method, repeat))
            cells += [f"{one[key]:.1f}" for key in ("mean", "deviation", "range")]
            cells.append(", ".join(map(str, one["choices"])))
            steady.append("yes" if one["deviation"] < (estimate.standard_error or 0.0) else "NO")
        print(f"| {method} | {estimate.text()} | {' | '.join(cells)} | {', '.join(steady)} |")
    print()
    for repeat in (SEEDS, SUBSAMPLES):
        for part in repeated_rows(rows, name, methods[0], repeat):
            print(f"{methods[0]}, split {part[0]['split']}, {repeat}: {describe_choices(part)}")


def describe_choices(rows: list[dict]) -> str:
    """Return how often each choice was made, with the mean accuracy that it had."""
    counts = Counter(row["choice"] for row in rows).most_common()
    means = {c: np.mean([row["accuracy"] for row in rows if row["choice"] == c]) for c, _ in counts}
    return "; ".join(f"{count} x {c} ({means[c]:.1f})" for c, count in counts)


def searches(seed: int) -> dict[str, CovMetricClassifier]:
    """Return the earlier default search, which took the best score on three folds, and the default searches."""
    settings = {"pairs": "neighbors", "lambdas": (1e-1, 1e-2, 1e-3, 1e-4), "cv": 3, "n_std_errors": 0}
    earlier = CovMetricCV(["log", "relog", "sqrt", "chol"], **settings, random_state=seed)
    return {
        "earlier CovMetricCV()": CovMetricClassifier(earlier),
        "CovMetricCV()": CovMetricClassifier(CovMetricCV(random_state=seed)),
        AUTO: CovMetricClassifier(rule="auto", random_state=seed),
    }


def print_cost(X, y, rounds: int = ROUNDS) -> None:
    """Print the processor seconds of the default searches, and their ratios to the earlier search."""
    seconds: dict[str, list[float]] = {}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        CovMetricClassifier(CovMetricCV(random_state=0)).fit(X, y)  # compiles the kernels
        for _ in tqdm(range(rounds), "rounds"):
            for name, classifier in searches(0).items():
                started = time.process_time()  # there is one thread, and other processes do not count
                classifier.fit(X, y)
                seconds.setdefault(name, []).append(time.process_time() - started)
    base = min(next(iter(seconds.values())))
    print(f"\nFit on {len(X)} matrices of {X.shape[1]} x {X.shape[1]}, best of {rounds} rounds in turn, one thread\n")
    print("| search | seconds | ratio |\n|---|---|---|")
    for name, values in seconds.items():
        print(f"| {name} | {min(values):.2f} | {min(values) / base:.2f} |")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Measure how much tuned methods depend on chance.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"data sets: {', '.join(DATA)} (default: all)")
    parser.add_argument("--repeats", type=int, default=10, help="number of seeds, and of subsamples (%(default)s)")
    parser.add_argument("--fixed", type=int, default=2, help="number of splits that are repeated (%(default)s)")
    parser.add_argument("--splits", type=int, default=8, help="splits for the standard error (%(default)s)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, help="(default: all)")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (%(default)s)")
    parser.add_argument("--json", help="write all accuracies to this file")
    parser.add_argument("--cost", action="store_true", help="measure the time of the default searches on NATOPS")
    options = parser.parse_args(arguments)
    if not problems.available():
        raise SystemExit("no real data: set COVMETRIC_DATA to the folder")
    if options.cost:
        X, y, _, train, _ = DATA["NATOPS"][0](0)
        print_cost(X[train], y[train])
        return
    names = options.names or list(DATA)
    unknown = [name for name in names if name not in DATA]
    if unknown:
        parser.error(f"unknown data set {unknown[0]!r}; the data sets are {', '.join(DATA)}")
    tasks = [task for name in names for task in plan(name, options.splits, options.fixed, options.repeats)]
    work = Parallel(options.jobs, return_as="generator")(delayed(run)(*task, options.methods) for task in tasks)
    rows = [row for part in tqdm(work, "fits", len(tasks)) for row in part]
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file)
    for name in names:
        print_table(rows, name)


if __name__ == "__main__":
    main(sys.argv[1:])

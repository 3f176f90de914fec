"""`covmetric demo`: the main job on real data."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from covmetric.cli.arguments import check_picture, number_from
from covmetric.experiments.gestures import FIXED, LEARNED, GestureTable, gestures


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    out = Path("covmetric-demo.png")
    parser.add_argument("--out", type=Path, default=out, metavar="FILE", help=f"the picture (default {out})")
    parser.add_argument(
        "--window", type=number_from(100), default=250, metavar="SAMPLES", help="per covariance (default 250)"
    )
    parser.add_argument("--seed", type=number_from(0), default=0, metavar="N", help="of folds and pairs (default 0)")
    parser.add_argument("--jobs", type=number_from(1), default=None, metavar="N", help="processes for the search")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, and nothing else")


def run(options: argparse.Namespace) -> None:
    """Learn, compare, print, draw."""
    check_picture("--out", options.out)
    started = time.perf_counter()
    if not options.json:
        print("Five hand gestures from eight electrodes on the forearm (recordings of geomstats 2.8, MIT licence).")
        print("Learned on the first session of each person, tested on the second.\n", flush=True)
    table = gestures(options.window, options.seed, options.jobs, progress=not options.json)
    if not options.json:
        print_result(table)
    picture = draw(table, options.out)
    seconds = time.perf_counter() - started
    if options.json:
        print(json.dumps(as_json(table, picture, seconds), indent=1))
    else:
        print(f"\nThe picture is in {picture} ({seconds:.0f} s in all).")


def print_result(table: GestureTable) -> None:
    """The table, and for each person what was chosen and proven."""
    print_table(table)
    for person in table.people:
        learner = table.learned[person].learner_
        chosen = {name: value for name, value in learner.best_params_.items() if name != "slack"}
        print(f"\nPerson {person}: chosen {chosen} by folds of rounds of the first session.")
        print(learner.result_ or "W = I was the best choice; there is nothing to prove.")


def print_table(table: GestureTable) -> None:
    """Accuracies and times as text."""
    print(f"{table.windows} covariance matrices, {table.channels} x {table.channels}. Accuracy in percent, seconds.\n")
    heads = "".join(f"{'person ' + person:>12}" for person in table.people)
    print(f"{'':>14} {'':<16}{heads}{'mean':>8}{'learning':>10}{'predicting':>12}")
    for kind, method in table.methods():
        rows = table.rows_for(kind, method)
        cells = "".join(f"{100 * row.accuracy:>12.1f}" for row in rows)
        fit, predict = (float(np.mean([getattr(r, f"{what}_seconds") for r in rows])) for what in ("fit", "predict"))
        print(f"{kind:>14} {method:<16}{cells}{100 * table.mean(kind, method):>8.1f}{fit:>10.3f}{predict:>12.3f}")


def draw(table: GestureTable, path: Path) -> Path:
    """The accuracies, and the test windows of a person in the log-Euclidean and in the learned metric."""
    from covmetric.estimators import CovMetric
    from covmetric.plotting import plot_accuracies, plot_embedding, save_figure
    from covmetric.plotting.figures import new_figure

    person = table.people[0]
    X, y = table.test[person]
    figure, axes = new_figure(13, 4.2, 3, width_ratios=[1.5, 1, 1])
    methods = table.methods()
    values = [[row.accuracy for row in table.rows_for(*method)] for method in methods]
    plot_accuracies(axes[0], [name for _, name in methods], values, [kind for kind, _ in methods], "one person each")
    fixed = CovMetric("log", lam=np.inf).fit(X, y).metric_
    plot_embedding(axes[1], fixed, X, y, f"W = I, log: the test windows of {person}")
    plot_embedding(axes[2], table.learned[person].metric_, X, y, "the learned metric: the same windows")
    axes[2].legend(loc="best", fontsize=8, markerscale=2)
    figure.suptitle("Hand gestures, learned on one session and tested on the next", fontsize=11)
    return save_figure(figure, path)


def as_json(table: GestureTable, picture: Path, seconds: float) -> dict[str, Any]:
    """The result for programs."""
    people = {}
    for person in table.people:
        learner = table.learned[person].learner_
        certificate = None if learner.result_ is None else asdict(learner.result_.certificate)
        best = {name: value if value != np.inf else "inf" for name, value in learner.best_params_.items()}
        people[person] = {"chosen": best, "status": learner.status_.name, "certificate": certificate}
    return {
        "rows": [asdict(row) for row in table.rows],
        "people": people,
        "best_fixed": max(table.mean(*method) for method in table.methods() if method[0] == FIXED),
        "learned": max(table.mean(*method) for method in table.methods() if method[0] == LEARNED),
        "picture": str(picture),
        "seconds": seconds,
    }

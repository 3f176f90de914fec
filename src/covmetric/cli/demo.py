"""`covmetric demo`: learn a metric on real recordings of hand gestures."""

from __future__ import annotations

import argparse
import shlex
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmetric.cli.arguments import add_report_argument, check_page, check_picture, integer_at_least, say_page
from covmetric.cli.command import Command
from covmetric.cli.data import shows_progress
from covmetric.cli.tables import print_gestures, print_json, print_transfer, print_wrapped

if TYPE_CHECKING:
    from covmetric.experiments.gesture_results import GestureTable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("covmetric-demo.png"),
        metavar="FILE",
        help="write the picture to this file (default: %(default)s)",
    )
    parser.add_argument(
        "--window",
        type=integer_at_least(100),
        default=250,
        metavar="SAMPLES",
        help="number of samples per covariance matrix, at least 100 (default: %(default)s)",
    )
    parser.add_argument(
        "--seeds",
        type=integer_at_least(1),
        default=10,
        metavar="N",
        help="number of seeds of the folds and of the pairs (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=integer_at_least(0), default=0, metavar="N", help="the first seed (default: %(default)s)"
    )
    parser.add_argument(
        "--jobs", type=integer_at_least(1), default=-1, metavar="N", help="number of processes (default: all cores)"
    )
    parser.add_argument("--json", action="store_true", help="print only the result, as JSON")
    add_report_argument(parser)


def run(options: argparse.Namespace) -> None:
    """Learn and compare, print the table and draw the picture.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.
    """
    check_picture("--out", options.out)
    check_page("--report", options.report)

    from covmetric.experiments.gesture_transfer import gesture_transfer
    from covmetric.experiments.gestures import gestures
    from covmetric.experiments.reports import gesture_figure
    from covmetric.plotting import save_figure

    started = time.perf_counter()
    seeds = range(options.seed, options.seed + options.seeds)
    if not options.json:
        print_wrapped("Five hand gestures, recorded by eight electrodes on the forearm (geomstats 2.8, MIT licence).")
        print_wrapped("Each method learns from the first session of a person and is tested on the second.")
        print(flush=True)
    table = gestures(options.window, seeds, options.jobs, progress=shows_progress(options))
    if not options.json:
        print_gestures(table)
    transfer = gesture_transfer(options.window, options.seed)
    if not options.json:
        print()
        print_transfer(transfer)
    picture = save_figure(gesture_figure(table), options.out)
    if options.report is not None:
        from covmetric.report import gesture_page, write_page

        write_page(gesture_page(table, shlex.join(["covmetric", *options.arguments])), options.report)
    seconds = time.perf_counter() - started
    if options.json:
        print_json(
            {
                **as_dict(table),
                "transfer": [asdict(row) for row in transfer],
                "picture": str(picture),
                "seconds": seconds,
            }
        )
    else:
        print()
        print_wrapped(f"The picture is in {picture}. The demo took {seconds:.0f} s.")
        if options.report is not None:
            say_page(options)


def as_dict(table: GestureTable) -> dict[str, Any]:
    """Return the result of the demo as dicts, lists, strings and numbers.

    Parameters
    ----------
    table : GestureTable
        The result of `gestures`.

    Returns
    -------
    dict
    """
    from covmetric.experiments.gesture_results import FIXED

    learned = []
    for run in table.learned:
        learner = run.classifier.learner_
        learned.append(
            {
                "method": run.row.method,
                "person": run.row.person,
                "seed": run.row.seed,
                # The pairs are an object.
                "chosen": {**learner.best_params_, "pairs": str(learner.best_params_["pairs"])},
                "rule": run.classifier.rule_,
                "status": learner.status_.name,
                "certificate": None if learner.result_ is None else asdict(learner.result_.certificate),
            }
        )
    return {
        "seeds": table.seeds,
        "rows": [asdict(row) for row in table.rows],
        "summary": [asdict(row) for row in table.summary()],
        "differences": {
            method: {other: asdict(table.difference(method, other)) for other in table.methods if other != method}
            for method in table.learned_methods
        },
        "verdicts": {method: table.verdict(method) for method in table.learned_methods},
        "choices": learned,
        "recommended": table.learned_methods[0],
        "best_fixed": table.best(FIXED).accuracy,
        "learned": float(table.accuracies(table.learned_methods[0]).mean()),
    }


DEMO = Command(
    add_arguments,
    run,
    (
        "covmetric demo",
        "covmetric demo --seeds 1 --window 1000   # faster",
        "covmetric demo --report demo.html --json > demo.json",
    ),
)

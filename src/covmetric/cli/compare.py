"""`covmetric compare DATA`: cross-validate fixed and learned metrics on the user's data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmetric.cli.arguments import (
    add_report_argument,
    check_output,
    check_page,
    integer_at_least,
    nonnegative_number,
    number_of_jobs,
    say_page,
    written_files,
)
from covmetric.cli.command import INCOMPLETE, Command
from covmetric.cli.data import add_data_arguments, print_skipped, read_data, shows_progress
from covmetric.cli.tables import print_comparison, print_json
from covmetric.cli.unseen_table import print_unseen

if TYPE_CHECKING:
    from covmetric.tasks import DescribedInputs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    add_data_arguments(parser)
    parser.add_argument(
        "--folds", type=integer_at_least(2), metavar="N", help="number of folds (default: 5, with --quick 3)"
    )
    parser.add_argument(
        "--repeats",
        type=integer_at_least(1),
        default=1,
        metavar="N",
        help="number of times to draw new folds (default: %(default)s)",
    )
    parser.add_argument(
        "--methods",
        metavar="A,B,...",
        help="names of the methods to compare (default: all); an unknown name prints the list of methods",
    )
    parser.add_argument("--quick", action="store_true", help="use 3 folds and leave out slow methods")
    parser.add_argument(
        "--unseen",
        action="store_true",
        help="compare distances on classes that were not in the training data, by --folds random splits of the classes",
    )
    parser.add_argument(
        "--test-classes",
        type=_number_or_fraction,
        metavar="N",
        help="with --unseen: number or fraction of the classes that each split holds out (default: 0.25)",
    )
    parser.add_argument(
        "--reg",
        type=nonnegative_number,
        default=1e-6,
        metavar="FRACTION",
        help="fraction of its mean eigenvalue that is added to the diagonal of each matrix (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=integer_at_least(0),
        default=0,
        metavar="N",
        help="seed of the folds and of the methods (default: %(default)s)",
    )
    parser.add_argument("--jobs", type=number_of_jobs, metavar="N", help="number of processes (default: 1)")
    parser.add_argument("--json", action="store_true", help="print only the result, as JSON")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table to this file")
    parser.add_argument("--out", type=Path, metavar="FILE", help="draw the accuracies in this file")
    add_report_argument(parser)


def run(options: argparse.Namespace) -> int | None:
    """Read the data, compare the methods, print and write the table.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.

    Returns
    -------
    int or None
        The exit code: 1 if a method failed or a file was left out.
    """
    for name in ("csv", "out"):
        path = getattr(options, name)
        if path is not None:
            check_output(f"--{name}", path)
    _check_unseen(options)
    check_page("--report", options.report)
    progress = shows_progress(options)
    data = read_data(
        options.data,
        options.kind,
        options.features,
        options.jobs,
        options.labels,
        options.skip_broken,
        progress,
        written_files(options),
    )
    print_skipped(data.skipped, options.command)
    if options.unseen:
        return _run_unseen(options, data)

    from covmetric.experiments import compare as experiment
    from covmetric.experiments.methods import available_methods
    from covmetric.experiments.reports import comparison_figure, write_csv
    from covmetric.plotting import save_figure
    from covmetric.tasks import data_record, example_names, origin

    with example_names(data.names):
        table = experiment.compare(
            data.X,
            data.y,
            data.groups,
            _methods(options, available_methods()),
            _n_folds(options),
            repeats=options.repeats,
            reg=options.reg,
            seed=options.seed,
            n_jobs=options.jobs,
            progress=progress,
            names=data.names.tolist(),
        )
    result = {
        **origin(options.arguments),
        "data": data_record(options.data, data.content, data.y, table.size, data.groups, data.skipped),
        "methods": [row.method for row in table.rows],
        "parameters": {name: getattr(table, name) for name in ("folds", "repeats", "seed", "reg")},
        **table.as_dict(),
    }
    # Files are written before anything is printed, because a reader may close the output early.
    if options.csv is not None:
        write_csv(options.csv, table.summary())
    if options.out is not None:
        if all(row.failure for row in table.rows):
            print("no picture was drawn, because every method failed", file=sys.stderr)
        else:
            save_figure(comparison_figure(table, options.data.stem), options.out)
    if options.report is not None:
        from covmetric.report import comparison_page, write_page

        write_page(comparison_page(result), options.report)
    if options.json:
        print_json(result)
    else:
        print_comparison(table, data.content)
    if options.report is not None:
        say_page(options)
    if table.interrupted:
        raise KeyboardInterrupt
    return INCOMPLETE if data.skipped or any(row.failure for row in table.rows) else None


def _run_unseen(options: argparse.Namespace, data: DescribedInputs) -> int | None:
    """Compare distances on new classes, write and print the table."""
    from covmetric.experiments import unseen as experiment
    from covmetric.experiments.reports import write_csv
    from covmetric.experiments.unseen_methods import unseen_methods
    from covmetric.tasks import data_record, example_names, origin

    with example_names(data.names):
        table = experiment.compare_unseen(
            data.X,
            data.y,
            data.groups,
            _methods(options, unseen_methods()),
            _n_folds(options),
            test_size=0.25 if options.test_classes is None else options.test_classes,
            reg=options.reg,
            seed=options.seed,
            n_jobs=options.jobs,
            progress=shows_progress(options),
        )
    if options.csv is not None:  # before anything is printed, because a reader may close the output early
        write_csv(options.csv, table.summary())
    if options.json:
        record = data_record(options.data, data.content, data.y, table.size, data.groups, data.skipped)
        print_json({**origin(options.arguments), "data": record, **table.as_dict()})
    else:
        print_unseen(table, data.content)
    if table.interrupted:
        raise KeyboardInterrupt
    return INCOMPLETE if data.skipped else None


def _check_unseen(options: argparse.Namespace) -> None:
    """Raise ValueError for options that do not go together."""
    if not options.unseen and options.test_classes is not None:
        raise ValueError("--test-classes needs --unseen")
    if options.unseen and (options.out is not None or options.report is not None or options.repeats != 1):
        raise ValueError(
            "--unseen has no --out, --report and --repeats; use --folds N for N random splits of the classes"
        )


def _methods(options: argparse.Namespace, available: Mapping[str, Any]) -> list[str] | None:
    """Return the names of the methods to compare, or None for all."""
    if options.methods is not None:
        return [name for name in options.methods.split(",") if name]
    return [name for name, method in available.items() if not method.slow] if options.quick else None


def _n_folds(options: argparse.Namespace) -> int:
    if options.folds is not None:
        return int(options.folds)
    return 3 if options.quick else 5


def _number_or_fraction(text: str) -> int | float:
    return int(text) if text.isdecimal() else float(text)


COMPARE = Command(
    add_arguments,
    run,
    (
        "covmetric compare trials.npz --quick              # X, y and groups; about a minute",
        "covmetric compare textures/ --csv table.csv --out table.png --report report.html",
        "covmetric compare trials.npz --methods mdm,tangent-logreg,covmetric-auto --json > run.json",
    ),
)

"""`covmetric compare DATA`: cross-validate fixed and learned metrics on the user's data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from covmetric.cli.arguments import check_folder_of
from covmetric.cli.command import Command
from covmetric.cli.data import CONTENT, LabelledMatrices, read_data
from covmetric.cli.tables import print_comparison, print_json
from covmetric.cli.unseen_table import print_unseen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    parser.add_argument("data", type=Path, metavar="DATA", help=CONTENT)
    parser.add_argument(
        "--kind", choices=("matrices", "series", "images"), help="what DATA holds (default: detected from the file)"
    )
    parser.add_argument(
        "--features",
        choices=("grey", "colour"),
        help="features of images (default: colour, or grey if an image has no colours)",
    )
    parser.add_argument("--folds", type=int, metavar="N", help="number of folds (default: 5, with --quick 3)")
    parser.add_argument(
        "--repeats", type=int, default=1, metavar="N", help="number of times to draw new folds (default: %(default)s)"
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
        type=float,
        default=1e-6,
        metavar="FRACTION",
        help="fraction of its mean eigenvalue that is added to the diagonal of each matrix (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the folds and of the methods (default: %(default)s)"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="number of processes (default: 1)")
    parser.add_argument("--json", action="store_true", help="print only the result, as JSON")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table to this file")
    parser.add_argument("--out", type=Path, metavar="FILE", help="draw the accuracies in this file")


def run(options: argparse.Namespace) -> None:
    """Read the data, compare the methods, print and write the table.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.
    """
    for name in ("csv", "out"):
        path = getattr(options, name)
        if path is not None:
            check_folder_of(f"--{name}", path)
    _check_unseen(options)
    data = read_data(options.data, options.kind, options.features, options.jobs)
    if options.unseen:
        _run_unseen(options, data)
        return

    from covmetric.experiments import compare as experiment
    from covmetric.experiments.methods import available_methods
    from covmetric.experiments.reports import comparison_figure, write_csv
    from covmetric.plotting import save_figure

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
        progress=not options.json,
    )
    if options.json:
        print_json({"data": str(options.data), "what": data.content, **table.as_dict()})
    else:
        print_comparison(table, data.content)
    if options.csv is not None:
        write_csv(options.csv, table.summary())
    if options.out is not None:
        if all(row.failure for row in table.rows):
            print("no picture was drawn, because every method failed", file=sys.stderr)
        else:
            save_figure(comparison_figure(table, options.data.stem), options.out)
    if table.interrupted:
        raise KeyboardInterrupt


def _run_unseen(options: argparse.Namespace, data: LabelledMatrices) -> None:
    """Compare distances on new classes, print and write the table."""
    from covmetric.experiments import unseen as experiment
    from covmetric.experiments.reports import write_csv
    from covmetric.experiments.unseen_methods import unseen_methods

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
        progress=not options.json,
    )
    if options.json:
        print_json({"data": str(options.data), "what": data.content, **table.as_dict()})
    else:
        print_unseen(table, data.content)
    if options.csv is not None:
        write_csv(options.csv, table.summary())
    if table.interrupted:
        raise KeyboardInterrupt


def _check_unseen(options: argparse.Namespace) -> None:
    """Raise ValueError for options that do not go together."""
    if not options.unseen and options.test_classes is not None:
        raise ValueError("--test-classes needs --unseen")
    if options.unseen and (options.out is not None or options.repeats != 1):
        raise ValueError("--unseen has no --out and no --repeats; use --folds N for N random splits of the classes")


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


COMPARE = Command(add_arguments, run)

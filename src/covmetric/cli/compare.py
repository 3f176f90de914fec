"""`covmetric compare DATA`: cross-validate fixed and learned metrics on the user's data."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from covmetric.cli.arguments import add_report_argument, check_folder_of, check_page
from covmetric.cli.command import INCOMPLETE, Command
from covmetric.cli.data import add_data_arguments, print_skipped, read_data, shows_progress
from covmetric.cli.tables import print_comparison, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    add_data_arguments(parser)
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
            check_folder_of(f"--{name}", path)
    check_page("--report", options.report)
    progress = shows_progress(options)
    data = read_data(
        options.data, options.kind, options.features, options.jobs, options.labels, options.skip_broken, progress
    )
    print_skipped(data.skipped)

    from covmetric.experiments import compare as experiment
    from covmetric.experiments.methods import available_methods
    from covmetric.experiments.reports import comparison_figure, write_csv
    from covmetric.plotting import save_figure
    from covmetric.tasks import data_record, origin

    methods = None if options.methods is None else [name for name in options.methods.split(",") if name]
    if methods is None and options.quick:
        methods = [name for name, method in available_methods().items() if not method.slow]
    table = experiment.compare(
        data.X,
        data.y,
        data.groups,
        methods,
        options.folds if options.folds is not None else 3 if options.quick else 5,
        repeats=options.repeats,
        reg=options.reg,
        seed=options.seed,
        n_jobs=options.jobs,
        progress=progress,
    )
    result = {
        **origin(options.arguments),
        "data": data_record(options.data, data.content, data.y, table.size, data.groups, data.skipped),
        "methods": [row.method for row in table.rows],
        "parameters": {name: getattr(table, name) for name in ("folds", "repeats", "seed", "reg")},
        **table.as_dict(),
    }
    if options.json:
        print_json(result)
    else:
        print_comparison(table, data.content)
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
    if table.interrupted:
        raise KeyboardInterrupt
    return INCOMPLETE if data.skipped or any(row.failure for row in table.rows) else None


COMPARE = Command(
    add_arguments,
    run,
    (
        "covmetric compare trials.npz --quick              # X, y and groups; about a minute",
        "covmetric compare textures/ --csv table.csv --out table.png --report report.html",
        "covmetric compare trials.npz --methods mdm,tangent-logreg,covmetric-auto --json > run.json",
    ),
)

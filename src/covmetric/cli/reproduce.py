"""`covmetric reproduce`: run the paper's experiments and write pages, pictures and CSV files."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from covmetric.cli.arguments import integer_at_least, positive_number
from covmetric.cli.command import Command
from covmetric.cli.tables import print_json, print_report

if TYPE_CHECKING:
    from covmetric.experiments.image_sets import SetRow
    from covmetric.experiments.reports import Report

#: The options of the experiment `convergence`. Without a value, the experiment uses its default.
_CONVERGENCE_OPTIONS = ("sizes", "lambdas", "orders", "slack", "tol", "max_epochs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    from covmetric.orders import ORDERS
    from covmetric.slacks import SLACKS

    parser.add_argument(
        "experiment",
        choices=list(EXPERIMENTS),
        metavar="EXPERIMENT",
        help="convergence: how fast each selection order closes the gap (section 4.1); brodatz, eth80: recognition of "
        "textures and objects (section 4.2); eth80-sets: recognition of image sets; leml: how far LEML stays from the "
        "optimum",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder of the images of brodatz, eth80 and eth80-sets (default: a subfolder of the folder in the "
        "environment variable COVMETRIC_DATA)",
    )
    parser.add_argument(
        "--seeds",
        type=integer_at_least(1),
        default=5,
        metavar="N",
        help="number of random problems or splits (default: %(default)s)",
    )
    parser.add_argument(
        "--out", type=Path, default=Path(), metavar="DIR", help="write to this folder (default: the current one)"
    )
    parser.add_argument(
        "--jobs",
        type=integer_at_least(1),
        metavar="N",
        help="number of processes for brodatz, eth80 and eth80-sets (default: 1)",
    )
    parser.add_argument("--json", action="store_true", help="print only the summary, as JSON")
    group = parser.add_argument_group("options of convergence")
    group.add_argument(
        "--sizes", type=integer_at_least(1), nargs="+", metavar="N", help="sizes of the matrices (default: 10 50 100)"
    )
    group.add_argument(
        "--lambdas",
        type=positive_number,
        nargs="+",
        metavar="LAMBDA",
        help="values of lambda (default: 1e-2 1e-3 1e-4)",
    )
    group.add_argument(
        "--orders", nargs="+", choices=list(ORDERS), help="selection orders (default: the three of the paper)"
    )
    group.add_argument("--slack", choices=list(SLACKS), help="slack divergence (default: is)")
    group.add_argument("--tol", type=float, help="relative gap at which a run ends (default: 1e-6)")
    group.add_argument(
        "--max-epochs", type=integer_at_least(1), metavar="N", help="maximum number of epochs of a run (default: 2000)"
    )


def run(options: argparse.Namespace) -> None:
    """Run the experiment, print its report and write its files.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.
    """
    if not options.out.is_dir():
        raise ValueError(f"--out: there is no folder {options.out}")
    if options.experiment != "convergence":
        for name in _given_convergence_options(options):
            raise ValueError(f"--{name.replace('_', '-')} is an option of the experiment convergence only")
    started = time.perf_counter()
    report = EXPERIMENTS[options.experiment](options)
    seconds = time.perf_counter() - started
    if options.json:
        print_json([asdict(row) for row in report.summary])
    else:
        print_report(report)
    page = report.write(options.out, _command(options), seconds)
    if not options.json:
        print(f"\nThe page is {page}. Its pictures and the CSV file are in the same folder.")


def _given_convergence_options(options: argparse.Namespace) -> list[str]:
    return [name for name in _CONVERGENCE_OPTIONS if getattr(options, name) is not None]


def _command(options: argparse.Namespace) -> str:
    """Return the command that repeats the experiment."""
    command = ["covmetric", "reproduce", options.experiment, "--seeds", str(options.seeds)]
    for name in _given_convergence_options(options):
        value = getattr(options, name)
        values = value if isinstance(value, list) else [value]
        command += [f"--{name.replace('_', '-')}", *(f"{v:g}" if isinstance(v, float) else str(v) for v in values)]
    return shlex.join(command)


def _convergence(options: argparse.Namespace) -> Report:
    from covmetric.experiments.convergence import convergence
    from covmetric.experiments.reports import convergence_report

    settings = {name: getattr(options, name) for name in _given_convergence_options(options)}
    return convergence_report(convergence(seeds=options.seeds, progress=not options.json, **settings))


def _brodatz(options: argparse.Namespace) -> Report:
    return _recognition(options, ("brodatz 3/1", "brodatz 2/2"), "Brodatz textures (section 4.2 of the paper)")


def _eth80(options: argparse.Namespace) -> Report:
    return _recognition(options, ("eth80 by image", "eth80 by object"), "ETH-80 (section 4.2 of the paper)")


def _recognition(options: argparse.Namespace, protocols: tuple[str, ...], title: str) -> Report:
    from covmetric.experiments.recognition import PAGES, recognition
    from covmetric.experiments.reports import recognition_report

    rows = recognition(
        protocols,
        options.data,
        options.seeds,
        **PAGES[options.experiment],
        n_jobs=options.jobs,
        progress=not options.json,
    )
    return recognition_report(options.experiment, title, list(rows))


def _image_sets(options: argparse.Namespace) -> Report:
    from covmetric.experiments.image_sets import image_sets
    from covmetric.experiments.reports import image_set_report, write_csv

    rows: list[SetRow] = []
    for row in image_sets(options.data, repeats=options.seeds, n_jobs=options.jobs, progress=not options.json):
        rows.append(row)
        write_csv(options.out / f"{options.experiment}.csv", rows)  # immediately, because the experiment may take hours
    return image_set_report(rows)


def _leml(options: argparse.Namespace) -> Report:
    from covmetric.experiments.rank_one import rank_one
    from covmetric.experiments.reports import rank_one_report

    return rank_one_report(rank_one(seeds=options.seeds))


EXPERIMENTS: dict[str, Callable[[argparse.Namespace], Report]] = {
    "convergence": _convergence,
    "brodatz": _brodatz,
    "eth80": _eth80,
    "eth80-sets": _image_sets,
    "leml": _leml,
}

REPRODUCE = Command(add_arguments, run)

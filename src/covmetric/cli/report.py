"""`covmetric report MODEL|RUN`: one self-contained HTML page about a model, an evaluation or a comparison."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from covmetric.cli.arguments import check_page
from covmetric.cli.command import Command
from covmetric.cli.data import MODEL_FILE, load_for_command

if TYPE_CHECKING:
    from covmetric.report import Page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    parser.add_argument(
        "source",
        type=Path,
        metavar="MODEL|RUN",
        help=f"{MODEL_FILE}, or what `covmetric evaluate --json` or `covmetric compare --json` (without --unseen) "
        "wrote",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="write the page to this file (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> None:
    """Write the page.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.
    """
    check_page("--out", options.out)
    if not options.source.is_file():
        raise FileNotFoundError(f"there is no file {options.source}; MODEL|RUN must be a model or a result in JSON")

    from covmetric.report import write_page

    written = write_page(_page(options.source, options.out), options.out)
    print(f"The report is in {written} ({written.stat().st_size / 1000:.0f} kB).")


def _page(source: Path, out: Path) -> Page:
    from covmetric.report import model_page, read_run, run_page

    with source.open("rb") as file:
        is_archive = file.read(2) == b"PK"
    if not is_archive:
        return run_page(read_run(source))
    command = shlex.join(["covmetric", "report", str(source), "-o", str(out)])
    return model_page(load_for_command(source), source.stem, command)


REPORT = Command(
    add_arguments,
    run,
    (
        "covmetric report textures.model -o report.html",
        "covmetric evaluate textures.model more/ --json > run.json; covmetric report run.json",
        "covmetric compare trials.npz --json > run.json; covmetric report run.json",
    ),
)

"""`covmetric explain MODEL QUERY`: why a query belongs to its class."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from covmetric.cli.arguments import integer_at_least
from covmetric.cli.command import Command
from covmetric.cli.data import read_model_view
from covmetric.cli.tables import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    parser.add_argument("model", type=Path, metavar="MODEL", help="a file that `covmetric fit` wrote")
    parser.add_argument("query", type=Path, metavar="QUERY", help="an image, or an .npz, .npy or .fif file with X")
    parser.add_argument(
        "--number",
        type=integer_at_least(0),
        default=0,
        metavar="N",
        help="which example of a file with several, counted from 0 (default: %(default)s)",
    )
    parser.add_argument(
        "-k",
        type=integer_at_least(1),
        default=5,
        metavar="N",
        help="number of neighbours to list (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print only the result, as JSON")


def run(options: argparse.Namespace) -> int | None:
    """Load the model, and print what decided about the query.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.

    Returns
    -------
    int or None
        The exit code.
    """
    view = read_model_view(options.model)

    from covmetric.datasets.inputs import read_queries
    from covmetric.tasks import explain

    inputs = read_queries([options.query], view.kind)
    if options.number >= len(inputs):
        raise ValueError(f"--number {options.number}: {options.query} holds {len(inputs)} examples, counted from 0")
    i = options.number
    matrix = view.matrices(inputs.examples, inputs.groups)[i] if view.recentres else None
    found = explain(view, str(inputs.names[i]), inputs.examples[i], options.k, matrix)
    if options.json:
        print_json({"model": str(options.model), **found.as_dict()})
    else:
        print(found)
        if len(inputs) > 1:
            print(f"{options.query} holds {len(inputs)} examples; --number chooses another one", file=sys.stderr)
    return None


EXPLAIN = Command(
    add_arguments,
    run,
    ("covmetric explain textures.model new.png", "covmetric explain trials.model session2.npz --number 7 --json"),
)

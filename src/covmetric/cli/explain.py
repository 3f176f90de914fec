"""`covmetric explain MODEL QUERY`: why a query belongs to its class."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from covmetric.cli.arguments import integer_at_least
from covmetric.cli.command import Command
from covmetric.cli.data import add_model_argument, read_model_view
from covmetric.cli.tables import print_json

if TYPE_CHECKING:
    from covmetric.datasets.inputs import Inputs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    add_model_argument(parser)
    parser.add_argument(
        "query",
        type=Path,
        metavar="QUERY",
        help="an image, an .npz, .npy or .fif file with X, or the name of an example in it, as the commands print it",
    )
    parser.add_argument(
        "--number",
        type=integer_at_least(0),
        metavar="N",
        help="which example of a file with several, counted from 0 (default: 0)",
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

    from covmetric.datasets.inputs import split_example_name
    from covmetric.datasets.several_files import read_queries
    from covmetric.tasks import explain

    path, name = split_example_name(options.query)
    inputs = read_queries([path], view.kind, view.check_channels)
    i = _number(options.number or 0, path, inputs) if name is None else _number_of(name, path, inputs, options.number)
    matrix = view.matrices(inputs.examples, inputs.groups)[i] if view.recentres else None
    found = explain(view, str(inputs.names[i]), inputs.examples[i], options.k, matrix)
    if options.json:
        print_json({"model": str(options.model), **found.as_dict()})
    else:
        print(found)
        if len(inputs) > 1 and name is None:
            print(f"{options.query} holds {len(inputs)} examples; --number chooses another one", file=sys.stderr)
    return None


def _number(number: int, path: Path, inputs: Inputs) -> int:
    if number >= len(inputs):
        raise ValueError(f"--number {number}: {path} holds {len(inputs)} examples, counted from 0")
    return number


def _number_of(name: str, path: Path, inputs: Inputs, number: int | None) -> int:
    """Return the number of the example with this name."""
    from covmetric.datasets.inputs import example_name

    if number is not None:
        raise ValueError(f"{example_name(path, name)} is the name of an example: leave out --number")
    names = inputs.names.tolist()
    if example_name(path, name) not in names:
        raise ValueError(f"{path} holds no example {name!r}: its {len(names)} examples are {names[0]} to {names[-1]}")
    return int(names.index(example_name(path, name)))


EXPLAIN = Command(
    add_arguments,
    run,
    ("covmetric explain textures.model new.png", "covmetric explain trials.model 'session2.npz[7]' --json"),
)

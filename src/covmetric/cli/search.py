"""`covmetric search MODEL QUERY`: the training examples that are most similar to a query."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmetric.cli.arguments import check_images_are_kept, check_page, integer_at_least, written_files
from covmetric.cli.command import INCOMPLETE, Command
from covmetric.cli.data import (
    add_model_argument,
    add_skip_broken_argument,
    print_skipped,
    read_model_view,
    usable_images,
)
from covmetric.cli.tables import print_json

if TYPE_CHECKING:
    from covmetric.tasks import Neighbor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    add_model_argument(parser)
    parser.add_argument(
        "query", type=Path, metavar="QUERY", help="an image, a folder of images, or an .npz, .npy or .fif file with X"
    )
    parser.add_argument(
        "-k", type=integer_at_least(1), default=5, metavar="N", help="number of neighbours (default: %(default)s)"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a page with pictures to this file")
    parser.add_argument("--json", action="store_true", help="print only the result, as JSON")
    add_skip_broken_argument(parser)


def run(options: argparse.Namespace) -> int | None:
    """Load the model, and print the nearest training examples of each query.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.

    Returns
    -------
    int or None
        The exit code.
    """
    check_page("--html", options.html)
    view = read_model_view(options.model)

    from covmetric.datasets.several_files import read_queries
    from covmetric.tasks import example_names

    inputs = read_queries([options.query], view.kind, view.check_channels)
    check_images_are_kept(written_files(options), inputs)
    inputs, skipped = usable_images(view, inputs, options.skip_broken)
    with example_names(inputs.names):
        found = view.neighbors(inputs.examples, options.k, inputs.groups)
    print_skipped(skipped, options.command)
    if options.html is not None:  # before anything is printed, because a reader may close the output early
        from covmetric.report import write_search_page

        command = shlex.join(["covmetric", *options.arguments])
        write_search_page(options.html, options.model.stem, view, inputs, found, command)
    if options.json:
        queries = [
            {"query": name, "neighbors": [_as_dict(one) for one in near]}
            for name, near in zip(inputs.names.tolist(), found, strict=True)
        ]
        print_json({"model": str(options.model), "k": options.k, "queries": queries})
    else:
        for name, near in zip(inputs.names.tolist(), found, strict=True):
            print_neighbors(name, near)
        if options.html is not None:
            print(f"The page is in {options.html}.")
    return INCOMPLETE if skipped else None


def print_neighbors(query: str, neighbors: list[Neighbor]) -> None:
    """Print the neighbours of a query, nearest first.

    Parameters
    ----------
    query : str
        The name of the query.
    neighbors : list of Neighbor
        The neighbours.
    """
    print(f"{query}: distance, class, name of the nearest training examples")
    width = max(len(one.label) for one in neighbors)
    for one in neighbors:
        print(f"  {one.distance:8.4f}  {one.label:<{width}}  {one.name}")


def _as_dict(neighbor: Neighbor) -> dict[str, Any]:
    return {"name": neighbor.name, "label": neighbor.label, "distance": neighbor.distance}


SEARCH = Command(
    add_arguments,
    run,
    (
        "covmetric search textures.model new.png -k 5",
        "covmetric search textures.model new.png -k 12 --html neighbours.html   # with pictures",
        "covmetric search trials.model session2.npz --json",
    ),
)

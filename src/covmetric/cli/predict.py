"""`covmetric predict MODEL FILES...`: the class of new examples."""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import asdict
from pathlib import Path

from covmetric.cli.command import INCOMPLETE, Command
from covmetric.cli.data import (
    add_model_argument,
    add_skip_broken_argument,
    print_skipped,
    read_model_view,
    usable_images,
)
from covmetric.cli.tables import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    add_model_argument(parser)
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="FILES",
        help="images and folders of images, or .npz, .npy and .fif files with X of the kind that the model takes; "
        "if the model recentres sessions, each file without groups counts as one session, and files of one example "
        "form one session together",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--csv", action="store_true", help="print CSV: name, predicted, probability, and one column per class"
    )
    form.add_argument("--json", action="store_true", help="print only the result, as JSON")
    add_skip_broken_argument(parser)


def run(options: argparse.Namespace) -> int | None:
    """Load the model, and print the class of each example.

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
    view.check_classifies()

    from covmetric.datasets.several_files import read_queries
    from covmetric.tasks import predict

    inputs = read_queries(options.files, view.kind, view.check_channels, view.takes_sessions)
    inputs, skipped = usable_images(view, inputs, options.skip_broken)
    predictions = predict(view, inputs.names, inputs.examples, inputs.groups) if len(inputs) else []
    print_skipped(skipped, options.command)
    if options.json:
        print_json({"model": str(options.model), "predictions": [asdict(one) for one in predictions]})
    elif options.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["name", "predicted", "probability", *view.classes])
        for one in predictions:
            writer.writerow([one.name, one.predicted, one.probability, *one.probabilities.values()])
    else:
        width, class_width = (
            max((len(text) for text in texts), default=0)
            for texts in ([one.name for one in predictions], [one.predicted for one in predictions])
        )
        for one in predictions:
            print(f"{one.name:<{width}}  {one.predicted:<{class_width}}  {one.probability:.2f}")
        if predictions and view.note_on_probabilities:
            print(view.note_on_probabilities, file=sys.stderr)
    return INCOMPLETE if skipped else None


PREDICT = Command(
    add_arguments,
    run,
    (
        "covmetric predict textures.model new.png other.jpg",
        "covmetric predict textures.model inbox/ --csv > classes.csv",
        "covmetric predict trials.model session2.npz --json",
    ),
)

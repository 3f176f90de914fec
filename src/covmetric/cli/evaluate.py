"""`covmetric evaluate MODEL DATA`: classify labelled data with a model."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from covmetric.cli.arguments import add_report_argument, check_page, say_page, written_files
from covmetric.cli.command import INCOMPLETE, Command
from covmetric.cli.data import (
    add_data_arguments,
    add_model_argument,
    print_skipped,
    read_labelled,
    read_model_view,
    short,
    usable_images,
)
from covmetric.cli.tables import print_json, print_wrapped

if TYPE_CHECKING:
    from covmetric.tasks import Evaluation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    add_model_argument(parser)
    add_data_arguments(parser, features=False)
    parser.add_argument("--json", action="store_true", help="print only the result, as JSON")
    add_report_argument(parser)


def run(options: argparse.Namespace) -> int | None:
    """Load the model, read the data, and print how many predictions are right.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.

    Returns
    -------
    int or None
        The exit code.
    """
    check_page("--report", options.report)
    view = read_model_view(options.model)
    view.check_classifies()
    kind = None if options.data.is_dir() else view.kind
    inputs = read_labelled([options.data], kind, options.labels, written_files(options))
    if inputs.kind != view.kind:
        raise ValueError(f"{options.data} holds {inputs.kind}, but the model takes {view.kind}")
    view.check_channels(options.data, inputs.channels)
    inputs, skipped = usable_images(view, inputs, options.skip_broken)

    from covmetric.tasks import count_training_names, data_record, evaluate, origin, training_names_in_words

    evaluation = evaluate(view, inputs.names, inputs.examples, inputs.y, inputs.groups)
    print_skipped(skipped, options.command)
    _warn_of_unknown(evaluation, view.classes)
    labels, groups = evaluation.labels, inputs.groups
    n_training_names = count_training_names(view, inputs.names, inputs.examples, groups)
    result = {
        **origin(options.arguments),
        "data": data_record(options.data, inputs.kind, labels, len(view.features), groups, skipped),
        "model": {"path": str(options.model), **view.as_dict()},
        "parameters": view.parameters(),
        "certificate": view.certificate(),
        "n_training_names": n_training_names,
        **evaluation.as_dict(),
    }
    if options.json:
        from covmetric.report import evaluation_neighbors, neighbors_record

        neighbors = evaluation_neighbors(view, inputs, result["predictions"])
        result["neighbors"] = None if neighbors is None else neighbors_record(neighbors)
    if options.report is not None:  # before anything is printed, because a reader may close the output early
        from covmetric.report import evaluation_page, write_page

        write_page(evaluation_page(result, view, inputs), options.report)
    if options.json:
        print_json(result)
    else:
        print_evaluation(evaluation, training_names_in_words(n_training_names, len(inputs)))
        if evaluation.errors and view.note_on_probabilities:
            print_wrapped(view.note_on_probabilities)
    if options.report is not None:
        say_page(options)
    return INCOMPLETE if skipped else None


def _warn_of_unknown(evaluation: Evaluation, known: list[str]) -> None:
    """Print on the standard error which classes of the labels the model does not know."""
    unknown = evaluation.unknown
    if unknown:
        count = sum(label in unknown for label in evaluation.labels)
        print(
            f"warning: the model does not know {_listed(unknown)}, only {_listed(known)}: the {count} examples of "
            "unknown classes always count as errors",
            file=sys.stderr,
        )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"{', '.join(repr(short(name, 40)) for name in names[:10])}{more}"


def print_evaluation(evaluation: Evaluation, note: str = "") -> None:
    """Print the accuracy, the classes, and the errors by name.

    Parameters
    ----------
    evaluation : Evaluation
        The result.
    note : str, default=""
        A sentence about the accuracy, to be printed below it.
    """
    low, high = evaluation.interval
    n_right = len(evaluation.labels) - len(evaluation.errors)
    print_wrapped(
        f"{n_right} of {len(evaluation.labels)} are right: {100 * evaluation.accuracy:.1f} percent (95 percent "
        f"interval {100 * low:.1f} to {100 * high:.1f}, if the examples are independent)."
    )
    if note:
        print_wrapped(note)
    rows = evaluation.per_class()
    width = max(5, *(len(short(row["class"], 30)) for row in rows))
    print(f"\n{'class':<{width}} {'examples':>9} {'recall':>7} {'precision':>10}")
    for row in rows:
        recall, precision = (
            f"{100 * row[key]:.1f}" if row[key] is not None else "-" for key in ("recall", "precision")
        )
        print(f"{short(row['class'], 30):<{width}} {row['n']:>9} {recall:>7} {precision:>10}")
    if evaluation.errors:
        print("\nerrors: name, true class, predicted class, probability")
        for label, one in evaluation.errors[:20]:
            print(f"  {one.name}  {label}  {one.predicted}  {one.probability:.2f}")
        if len(evaluation.errors) > 20:
            print(f"  ... and {len(evaluation.errors) - 20} more (--json lists all)")


EVALUATE = Command(
    add_arguments,
    run,
    (
        "covmetric evaluate textures.model new-textures/ --report report.html",
        "covmetric evaluate trials.model session2.npz --json > session2.json",
    ),
)

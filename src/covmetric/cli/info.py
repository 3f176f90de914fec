"""`covmetric info MODEL`: what a model holds."""

from __future__ import annotations

import argparse

from covmetric.cli.command import Command
from covmetric.cli.data import add_model_argument, read_model_view
from covmetric.cli.tables import print_json, print_wrapped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    add_model_argument(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--card", action="store_true", help="print a model card, in Markdown")
    form.add_argument("--json", action="store_true", help="print only the result, as JSON")


def run(options: argparse.Namespace) -> int | None:
    """Load the model, and print what it holds.

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

    from covmetric.tasks import model_card, pairs_in_words, setting_in_words, summary

    if options.card:
        print(model_card(view, options.model.stem), end="")
        return None
    facts = {"model": str(options.model), **summary(view)}
    if options.json:
        print_json(facts)
        return None
    print_wrapped(f"{' > '.join(view.steps)}, takes {'pairs of ' if view.compares_pairs else ''}{view.kind}")
    if view.compares_pairs:
        print_wrapped(pairs_in_words(view), indent="  ")
    if view.classes and view.n_references:
        counts = ", ".join(f"{name} ({count})" for name, count in facts["class_counts"].items())
        print_wrapped(f"{view.n_references} references, by class: {counts}", indent="  ")
    for name, value in facts["parameters"].items():
        if value is not None and name != "steps":
            print(f"{name}: {setting_in_words(name, value)}")
    print_wrapped(f"accuracy: {' '.join(facts['accuracy'])}", indent="  ")
    certificate = facts["certificate"]
    print_wrapped(f"certificate: {certificate['text'] if certificate else 'the metric is fixed, nothing was solved'}")
    return None


INFO = Command(
    add_arguments,
    run,
    ("covmetric info textures.model", "covmetric info textures.model --card > MODEL_CARD.md"),
)

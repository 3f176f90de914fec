"""`covmetric fit DATA -o MODEL`: learn from labelled data and write a model."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from covmetric.cli.arguments import (
    check_output,
    integer_at_least,
    nonnegative_number,
    number_of_jobs,
    positive_number,
    written_files,
)
from covmetric.cli.command import INCOMPLETE, INTERRUPTED, Command
from covmetric.cli.data import add_data_arguments, print_skipped, read_labelled, shows_progress
from covmetric.cli.tables import print_json, print_wrapped

_RULES = ("auto", "neighbors", "mean", "lda", "logistic", "svm")
_RULES_OF_NEIGHBORS = ("auto", "neighbors")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    add_data_arguments(parser, several=True)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="MODEL", help="write the model to this file")
    parser.add_argument(
        "--rule",
        choices=_RULES,
        default="auto",
        help="decision rule; auto combines several in a metric that cross-validation chooses (default: %(default)s)",
    )
    parser.add_argument(
        "--recentre",
        action="store_true",
        help="move every session (a group of DATA) to its own mean, and so every new session that the model "
        "classifies; this uses no labels",
    )
    parser.add_argument("--phi", metavar="NAME", help="embedding of the matrices, such as log (default: chosen)")
    parser.add_argument(
        "--lam", type=_lam, metavar="LAMBDA", help="regularisation; inf keeps the metric fixed (default: chosen)"
    )
    parser.add_argument(
        "--neighbors",
        type=integer_at_least(1),
        metavar="K",
        help="with the rule neighbors or auto: number of neighbours that vote (default: 3)",
    )
    parser.add_argument(
        "--patches",
        type=integer_at_least(2),
        metavar="SIZE",
        help="describe images by square patches of SIZE pixels instead of as a whole",
    )
    parser.add_argument(
        "--decision",
        choices=("vote", "nearest-set"),
        help="with --patches: the patches vote, or the class is that of the training image with the nearest set of "
        "patches (default: vote)",
    )
    parser.add_argument(
        "--reg",
        type=nonnegative_number,
        metavar="FRACTION",
        help="fraction of its mean eigenvalue that is added to the diagonal of each matrix (default: 1e-06, or 0 "
        "with --recentre)",
    )
    parser.add_argument("--no-thumbnails", action="store_true", help="do not store small pictures of the images")
    parser.add_argument("--seed", type=integer_at_least(0), default=0, metavar="N", help="seed (default: %(default)s)")
    parser.add_argument("--jobs", type=number_of_jobs, metavar="N", help="number of processes (default: 1)")
    parser.add_argument("--keep", action="store_true", help="after Ctrl-C, write the best model so far")
    parser.add_argument("--json", action="store_true", help="print only the result, as JSON")


def run(options: argparse.Namespace) -> int | None:
    """Read the data, fit the model and write it.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.

    Returns
    -------
    int or None
        The exit code.
    """
    _check_options(options)
    check_output("-o", options.out)
    inputs = read_labelled(options.files, options.kind, options.labels, written_files(options))

    from covmetric.models import save_model
    from covmetric.tasks import FitSettings, ModelView, fit_model, groups_mix_classes, summary

    started = time.perf_counter()
    settings = FitSettings(
        rule=options.rule,
        phi=options.phi,
        lam=options.lam,
        n_neighbors=options.neighbors,
        reg=options.reg,
        recentre=options.recentre,
        features=options.features,
        patches=options.patches,
        decision=options.decision or "vote",
        thumbnails=not options.no_thumbnails,
        skip_broken=options.skip_broken,
        seed=options.seed,
        n_jobs=options.jobs,
        progress=shows_progress(options),
    )
    result = fit_model(inputs, settings)
    print_skipped(result.skipped, options.command)
    if result.interrupted and not options.keep:
        print("no model was written; --keep writes the best so far", file=sys.stderr)
        raise KeyboardInterrupt
    save_model(result.model, options.out)
    view = ModelView(result.model)
    facts = {
        "model": str(options.out),
        "n_examples": result.n_examples,
        "n_groups": result.n_groups,
        "skipped": [list(one) for one in result.skipped],
        "interrupted": result.interrupted,
        "seconds": time.perf_counter() - started,
        **summary(view),
    }
    if options.json:
        print_json(facts)
    else:
        may_recentre = options.patches is None and groups_mix_classes(inputs)
        _print_result(facts, _about_groups(facts, options.recentre, may_recentre))
    if result.interrupted:
        return INTERRUPTED
    return INCOMPLETE if result.skipped else None


def _check_options(options: argparse.Namespace) -> None:
    """Raise ValueError for options that would have no effect."""
    if options.decision is not None and options.patches is None:
        raise ValueError("--decision needs --patches SIZE: an image that is described as a whole has no patches")
    if options.neighbors is not None and options.rule not in _RULES_OF_NEIGHBORS:
        raise ValueError(f"--neighbors needs --rule neighbors or auto: the rule {options.rule} uses no neighbours")


def _about_groups(facts: dict[str, object], recentred: bool, may_recentre: bool) -> str:
    """Return how many groups there are, and what they were used for, or "" if there are none."""
    n_groups = facts["n_groups"]
    if n_groups is None:
        return ""
    if recentred:
        what = "1 session, which was" if n_groups == 1 else f"{n_groups} sessions, each of which was"
        return f"They form {what} moved to its own mean, as new sessions will be."
    text = f"They form {n_groups} group{'' if n_groups == 1 else 's'}"
    if not may_recentre or facts["kind"] == "vectors":  # --recentre refuses them
        return f"{text}."
    return f"{text}, used for folds and pairs only; --recentre moves every session to its own mean."


def _print_result(facts: dict[str, object], about_groups: str) -> None:
    classes, rule, accuracy = facts["classes"], facts["rule"], facts["accuracy"]
    assert isinstance(classes, list) and isinstance(rule, dict) and isinstance(accuracy, list)
    settings = facts["parameters"]
    assert isinstance(settings, dict)
    from covmetric.learning.rules import describe_rule

    print_wrapped(
        f"Learned from {facts['n_examples']} {facts['kind']} of {len(classes)} classes: {', '.join(classes)}."
    )
    if about_groups:
        print_wrapped(about_groups)
    print_wrapped(f"phi {settings.get('phi')}, lambda {settings.get('lam')}, rule {describe_rule(rule)}.")
    for sentence in accuracy:
        print_wrapped(sentence)
    if facts["score"] is None:
        steps = facts["steps"]
        assert isinstance(steps, list)
        compare = "" if "Recentre" in steps else ", or covmetric compare on these data"  # compare does not recentre
        print_wrapped(f"To measure it: covmetric evaluate {facts['model']} OTHER_DATA{compare}.")
    certificate = facts["certificate"]
    if isinstance(certificate, dict):
        print_wrapped(f"Certificate: {certificate['text']}.")
    else:
        print_wrapped("The metric is fixed, so there is nothing to certify.")
    print_wrapped(f"The model is in {facts['model']}.")


def _lam(text: str) -> float:
    return float("inf") if text.lower() == "inf" else positive_number(text)


FIT = Command(
    add_arguments,
    run,
    (
        "covmetric fit textures/ -o textures.model                # one folder of images per class",
        "covmetric fit textures/ -o textures.model --patches 64   # several regions per image",
        "covmetric fit photos/ --labels labels.csv -o photos.model",
        "covmetric fit trials.npz -o trials.model                 # X, y and groups",
        "covmetric fit trials.npz -o trials.model --recentre      # every session at its own mean",
        "covmetric fit monday-epo.fif tuesday-epo.fif -o trials.model --recentre",
        "covmetric fit trials-epo.fif -o trials.model --rule mean --phi relog --lam 0.01",
    ),
)

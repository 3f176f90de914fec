"""Results as text on the standard output."""

from __future__ import annotations

import json
import math
import shutil
import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmetric.experiments.fold_results import ComparisonTable
    from covmetric.experiments.gesture_results import GestureTable, LearnedRun
    from covmetric.experiments.gesture_transfer import Transfer
    from covmetric.experiments.reports import Report

_WIDTH = 100


def print_json(value: Any) -> None:
    """Print a value as JSON, with infinity and NaN as strings.

    Parameters
    ----------
    value : dict, list, str, number, bool or None
        The value.

    Examples
    --------
    >>> print_json({"lam": float("inf")})
    {
     "lam": "inf"
    }
    """
    print(json.dumps(_finite(value), indent=1, allow_nan=False))


def _finite(value: Any) -> Any:
    """Replace infinity and NaN, which JSON does not have, by their names."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def print_report(report: Report) -> None:
    """Print the text and the tables of a report.

    Parameters
    ----------
    report : Report
        The report.
    """
    from covmetric.experiments.reports import TextTable

    print(report.title)
    for part in report.parts:
        if isinstance(part, TextTable):
            print(f"\n{part.text()}")
        elif isinstance(part, str):
            print("\n" + "\n".join(textwrap.fill(line, _WIDTH) for line in part.splitlines()))


def print_comparison(table: ComparisonTable, content: str) -> None:
    """Print accuracies, differences, times and chosen settings.

    Parameters
    ----------
    table : ComparisonTable
        The result of `compare`.
    content : str
        What the matrices are.
    """
    grouped = "" if table.groups is None else f" that keep {table.groups} groups together"
    times = f", drawn {table.repeats} times" if table.repeats > 1 else ""
    print(f"{table.examples} matrices, {table.size} x {table.size}, {table.classes} classes ({content}).")
    print(f"{table.folds} folds{grouped}{times}, the same for all methods.")
    print("accuracy: in percent, mean and standard error over the folds.")
    best = table.best_fixed
    if best is not None:
        print(f"difference: to {best.method}, the best fixed metric on these folds; paired by fold.")
    print("fit, predict: median seconds per fold; the time to fit includes tuning.")
    print("chosen: settings chosen on the training parts (in how many folds); number of candidates.\n")
    width = max(len(row.method) for row in table.rows)
    print(f"{'kind':>9} {'method':<{width}} {'accuracy':>13} {'difference':>13} {'fit':>8} {'predict':>8}  chosen")
    for row in table.summary():
        start = f"{row.kind:>9} {row.method:<{width}}"
        if row.failure:
            print(f"{start} failed: {row.failure}")
            continue
        accuracy = _percent(row.accuracy, row.standard_error)
        difference = _percent(row.difference, row.difference_error, "+")
        seconds = f"{row.fit_seconds:>8.3f} {row.predict_seconds:>8.3f}"
        partial = f"[{row.folds} of {table.folds * table.repeats} folds] " if table.interrupted else ""
        chosen = f"{_shortened(row.chosen)}; {row.candidates} candidates" if row.chosen else ""
        print(f"{start} {accuracy:>13} {difference:>13} {seconds}  {partial}{chosen}".rstrip())


def _percent(value: float | None, error: float | None, sign: str = "") -> str:
    if value is None:
        return ""
    return f"{100 * value:{sign}.1f}" + ("" if error is None else f" ± {100 * error:.1f}")


def _shortened(chosen: str, limit: int = 2) -> str:
    settings = chosen.split(", ")
    return ", ".join([*settings[:limit], *(["..."] if len(settings) > limit else [])])


def print_gestures(table: GestureTable) -> None:
    """Print means and ranges of the accuracies, how covmetric compares, its chosen settings and a certificate.

    Parameters
    ----------
    table : GestureTable
        The result of `gestures`.
    """
    recommended = table.learned_methods[0]
    print_wrapped(
        f"{table.windows} covariance matrices, {table.channels} x {table.channels}; {len(table.seeds)} seeds."
    )
    print_wrapped(f"{', '.join(table.people)}: accuracy in percent by person, mean over the seeds.")
    print_wrapped("mean: over people and seeds; range: lowest and highest mean over the people by seed.")
    print_wrapped("fit, predict: mean seconds; the time to fit includes tuning.")
    print_wrapped("*: recommended for classification; it chooses the metric and combines decision rules.")
    width = max(map(len, table.methods))
    heads = "".join(f"{person:>7}" for person in table.people)
    print(f"\n  {'':<{width}}{heads}{'mean':>7}  {'range':<12}{'fit':>6}{'predict':>9}")
    kind = None
    for summary in table.summary():
        if summary.kind != kind:
            kind = summary.kind
            print(kind)
        mark = "*" if summary.method == recommended else " "
        cells = "".join(f"{100 * accuracy:>7.1f}" for accuracy in (*summary.accuracies, summary.accuracy))
        spread = f"{100 * summary.lowest:.1f} to {100 * summary.highest:.1f}" if summary.seeds > 1 else ""
        seconds = f"{summary.fit_seconds:>6.2f}{summary.predict_seconds:>9.3f}"
        print(f"{mark} {summary.method:<{width}}{cells}  {spread:<12}{seconds}")
    print()
    print_wrapped(
        "Mean difference ± standard error over the seeds, paired by person and seed. It measures the draw of folds and "
        "pairs, and says nothing about other people. The best fixed metric and the best classifier of pyRiemann are "
        "picked on the test session, which flatters them."
    )
    for method in table.learned_methods:
        print_wrapped(f"- {table.verdict(method)}", indent="  ")
    for method in table.learned_methods:
        print()
        print_wrapped(f"{method}: what cross-validation on the first session chose (how often)")
        for person in table.people:
            print_wrapped(f"- person {person}: {_choices(table, method, person)}", indent="  ")
    typical = table.typical(recommended)
    row = typical.row
    print()
    print_wrapped(f"The run nearest to the mean accuracy ({row.method}, person {row.person}, seed {row.seed}):")
    certified = typical.classifier.learner_.result_
    print_wrapped(str(certified or "W = I was the best choice, so there is no problem to certify."))


def print_transfer(rows: list[Transfer]) -> None:
    """Print what recentring is worth in new sessions and for new people.

    Parameters
    ----------
    rows : list of Transfer
        The result of `gesture_transfer`.
    """
    print_wrapped(
        "New sessions and people: an SVM in a learned metric, trained on the other session of a person, or on the "
        "other person; accuracy in percent. Recentre moves every session to its own mean, without labels: trial by "
        "trial in the order of recording, in which each gesture is a block (running mean), or by the mean of the whole "
        "session."
    )
    ways = list(rows[0].accuracies)
    print(f"\n  {'':<20}" + "".join(f"{way:>19}" for way in ways))
    for row in rows:
        name = f"{row.case}: {row.person} {row.session}"
        print(f"  {name:<20}" + "".join(f"{100 * row.accuracies[way]:>19.1f}" for way in ways))
    for case in dict.fromkeys(row.case for row in rows):
        means = [sum(row.accuracies[way] for row in rows if row.case == case) for way in ways]
        count = sum(row.case == case for row in rows)
        print(f"  {case + ', mean':<20}" + "".join(f"{100 * mean / count:>19.1f}" for mean in means))


def print_wrapped(text: str, indent: str = "") -> None:
    """Print lines of text, broken at the width of the terminal.

    Parameters
    ----------
    text : str
        The lines.
    indent : str, default=""
        What to print before the second and each later part of a broken line.
    """
    width = min(_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns)
    for line in text.splitlines():
        print(textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False))


def _choices(table: GestureTable, method: str, person: str) -> str:
    """Return the settings that the seeds chose, the most frequent first."""
    chosen = Counter(
        ", ".join(_searched_settings(run))
        for run in table.learned
        if (run.row.method, run.row.person) == (method, person)
    )
    return "; ".join(f"{words} ({count})" for words, count in chosen.most_common())


def _searched_settings(run: LearnedRun) -> list[str]:
    """Return the chosen settings without the pairs and the slack, of which there is a single candidate."""
    from covmetric.learning.rules import describe_rule

    combined = run.classifier.rule_.get("rules", [])
    left_out = {"pairs", "slack", *(name for rule in combined for name in rule)}
    metric = {name: value for name, value in run.classifier.learner_.best_params_.items() if name not in left_out}
    return [*_setting_texts(metric), *([describe_rule(run.classifier.rule_)] if combined else [])]


def _setting_texts(settings: dict[str, Any]) -> list[str]:
    """Return settings as text, numbers with their names."""
    texts = {
        name: f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in settings.items()
        if value is not None
    }
    named = ("lam", "C", "n_neighbors")
    return [f"{name} {text}" if name in named else text for name, text in texts.items()]

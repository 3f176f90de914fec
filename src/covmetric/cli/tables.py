"""Results as text on the standard output."""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmetric.experiments.fold_results import ComparisonTable
    from covmetric.experiments.gesture_results import GestureTable, LearnedRun
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
    """Print means and ranges of the accuracies, how the learned metrics compare, their settings and a certificate.

    Parameters
    ----------
    table : GestureTable
        The result of `gestures`.
    """
    print(f"{table.windows} covariance matrices, {table.channels} x {table.channels}; {len(table.seeds)} seeds.")
    print("accuracy: in percent, mean over seeds and people; range: lowest and highest mean over the people by seed.")
    print("fit, predict: mean seconds; the time to fit includes tuning.\n")
    width = max(map(len, table.methods))
    heads = "".join(f"{'person ' + person:>11}" for person in table.people)
    print(f"{'kind':>13} {'method':<{width}}{heads}{'accuracy':>10} {'range':<14}{'fit':>7}{'predict':>9}")
    for summary in table.summary():
        cells = "".join(f"{100 * accuracy:>11.1f}" for accuracy in summary.accuracies)
        spread = f"{100 * summary.lowest:.1f} to {100 * summary.highest:.1f}" if summary.seeds > 1 else ""
        start = f"{summary.kind:>13} {summary.method:<{width}}{cells}{100 * summary.accuracy:>10.1f} {spread:<14}"
        print(f"{start}{summary.fit_seconds:>7.2f}{summary.predict_seconds:>9.3f}")
    print("\nMean difference ± standard error over the seeds, paired by person and seed:")
    for method in table.learned_methods:
        _print_item(table.verdict(method))
    for method in table.learned_methods:
        print(f"\n{method}: what cross-validation on the first session chose (how often)")
        for person in table.people:
            _print_item(f"person {person}: {_choices(table, method, person)}")
    typical = table.typical(table.learned_methods[0])
    row = typical.row
    print(f"\nThe run nearest to the mean accuracy ({row.method}, person {row.person}, seed {row.seed}):")
    print(typical.classifier.learner_.result_ or "W = I was the best choice, so there is no problem to certify.")


def _print_item(text: str) -> None:
    print(textwrap.fill(f"- {text}", _WIDTH, subsequent_indent="  "))


def _choices(table: GestureTable, method: str, person: str) -> str:
    """Return the settings that the seeds chose, the most frequent first."""
    chosen = Counter(
        ", ".join(f"lam {value:g}" if name == "lam" else str(value) for name, value in _searched_settings(run).items())
        for run in table.learned
        if (run.row.method, run.row.person) == (method, person)
    )
    return "; ".join(f"{words} ({count})" for words, count in chosen.most_common())


def _searched_settings(run: LearnedRun) -> dict[str, Any]:
    """Return the chosen settings without the slack, of which there is a single candidate."""
    return {name: value for name, value in run.classifier.learner_.best_params_.items() if name != "slack"}

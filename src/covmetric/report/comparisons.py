"""The page of a comparison: what `covmetric compare --json` wrote, or its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from covmetric.experiments.estimates import BETTER, NO_DIFFERENCE, WORSE, Estimate, verdict
from covmetric.experiments.fold_results import ComparisonTable, MethodSummary
from covmetric.experiments.method_results import LEARNED
from covmetric.experiments.reports import comparison_figure
from covmetric.report.comparison_details import confusion_section, neighbors_section
from covmetric.report.content import Bullets, Page, Paragraphs, Plot, Plots, Section, Table
from covmetric.report.data import data_section
from covmetric.report.origin import made_by, origin_sections
from covmetric.report.svg import inline_svg
from covmetric.solvers import Status

_VERDICTS = {
    BETTER: "above it by more than two standard errors",
    WORSE: "below it by more than two standard errors",
    NO_DIFFERENCE: "not different from it by more than two standard errors",
}
_NOT_PROVEN = (
    "The best fixed metric was picked on these folds, which flatters it.",
    "Folds share training examples: their standard errors are too small for a test of significance.",
    "With many methods, one of them is likely to look good by chance. Confirm a choice on data that were not compared.",
)

_CERTIFICATES = (
    "A certificate is a statement about the optimiser: no metric has an objective that is lower by more than the gap.",
    "It proves nothing about the accuracy, about new data, or about the choice of the embedding, the pairs or lambda.",
    "The report of a model that covmetric fit made has the certificate in full.",
)


def comparison_page(run: Mapping[str, Any]) -> Page:
    """Return the page of a comparison.

    Parameters
    ----------
    run : mapping
        What ``covmetric compare --json`` writes; docs/guide/cli.md lists the entries.

    Returns
    -------
    Page
        The page.

    Raises
    ------
    ValueError
        If entries are missing or invalid.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.experiments.compare import compare
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> table = compare(data.X, data.y, methods=["log-3nn", "covmetric-3nn"], folds=2)
    >>> comparison_page(table.as_dict()).title
    'Comparison of methods'
    """
    try:
        table = ComparisonTable.from_dict(dict(run))
        summary = table.summary()
        details = [confusion_section(table), neighbors_section(table)]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ValueError(f"the entries of the comparison are incomplete or invalid: {error}") from error
    data = run.get("data")
    name = f" on {data['name']}" if isinstance(data, Mapping) and data.get("name") else ""
    sections = [
        Section("Accuracy", [_table(table, summary), *_plot(table, str(name or "comparison")), Bullets(_NOT_PROVEN)]),
        *details,
        data_section(data if isinstance(data, Mapping) else {}, _facts(table)),
        Section("Certificate", [Paragraphs([_solved(table), *_CERTIFICATES])]),
        *origin_sections(
            run.get("parameters") or _settings(table),
            run.get("versions") or {},
            str(run.get("command") or "covmetric compare"),
            run.get("commit"),
        ),
    ]
    return Page(f"Comparison of methods{name}", _headline(table, summary), sections, made_by())


def _headline(table: ComparisonTable, summary: Sequence[MethodSummary]) -> str:
    """Say in a sentence how the best method of covmetric compares with the best fixed metric and with all others."""
    done = [row for row in summary if row.accuracy is not None]
    if not done:
        return "Every method failed."
    best = max(done, key=_accuracy)
    learned = max((row for row in done if row.kind == LEARNED), key=_accuracy, default=None)
    text = f"{best.method} has the highest accuracy, {_percent(best.accuracy, best.standard_error)} percent."
    fixed = table.best_fixed
    if learned is not None and learned is not best:
        accuracy = _percent(learned.accuracy, learned.standard_error)
        text += f" The best method of covmetric, {learned.method}, has {accuracy} percent."
    if learned is not None and fixed is not None and learned.difference is not None:
        difference = Estimate(learned.difference, learned.difference_error, learned.folds)
        points = _percent(learned.difference, learned.difference_error, "+")
        text += (
            f" Its difference to {fixed.method}, the best fixed metric, is {points} points, paired by fold: it is "
            f"{_VERDICTS[verdict(difference)]}."
        )
    return text + (" The comparison was interrupted." if table.interrupted else "")


def _accuracy(row: MethodSummary) -> float:
    return -1.0 if row.accuracy is None else row.accuracy


def _table(table: ComparisonTable, summary: Sequence[MethodSummary]) -> Table:
    best = table.best_fixed
    rows = [
        [
            row.method,
            _percent(row.accuracy, row.standard_error),
            _percent(row.difference, row.difference_error, "+"),
            row.kind,
            "" if row.fit_seconds is None else f"{row.fit_seconds:.3g}",
            f"failed: {row.failure}" if row.failure else row.chosen,
        ]
        for row in sorted(summary, key=_accuracy, reverse=True)
    ]
    note = "Accuracy in percent, mean and standard error over the folds. "
    if best is not None:
        note += f"Difference to {best.method}, the best fixed metric on these folds, paired by fold. "
    note += "Seconds to fit include tuning. Chosen: settings chosen on the training parts, and in how many folds."
    head = ("method", "accuracy", "difference", "kind", "seconds to fit", "chosen")
    return Table("Accuracies, the highest first", head, rows, note, texts=(3, 5))


def _plot(table: ComparisonTable, title: str) -> list[Plots]:
    if all(row.failure for row in table.rows):
        return []
    svg = inline_svg(comparison_figure(table, title.strip()), "accuracies")
    caption = (
        "Mean accuracy of each method, with the accuracy of each fold as a dot and the standard error as whiskers. The "
        "table has the numbers."
    )
    return [Plots([Plot("Accuracies", svg, caption, wide=True)])]


def _solved(table: ComparisonTable) -> str:
    """Say how far the metrics that were learned in the folds are from the optimum of their problems."""
    folds = [fold for row in table.rows for fold in row.folds if fold.status and fold.relative_gap is not None]
    if not folds:
        return "This result holds no certificates: nothing was solved in it, or an earlier version wrote it."
    solved = [float(fold.relative_gap) for fold in folds if fold.status == Status.SOLVED.name]  # type: ignore[arg-type]
    text = f"{len(solved)} of the {len(folds)} metrics that were learned in the folds are solved to the tolerance"
    return text + (f", with a relative duality gap of at most {max(solved):.2g}." if solved else ".")


def _facts(table: ComparisonTable) -> list[tuple[str, str]]:
    groups = [] if table.groups is None else [("groups that folds keep together", str(table.groups))]
    return [
        ("matrices", f"{table.examples}, {table.size} x {table.size}"),
        ("classes", str(table.classes)),
        ("folds", f"{table.folds}" + (f", drawn {table.repeats} times" if table.repeats > 1 else "")),
        *groups,
    ]


def _settings(table: ComparisonTable) -> dict[str, Any]:
    return {"folds": table.folds, "repeats": table.repeats, "seed": table.seed, "reg": table.reg}


def _percent(value: float | None, error: float | None, sign: str = "") -> str:
    if value is None:
        return ""
    return Estimate(100 * value, None if error is None else 100 * error, 0).text(1, sign=bool(sign))

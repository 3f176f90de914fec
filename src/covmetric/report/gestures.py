"""The page of the demo: hand gestures of several people."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from covmetric.experiments.gesture_results import GestureTable
from covmetric.experiments.reports import gesture_figure
from covmetric.report.certificate import certificate_section
from covmetric.report.confusion import confusion_plot
from covmetric.report.content import Bullets, Facts, Page, Paragraphs, Part, Plot, Plots, Section, Table
from covmetric.report.model_plots import model_plots
from covmetric.report.models import find_references
from covmetric.report.neighbors import LabelledExamples, neighbors_part
from covmetric.report.origin import made_by, origin_sections
from covmetric.report.svg import inline_svg
from covmetric.tasks import ModelView, package_versions

_NOT_PROVEN = (
    "Standard errors are over the seeds of folds and pairs. They say nothing about other people.",
    "The best fixed metric and the best classifier of pyRiemann are picked on the test session, which flatters them.",
)


def gesture_page(table: GestureTable, command: str) -> Page:
    """Return the page of the demo.

    Parameters
    ----------
    table : GestureTable
        The result of `gestures`.
    command : str
        The command that repeats it.

    Returns
    -------
    Page
        The page. Its plots and neighbours belong to the run whose accuracy is nearest to the mean.

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.experiments.gesture_results import LearnedRun, Row
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> kinds = [("fixed metric, 3-NN", "log"), ("pyRiemann", "MDM"), ("covmetric", "CovMetricClassifier")]
    >>> rows = [Row(kind, method, "mg", 0, 0.9, 1.0, 0.1) for kind, method in kinds]
    >>> run = LearnedRun(rows[-1], CovMetricClassifier(random_state=0).fit(data.X, data.y))
    >>> gesture_page(GestureTable(rows, [run], {"mg": (data.X, data.y)}, 20, 3), "covmetric demo").title
    'Hand gestures'
    """
    recommended = table.learned_methods[0]
    run = table.typical(recommended)
    classifier, person = run.classifier, run.row.person
    X, y = table.test[person]
    which = f"person {person}, seed {run.row.seed}, the run whose accuracy is nearest to the mean"
    view, references = ModelView(classifier), _named(find_references(classifier), classifier, table)
    predicted = _gestures(table, classifier)[np.searchsorted(classifier.classes_, classifier.predict(X))]
    parts: list[Part] = [_table(table), _overview(table)]
    sections = [
        Section("Accuracy", [*parts, Bullets([table.verdict(m) for m in table.learned_methods]), Bullets(_NOT_PROVEN)]),
        Section("Confusion", [Paragraphs([f"The test windows of {which}."]), _confusion(y, predicted)]),
    ]
    if references is not None:
        queries, wrong = _queries(classifier, X, y, predicted)
        part = neighbors_part(classifier.metric_, references, queries, wrong)
        sections.append(Section("Neighbours", [Paragraphs([f"The test windows of {which}."]), part]))
    sections += [
        Section(
            "What was learned", [Paragraphs([f"The metric of {which}."]), Plots(model_plots(classifier, references))]
        ),
        Section("Data", [Facts(_facts(table))]),
        certificate_section(view.certificate()),
        *origin_sections(view.parameters(), package_versions(), command),
    ]
    return Page("Hand gestures", table.verdict(recommended), sections, made_by())


def _table(table: GestureTable) -> Table:
    recommended = table.learned_methods[0]
    rows = []
    for row in sorted(table.summary(), key=lambda one: -one.accuracy):
        spread = f"{100 * row.lowest:.1f} to {100 * row.highest:.1f}" if row.seeds > 1 else ""
        same = row.method == recommended
        difference = "" if same else table.difference(recommended, row.method).text(sign=True)
        people = [f"{100 * accuracy:.1f}" for accuracy in row.accuracies]
        rows.append([row.method, f"{100 * row.accuracy:.1f}", difference, spread, *people, row.kind])
    head = ("method", "accuracy", f"{recommended} minus this", "range over seeds", *table.people, "kind")
    note = (
        "Percent, mean over people and seeds; the difference paired by person and seed, with its standard error over "
        "the seeds; the range of the mean over the people by seed; the mean over the seeds for each person."
    )
    return Table("Accuracies, the highest first", head, rows, note)


def _overview(table: GestureTable) -> Plots:
    caption = (
        "Left: mean accuracy of each method, with its range over the seeds. Right: the test windows of one person in "
        "a fixed and in the learned metric. The table has the numbers."
    )
    return Plots([Plot("Overview", inline_svg(gesture_figure(table), "overview"), caption, wide=True)])


def _gestures(table: GestureTable, classifier: Any) -> Any:
    """Return the names of the classes, which the experiment numbers in the order of their names."""
    names = np.unique(np.concatenate([np.asarray(y) for _, y in table.test.values()]))
    return names if len(names) == len(classifier.classes_) else np.asarray(classifier.classes_)


def _named(references: LabelledExamples | None, classifier: Any, table: GestureTable) -> LabelledExamples | None:
    """Return the training windows with the names of their classes."""
    if references is None:
        return None
    codes = np.searchsorted(classifier.classes_, classifier.references_.labels)
    names = [f"training window {i}" for i in range(len(codes))]
    return replace(references, labels=[str(name) for name in _gestures(table, classifier)[codes]], names=names)


def _confusion(y: Any, predicted: Any) -> Plots:
    classes = np.unique(np.concatenate([np.asarray(y), np.asarray(predicted)]))
    matrix = confusion_matrix(y, predicted, labels=classes)
    names = [str(name) for name in classes.tolist()]
    return Plots([confusion_plot(matrix, names, "Confusion", "confusion", "windows")])


def _queries(classifier: Any, X: Any, y: Any, predicted: Any) -> tuple[LabelledExamples, Any]:
    """Return the test windows as queries, and the indices of those with a wrong prediction."""
    labels = [str(label) for label in y]
    notes = [f"Predicted class: {label}." for label in predicted]
    wrong = np.flatnonzero(np.asarray(y) != np.asarray(predicted))
    names = [f"test window {i}" for i in range(len(labels))]
    return LabelledExamples(classifier.metric_.embedding.transform(X), labels, names, notes=notes), wrong


def _facts(table: GestureTable) -> list[tuple[str, str]]:
    return [
        ("recordings", "five hand gestures, eight electrodes on the forearm (geomstats)"),
        ("covariance matrices", f"{table.windows}, {table.channels} x {table.channels}"),
        ("people", ", ".join(table.people)),
        ("seeds", f"{len(table.seeds)}"),
        ("protocol", "learn from the first session of a person, test on the second"),
    ]

"""The page of an evaluation: what `covmetric evaluate --json` wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from covmetric.datasets.inputs import Inputs
from covmetric.learning.rules import describe_rule, note_on_probabilities
from covmetric.report.certificate import certificate_section
from covmetric.report.confusion import confusion_plot
from covmetric.report.content import Bullets, Facts, Page, Plots, Section, Table
from covmetric.report.data import data_section
from covmetric.report.evaluation_neighbors import evaluation_neighbors, read_neighbors
from covmetric.report.model_plots import model_plots
from covmetric.report.models import find_references
from covmetric.report.origin import made_by, origin_sections, plain
from covmetric.tasks import ModelView, training_names_in_words

# The largest number of wrong predictions that are listed.
_MAX_ERRORS = 50
_NOT_PROVEN = (
    "The interval assumes independent examples. Views of one object or trials of one person are not independent.",
    "An example of a class that the model does not know is still assigned to one that it knows.",
)


def evaluation_page(run: Mapping[str, Any], view: ModelView | None = None, inputs: Inputs | None = None) -> Page:
    """Return the page of an evaluation.

    Parameters
    ----------
    run : mapping
        What ``covmetric evaluate --json`` writes; docs/guide/cli.md lists the entries.
    view : ModelView or None, default=None
        The model. If given, its plots and the neighbours of examples are shown.
    inputs : Inputs or None, default=None
        The examples that were evaluated, in the order of the predictions. None means that the neighbours of the
        training examples are shown.

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
    >>> run = {
    ...     "accuracy": 0.5, "interval": [0.1, 0.9], "predictions": [], "per_class": [], "certificate": None,
    ...     "confusion": {"classes": ["a", "b"], "matrix": [[1, 0], [1, 0]]}, "data": {"name": "new"},
    ... }
    >>> evaluation_page(run).headline
    '50.0 percent of 2 examples were classified correctly (95 percent interval 10.0 to 90.0).'
    """
    try:
        parts = _accuracy(run)
        headline = _headline(run)
        certificate = certificate_section(run["certificate"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(f"the entries of the evaluation are incomplete or invalid: {error!r}") from error
    data = run.get("data") or {}
    sections = [Section("Accuracy", parts)]
    if view is not None and view.metric is not None:
        sections += _model_sections(view, inputs, run)
    elif run.get("neighbors") is not None:
        sections.append(Section("Neighbours", [read_neighbors(run["neighbors"])]))
    described = run.get("model") or {}
    sections += [
        data_section(data),
        *([Section("Model", [_model_facts(described)])] if described else []),
        certificate,
        *origin_sections(
            run.get("parameters") or {},
            run.get("versions") or {},
            str(run.get("command") or "covmetric evaluate"),
            run.get("commit"),
        ),
    ]
    return Page(f"Evaluation on {data.get('name', 'labelled examples')}", headline, sections, made_by())


def _headline(run: Mapping[str, Any]) -> str:
    low, high = (100 * float(value) for value in run["interval"])
    count = int(np.sum(run["confusion"]["matrix"]))
    note = training_names_in_words(int(run.get("n_training_names") or 0), count)
    return (
        f"{100 * float(run['accuracy']):.1f} percent of {count} examples were classified correctly (95 percent "
        f"interval {low:.1f} to {high:.1f}). {note}"
    ).rstrip()


def _accuracy(run: Mapping[str, Any]) -> list[Any]:
    """Return the confusion, the table by class, and the wrong predictions."""
    classes = [str(name) for name in run["confusion"]["classes"]]
    matrix = np.asarray(run["confusion"]["matrix"], dtype=np.int64)
    more = "The table has recall and precision of each class."
    plot = confusion_plot(matrix, classes, "Confusion", "confusion", "examples", more)
    by_class = [
        [str(row["class"]), str(row["n"]), _percent(row["recall"]), _percent(row["precision"])]
        for row in run["per_class"]
    ]
    wrong = [one for one in run["predictions"] if str(one["label"]) != str(one["predicted"])]
    parts: list[Any] = [
        Plots([plot]),
        Table("By class", ("class", "examples", "recall", "precision"), by_class, "Recall and precision in percent."),
    ]
    if wrong:
        rows = [
            [str(one["name"]), str(one["label"]), str(one["predicted"]), _percent(one.get("probability"))]
            for one in wrong[:_MAX_ERRORS]
        ]
        head = ("name", "true class", "predicted class", "probability, percent")
        parts.append(
            Table(
                "Wrong predictions" if len(wrong) == len(rows) else f"{len(rows)} of {len(wrong)} wrong predictions",
                head,
                rows,
            )
        )
    note = note_on_probabilities((run.get("model") or {}).get("rule") or {}) if run["predictions"] else ""
    return [*parts, Bullets([*_NOT_PROVEN, *([note] if note else [])])]


def _model_sections(view: ModelView, inputs: Inputs | None, run: Mapping[str, Any]) -> list[Section]:
    references = find_references(view.model)
    part = evaluation_neighbors(view, inputs, run["predictions"])
    sections = [] if part is None else [Section("Neighbours", [part])]
    return [*sections, Section("What was learned", [Plots(model_plots(view.model, references))])]


def _model_facts(described: Mapping[str, Any]) -> Any:
    names = {"path": "path", "kind": "takes", "steps": "steps", "rule": "rule", "n_references": "training examples"}
    shown = {**described, "rule": describe_rule(described["rule"])} if described.get("rule") else described
    rows = [(title, plain(shown[name])) for name, title in names.items() if shown.get(name) is not None]
    features = described.get("features") or []
    return Facts([*rows, *([("rows of a matrix", plain(features))] if features else [])])


def _percent(value: Any) -> str:
    return "" if value is None else f"{100 * float(value):.1f}"

"""The page of an evaluation: what `covmetric evaluate --json` wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from covmetric._utils.turns import choose_in_turn
from covmetric._utils.validation import IntArray
from covmetric.datasets.inputs import Inputs
from covmetric.descriptors import make_thumbnail
from covmetric.estimators import ImagePatchClassifier
from covmetric.experiments.neighborhoods import MAX_QUERIES
from covmetric.learning.rules import describe_rule
from covmetric.plotting.fitted import find_metric
from covmetric.report.certificate import certificate_section
from covmetric.report.confusion import confusion_plot
from covmetric.report.content import Bullets, Facts, Page, Plots, Section, Table
from covmetric.report.data import data_section
from covmetric.report.model_plots import model_plots
from covmetric.report.models import find_references
from covmetric.report.neighbors import LabelledExamples, neighbors_part
from covmetric.report.origin import made_by, origin_sections, plain
from covmetric.tasks import ModelView

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
    return (
        f"{100 * float(run['accuracy']):.1f} percent of {count} examples were classified correctly (95 percent "
        f"interval {low:.1f} to {high:.1f})."
    )


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
    return [*parts, Bullets(_NOT_PROVEN)]


def _model_sections(view: ModelView, inputs: Inputs | None, run: Mapping[str, Any]) -> list[Section]:
    references = find_references(view.model)
    sections = []
    if references is not None and len(references.labels) > 1:
        metric = find_metric(view.model)
        part = (
            neighbors_part(metric, references, *_queries(view, inputs, run["predictions"]))
            if inputs is not None and not isinstance(view.model, ImagePatchClassifier)
            else neighbors_part(metric, references)
        )
        sections.append(Section("Neighbours", [part]))
    return [*sections, Section("What was learned", [Plots(model_plots(view.model, references))])]


def _queries(
    view: ModelView, inputs: Inputs, predictions: Sequence[Mapping[str, Any]]
) -> tuple[LabelledExamples, IntArray, int]:
    """Return examples that were evaluated, the indices of those with a wrong prediction, and how many there are in all.

    Only the examples that the page shows are described again, unless their means depend on the others.
    """
    labels = [str(one["label"]) for one in predictions]
    wrong = np.flatnonzero([label != str(one["predicted"]) for label, one in zip(labels, predictions, strict=True)])
    chosen = choose_in_turn(labels, MAX_QUERIES, wrong)
    examples = [inputs.examples[i] for i in chosen]
    pictures = [make_thumbnail(one) for one in examples] if inputs.kind == "images" else None
    matrices = view.matrices(inputs.examples, inputs.groups)[chosen] if view.recentres else view.matrices(examples)
    queries = LabelledExamples(
        find_metric(view.model).embedding.transform(matrices),
        [labels[i] for i in chosen],
        [str(predictions[i]["name"]) for i in chosen],
        pictures,
        [f"Predicted class: {predictions[i]['predicted']}." for i in chosen],
    )
    return queries, np.flatnonzero(np.isin(chosen, wrong)), len(labels)


def _model_facts(described: Mapping[str, Any]) -> Any:
    names = {"path": "path", "kind": "takes", "steps": "steps", "rule": "rule", "n_references": "training examples"}
    shown = {**described, "rule": describe_rule(described["rule"])} if described.get("rule") else described
    rows = [(title, plain(shown[name])) for name, title in names.items() if shown.get(name) is not None]
    features = described.get("features") or []
    return Facts([*rows, *([("rows of a matrix", plain(features))] if features else [])])


def _percent(value: Any) -> str:
    return "" if value is None else f"{100 * float(value):.1f}"

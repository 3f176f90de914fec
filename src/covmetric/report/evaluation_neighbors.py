"""The neighbours of evaluated examples, from the model or from the result of an evaluation."""

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
from covmetric.plotting.fitted import find_metric
from covmetric.report.content import Item, Neighbors, Query
from covmetric.report.models import find_references
from covmetric.report.neighbors import LabelledExamples, neighbors_part
from covmetric.tasks import ModelView


def evaluation_neighbors(
    view: ModelView, inputs: Inputs | None, predictions: Sequence[Mapping[str, Any]]
) -> Neighbors | None:
    """Return evaluated examples with their nearest training examples, before and after learning.

    Parameters
    ----------
    view : ModelView
        The model.
    inputs : Inputs or None
        The examples, in the order of the predictions. None means the training examples, as for a model that describes
        images by patches.
    predictions : sequence of mappings
        The predictions, as in the result of ``covmetric evaluate --json``.

    Returns
    -------
    Neighbors or None
        Those with a wrong prediction come first. None if the model has no metric or holds fewer than two examples.
    """
    references = None if view.metric is None else find_references(view.model)
    if references is None or len(references.labels) < 2:
        return None
    metric = find_metric(view.model)
    if inputs is None or isinstance(view.model, ImagePatchClassifier):
        return neighbors_part(metric, references)
    return neighbors_part(metric, references, *_queries(view, inputs, predictions))


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


def neighbors_record(part: Neighbors) -> dict[str, Any]:
    """Return neighbours for JSON, without pictures.

    Parameters
    ----------
    part : Neighbors
        The neighbours.

    Returns
    -------
    dict
        The argument of `read_neighbors`.

    Examples
    --------
    >>> part = Neighbors([Item("q", "a"), Item("r", "b")], [Query(0, [(1, 0.5)])], "What is shown.")
    >>> neighbors_record(part)["items"], read_neighbors(neighbors_record(part)).queries[0].after
    ([['q', 'a'], ['r', 'b']], [(1, 0.5)])
    """
    return {
        "text": part.text,
        "items": [[item.name, item.label] for item in part.items],
        "queries": [
            {"item": q.item, "before": list(q.before), "after": list(q.after), "note": q.note} for q in part.queries
        ],
    }


def read_neighbors(record: Mapping[str, Any]) -> Neighbors:
    """Return the neighbours of a result, which may come from anywhere.

    Parameters
    ----------
    record : mapping
        The result of `neighbors_record`.

    Returns
    -------
    Neighbors
        The neighbours.

    Raises
    ------
    ValueError
        If the record is incomplete or invalid.
    """
    try:
        items = [Item(str(name), str(label)) for name, label in record["items"]]
        queries = [
            Query(
                _place(q["item"], items),
                [(_place(i, items), float(d)) for i, d in q["after"]],
                [(_place(i, items), float(d)) for i, d in q["before"]],
                str(q["note"]),
            )
            for q in record["queries"]
        ]
        return Neighbors(items, queries, str(record["text"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the neighbours of the evaluation are incomplete or invalid: {error!r}") from error


def _place(index: Any, items: Sequence[Item]) -> int:
    if not 0 <= int(index) < len(items):
        raise ValueError(f"the neighbours of the evaluation name the example {index!r} of {len(items)}")
    return int(index)

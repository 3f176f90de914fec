"""The neighbours of examples before and after learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.distances import cross_distances, nearest_columns
from covmetric._utils.turns import choose_in_turn
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.estimators.references import References
from covmetric.experiments.neighborhoods import MAX_QUERIES, N_NEIGHBORS
from covmetric.metric import LearnedMetric
from covmetric.report.content import Item, Neighbors, Query
from covmetric.report.pictures import data_uri


@dataclass(frozen=True, eq=False)
class LabelledExamples:
    """Labelled examples with names and pictures.

    Attributes
    ----------
    embedded : array of shape (l, n, m)
        The embedded examples Phi(X).
    labels : sequence of l str
        The classes.
    names : sequence of l str
        The names.
    pictures : sequence of l arrays or None, or None
        Thumbnails.
    notes : sequence of l str, or None
        What to say about an example that is a query.
    what : {'examples', 'regions'}
        What they are: whole examples, or regions of images.
    """

    embedded: FloatArray
    labels: Sequence[str]
    names: Sequence[str]
    pictures: Sequence[Any] | None = None
    notes: Sequence[str] | None = None
    what: str = "examples"

    @classmethod
    def of_references(cls, references: References, what: str = "examples") -> LabelledExamples:
        """Return the references of a classifier.

        Parameters
        ----------
        references : References
            The attribute `references_` of a fitted classifier.
        what : {'examples', 'regions'}, default='examples'
            What they are.

        Returns
        -------
        LabelledExamples
            The references, with the names that the commands print.
        """
        labels = [_text(label) for label in references.labels.tolist()]
        return cls(references.embedded, labels, references.shown_names, references.thumbnails, what=what)


def neighbors_part(
    metric: LearnedMetric,
    references: LabelledExamples,
    queries: LabelledExamples | None = None,
    first: IntArray | None = None,
    total: int | None = None,
    k: int = N_NEIGHBORS,
) -> Neighbors:
    """Return queries with their nearest references before (W = I) and after learning.

    Parameters
    ----------
    metric : LearnedMetric
        The learned metric.
    references : LabelledExamples
        The examples to search.
    queries : LabelledExamples or None, default=None
        The queries. None means the references, which are then not their own neighbours.
    first : array of int or None, default=None
        The queries that come first, for example those that were misclassified. None means none.
    total : int or None, default=None
        The number of examples that the queries were chosen from. None means the number of queries.
    k : int, default=6
        The number of neighbours.

    Returns
    -------
    Neighbors
        At most 48 queries, those of `first` and then the others in turn by class.

    Examples
    --------
    >>> from covmetric import get_embedding
    >>> metric = LearnedMetric(get_embedding("vector").fit([[0.0, 0.0]]), np.diag([1.0, 0.0]))
    >>> points = np.array([[0.0, 0.0], [1.0, 9.0], [3.0, 0.0]])[:, :, None]
    >>> part = neighbors_part(metric, LabelledExamples(points, ["a", "a", "b"], ["p", "q", "r"]), k=1)
    >>> [(part.items[i].name, round(d, 3)) for i, d in [*part.queries[0].before, *part.queries[0].after]]
    [('r', 3.0), ('q', 1.0)]
    """
    asked = references if queries is None else queries
    chosen = choose_in_turn(asked.labels, MAX_QUERIES, first)
    k = min(k, len(references.labels) - (queries is None))
    before = _nearest(_vectors(asked.embedded[chosen]), _vectors(references.embedded), k, chosen, queries is None)
    after = _nearest(metric.map(asked.embedded[chosen]), metric.map(references.embedded), k, chosen, queries is None)
    items: list[Item] = []
    places: dict[tuple[bool, int], int] = {}

    def place(examples: LabelledExamples, i: int) -> int:
        key = (examples is references, i)
        if key not in places:
            places[key] = len(items)
            picture = None if examples.pictures is None else examples.pictures[i]
            items.append(Item(examples.names[i], examples.labels[i], data_uri(picture)))
        return places[key]

    found = [
        Query(
            item=place(asked, int(i)),
            before=[(place(references, j), d) for j, d in before[q]],
            after=[(place(references, j), d) for j, d in after[q]],
            note="" if asked.notes is None else asked.notes[i],
        )
        for q, i in enumerate(chosen)
    ]
    text = _explanation(len(chosen), total or len(asked.labels), queries is None, first, references.what)
    return Neighbors(items, found, text)


def same_class_rates(
    metric: LearnedMetric, references: LabelledExamples, k: int = 5, limit: int = 2000
) -> tuple[float, float]:
    """Return how many of the nearest references have the class of a reference, before and after learning.

    Parameters
    ----------
    metric : LearnedMetric
        The learned metric.
    references : LabelledExamples
        The references.
    k : int, default=5
        The number of neighbours.
    limit : int, default=2000
        The largest number of references that are used as queries, in turn by class.

    Returns
    -------
    before : float
        The fraction before learning.
    after : float
        The fraction after learning, which is optimistic if the metric was learned from these references.

    Examples
    --------
    >>> from covmetric import get_embedding
    >>> metric = LearnedMetric(get_embedding("vector").fit([[0.0, 0.0]]), np.diag([1.0, 0.0]))
    >>> points = np.array([[0.0, 0.0], [1.0, 9.0], [3.0, 0.0], [4.0, 9.0]])[:, :, None]
    >>> same_class_rates(metric, LabelledExamples(points, ["a", "a", "b", "b"], list("pqrs")), k=1)
    (0.0, 1.0)
    """
    chosen = choose_in_turn(references.labels, limit)
    k = min(k, len(references.labels) - 1)
    labels = np.asarray(references.labels)
    rates = []
    for vectors in (_vectors(references.embedded), metric.map(references.embedded)):
        near = _nearest(vectors[chosen], vectors, k, chosen, exclude=True)
        found = np.array([[j for j, _ in row] for row in near], dtype=np.int64).reshape(len(chosen), k)
        rates.append(float((labels[found] == labels[chosen][:, None]).mean()))
    return rates[0], rates[1]


def _vectors(embedded: FloatArray) -> FloatArray:
    return embedded.reshape(len(embedded), -1)


def _nearest(
    queries: FloatArray, references: FloatArray, k: int, chosen: IntArray, exclude: bool
) -> list[list[tuple[int, float]]]:
    """Return the indices and distances of the k nearest references of each query."""
    squared: npt.NDArray[np.float64] = cross_distances(queries, references)
    if exclude:
        squared[np.arange(len(chosen)), chosen] = np.inf
    nearest = nearest_columns(squared, k)
    return [[(int(j), float(np.sqrt(row[j]))) for j in columns] for row, columns in zip(squared, nearest, strict=True)]


def _explanation(count: int, total: int, own: bool, first: IntArray | None, what: str) -> str:
    queries = f"training {what}" if own else what
    text = f"{count} of the {total} {queries}" if count < total else f"All {queries}"
    text += ", those with a wrong prediction first" if first is not None and len(first) else ""
    return (
        f"{text}, each with the training {what} that are nearest to it: before learning (W = I), and in the learned "
        "metric. Blue, solid: the class of the query. Orange, dashed, with a cross: another class. The number is the "
        "distance, whose unit differs between the two."
    )


def _text(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)

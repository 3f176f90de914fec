"""What the methods of a comparison confuse, and the neighbours of test examples in its metrics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covmetric.experiments.fold_results import ComparisonTable, MethodRow
from covmetric.experiments.method_results import FIXED, LEARNED, best_row
from covmetric.experiments.neighborhoods import Neighborhood, NeighborTable
from covmetric.report.confusion import confusion_plot
from covmetric.report.content import Item, Neighbors, Paragraphs, Plots, Query, Section, Table

_NO_CONFUSION = "This result was written by a version that did not keep the confusion of the methods."
_NO_NEIGHBORS = "This result holds no neighbours: no metric was learned in it, or an earlier version wrote it."


def confusion_section(table: ComparisonTable) -> Section:
    """Return the confusion of the best method of covmetric, of the best fixed metric, and of the best method of all.

    Parameters
    ----------
    table : ComparisonTable
        The comparison.

    Returns
    -------
    Section
        Plots and the recall by class, summed over the test parts of all folds.

    Raises
    ------
    ValueError
        If the confusion does not fit the classes.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.experiments.compare import compare
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> table = compare(data.X, data.y, methods=["log-3nn", "covmetric-3nn"], folds=2)
    >>> confusion_section(table).parts[-1].head
    ('class', 'examples', 'covmetric-3nn', 'log-3nn')
    """
    rows = _shown_rows(table)
    if not rows:
        return Section("Confusion", [Paragraphs([_NO_CONFUSION])])
    names = table.class_names or tuple(f"class {i}" for i in range(table.classes))
    matrices = [table.confusion(row) for row in rows]
    times = f", each tested {table.repeats} times," if table.repeats > 1 else ""
    plots = [
        confusion_plot(matrix, names, row.method, f"confusion-{i}", f"test examples of all folds{times}")
        for i, (row, matrix) in enumerate(zip(rows, matrices, strict=True))
    ]
    counts = [matrix.sum(axis=1) for matrix in matrices]
    cells = [
        [
            name,
            str(counts[0][i] // table.repeats),
            *(_percent(matrix[i, i], count[i]) for matrix, count in zip(matrices, counts, strict=True)),
        ]
        for i, name in enumerate(names)
    ]
    head = ("class", "examples", *(row.method for row in rows))
    note = "Percent of the test examples of a class that were predicted as this class, over all folds."
    return Section("Confusion", [Plots(plots), Table("Recall by class", head, cells, note)])


def _shown_rows(table: ComparisonTable) -> list[MethodRow]:
    """Return the best learned metric, the best fixed metric and the best method of all, each once."""
    done = [row for row in table.rows if row.confusion and not row.failure]
    best = max(done, key=lambda row: (len(row.folds), row.accuracy), default=None)
    found = [best_row(done, LEARNED), best_row(done, FIXED), best]
    return list({row.method: row for row in found if row is not None}.values())


def _percent(hits: int, total: int) -> str:
    return f"{100 * hits / total:.1f}" if total else ""


def neighbors_section(table: ComparisonTable) -> Section:
    """Return test examples with their neighbours in the best fixed metric and in the best learned metric.

    Parameters
    ----------
    table : ComparisonTable
        The comparison.

    Returns
    -------
    Section
        The test examples that the learned metric predicts wrongly come first.

    Raises
    ------
    ValueError
        If an example belongs to no class.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.experiments.compare import compare
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> table = compare(data.X, data.y, methods=["log-3nn", "covmetric-3nn"], folds=2)
    >>> neighbors_section(table).parts[0].titles
    ('In the best fixed metric, log-3nn', 'In the learned metric, covmetric-3nn')
    """
    found = table.neighbors
    if found is None or not found.after:
        return Section("Neighbours", [Paragraphs([_NO_NEIGHBORS])])
    classes = table.class_names or tuple(f"class {i}" for i in range(table.classes))
    places = {index: place for place, index in enumerate(found.names)}
    items = [Item(name, _class(classes, found.labels[index])) for index, name in found.names.items()]
    order = sorted(
        range(len(found.after)), key=lambda q: found.after[q].predicted == found.labels[str(found.after[q].example)]
    )
    queries = [
        Query(
            item=places[str(found.after[q].example)],
            before=_nearest(found.before[q], places) if found.before else (),
            after=_nearest(found.after[q], places),
            note=_note(found, q, classes),
        )
        for q in order
    ]
    titles = (f"In the best fixed metric, {found.fixed}", f"In the learned metric, {found.learned}")
    return Section("Neighbours", [Neighbors(items, queries, _explanation(found, table.examples), titles)])


def _nearest(one: Neighborhood, places: dict[str, int]) -> list[tuple[int, float]]:
    return [(places[str(index)], distance) for index, distance in one.nearest]


def _note(found: NeighborTable, q: int, classes: Sequence[str]) -> str:
    learned = f"Predicted class: {_class(classes, found.after[q].predicted)} ({found.learned})"
    fixed = f", {_class(classes, found.before[q].predicted)} ({found.fixed})" if found.before else ""
    return f"{learned}{fixed}."


def _class(classes: Sequence[str], number: int) -> str:
    if not 0 <= number < len(classes):
        raise ValueError(f"there is no class {number} among the {len(classes)} classes")
    return classes[number]


def _explanation(found: NeighborTable, total: int) -> str:
    rates = [
        np.mean([found.labels[str(one.example)] == found.labels[str(i)] for one in side for i, _ in one.nearest])
        for side in (found.before, found.after)
        if side
    ]
    k = max(len(one.nearest) for one in found.after)
    shares = " and ".join(f"{100 * rate:.0f} percent" for rate in rates)
    which = "the best fixed metric and the learned metric" if found.before else "the learned metric"
    return (
        f"{len(found.after)} of the {total} examples, when they were test examples, those that the learned metric "
        f"predicts wrongly first, each with its {k} nearest training examples of the fold in {which}: {shares} of "
        "these neighbours have the class of their query. Blue, solid: the class of the query. Orange, dashed, with a "
        "cross: another class. The number is the distance, whose unit differs between the two."
    )

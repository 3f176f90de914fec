"""The page of a search: queries with the training examples that are nearest to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covmetric.report.content import Code, Item, Neighbors, Page, Query, Section
from covmetric.report.origin import made_by
from covmetric.report.pictures import data_uri


def search_page(
    queries: Sequence[tuple[str, Any]],
    neighbors: Sequence[Sequence[Any]],
    model: str,
    command: str,
    notes: Sequence[str] | None = None,
) -> Page:
    """Return the page of a search.

    Parameters
    ----------
    queries : sequence of (name, thumbnail)
        The queries. A thumbnail is an array of uint8 of shape (rows, columns, 3), or None.
    neighbors : sequence of sequences of objects with the attributes `name`, `label`, `distance` and `thumbnail`
        The neighbours of each query, nearest first.
    model : str
        The name of the model.
    command : str
        The command that makes the page.
    notes : sequence of str or None, default=None
        What else to say about each query, for example its predicted class.

    Returns
    -------
    Page
        The page, for `covmetric.report.write_page`.

    Raises
    ------
    ValueError
        If there is not one list of neighbours for each query.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> near = SimpleNamespace(name="b.png", label="bark", distance=0.25, thumbnail=None)
    >>> search_page([("a.png", None)], [[near]], "textures", "covmetric search textures.model a.png").headline
    'The 1 nearest training example of a.png is b.png (bark), at a distance of 0.25.'
    """
    if len(queries) != len(neighbors) or not queries:
        raise ValueError(f"there must be neighbours for each of the {len(queries)} queries; got {len(neighbors)}")
    items: list[Item] = []
    found: list[Query] = []
    for q, ((name, picture), near) in enumerate(zip(queries, neighbors, strict=True)):
        items.append(Item(str(name), "", data_uri(picture)))
        start = len(items)
        items += [Item(str(one.name), str(one.label), data_uri(one.thumbnail)) for one in near]
        after = [(start + i, float(one.distance)) for i, one in enumerate(near)]
        found.append(Query(start - 1, after, note="" if notes is None else notes[q]))
    part = Neighbors(
        items, found, "The training examples that are nearest in the learned metric, with their distances."
    )
    sections = [Section("Neighbours", [part]), Section("How to repeat this", [Code(command)])]
    return Page(f"Search in {model}", _headline(queries, neighbors, model), sections, made_by())


def _headline(queries: Sequence[tuple[str, Any]], neighbors: Sequence[Sequence[Any]], model: str) -> str:
    if len(queries) > 1:
        return f"The training examples of {model} that are nearest to {len(queries)} queries."
    ((name, _),), (near,) = queries, neighbors
    if not near:
        return f"No training example was found for {name}."
    what = "1 nearest training example" if len(near) == 1 else f"nearest of {len(near)} training examples"
    first = near[0]
    return f"The {what} of {name} is {first.name} ({first.label}), at a distance of {first.distance:.3g}."

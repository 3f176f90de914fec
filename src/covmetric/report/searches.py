"""The page of a search: queries with the training examples that are nearest to them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from covmetric.datasets.inputs import Inputs
from covmetric.descriptors import make_thumbnail
from covmetric.report.content import Code, Item, Neighbors, Page, Query, Section
from covmetric.report.origin import made_by
from covmetric.report.pictures import data_uri
from covmetric.report.writing import write_page
from covmetric.tasks import ModelView, Neighbor, predict

# The largest height and width of the picture of a query, in pixels.
_PICTURE = 128
_TEXT = (
    "The training examples that are nearest in the learned metric, with their distances. The neighbours themselves are "
    "queries, too: they follow in the list."
)


def write_search_page(
    path: Path, title: str, view: ModelView, inputs: Inputs, found: Sequence[Sequence[Neighbor]], command: str = ""
) -> None:
    """Write a page on which a reader chooses a query, or one of its neighbours, and sees the nearest examples.

    Parameters
    ----------
    path : Path
        The file. An existing file is replaced.
    title : str
        The name of the model.
    view : ModelView
        The model.
    inputs : Inputs
        The queries.
    found : sequence of sequences of Neighbor
        The neighbours of each query, as `ModelView.neighbors` returns them.
    command : str, default=""
        The command that makes the page.

    Raises
    ------
    ImportError
        If Jinja2 is not installed.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from covmetric import CovMetricClassifier
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> view = ModelView(CovMetricClassifier(random_state=0).fit(data.X, data.y))
    >>> queries = Inputs("matrices", data.X[:2], np.array(["first", "second"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "search.html"
    ...     write_search_page(page, "spd", view, queries, view.neighbors(data.X[:2], 3))
    ...     "first" in page.read_text()
    True
    """
    write_page(search_page(title, view, inputs, found, command), path)


def search_page(
    title: str, view: ModelView, inputs: Inputs, found: Sequence[Sequence[Neighbor]], command: str = ""
) -> Page:
    """Return the page of a search: the queries, their neighbours, and the neighbours of these.

    Parameters
    ----------
    title : str
        The name of the model.
    view : ModelView
        The model.
    inputs : Inputs
        The queries.
    found : sequence of sequences of Neighbor
        The neighbours of each query, nearest first.
    command : str, default=""
        The command that makes the page.

    Returns
    -------
    Page
        The page.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import CovMetricClassifier
    >>> data = np.array([[0.0], [1.0], [7.0], [9.0]])
    >>> classifier = CovMetricClassifier(random_state=0, n_neighbors=1).fit(data, [0, 0, 1, 1], names=list("abcd"))
    >>> view, inputs = ModelView(classifier), Inputs("vectors", data[:1] + 0.1, np.array(["new"]))
    >>> search_page("line", view, inputs, view.neighbors(inputs.examples, 2)).headline.partition(", at")[0]
    'new is nearest to a (0)'
    """
    predictions = predict(view, inputs.names, inputs.examples, inputs.groups)
    items = [Item(one.name, "", _picture(inputs, i)) for i, one in enumerate(predictions)]
    places: dict[int, int] = {}

    def place(neighbor: Neighbor) -> int:
        if neighbor.index not in places:
            places[neighbor.index] = len(items)
            items.append(Item(neighbor.name, neighbor.label, data_uri(neighbor.thumbnail)))
        return places[neighbor.index]

    queries = [
        Query(i, [(place(one), one.distance) for one in near], note=_prediction(predictions[i]))
        for i, near in enumerate(found)
    ]
    nearest = list(places)
    around = view.neighbors_of_references(nearest, max(map(len, found))) if nearest else []
    queries += [
        Query(places[index], [(place(one), one.distance) for one in near], note="A training example.")
        for index, near in zip(nearest, around, strict=True)
    ]
    sections = [Section("Neighbours", [Neighbors(items, queries, _TEXT)])]
    if command:
        sections.append(Section("How to repeat this", [Code(command)]))
    return Page(f"Search in {title}", _headline(predictions, found), sections, made_by())


def _picture(inputs: Inputs, i: int) -> str:
    return data_uri(make_thumbnail(inputs.examples[i], _PICTURE)) if inputs.kind == "images" else ""


def _prediction(one: Any) -> str:
    return f"Predicted class: {one.predicted}, with an estimated probability of {100 * one.probability:.0f} percent."


def _headline(predictions: Sequence[Any], found: Sequence[Sequence[Neighbor]]) -> str:
    if len(predictions) > 1:
        return f"The training examples that are nearest to {len(predictions)} queries."
    first = found[0][0]
    return f"{predictions[0].name} is nearest to {first.name} ({first.label}), at a distance of {first.distance:.3g}."

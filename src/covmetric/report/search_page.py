"""A page with the neighbours of queries, in one file that needs no network."""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric.datasets.inputs import Inputs
from covmetric.descriptors import make_thumbnail
from covmetric.tasks import ModelView, Neighbor, predict

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --mark: #0a6; }
body { font: 16px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; }
h1 { font-size: 1.3rem; }
ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .6rem; }
button { font: inherit; text-align: left; color: inherit; background: none; border: 1px solid var(--line);
  border-radius: .4rem; padding: .5rem; width: 9.5rem; cursor: pointer; }
button[disabled] { cursor: default; }
button[aria-pressed=true] { outline: 3px solid var(--mark); }
button img { display: block; width: 8rem; height: 8rem; object-fit: contain; margin-bottom: .3rem; }
.name { overflow-wrap: anywhere; font-size: .85rem; }
.same { color: var(--mark); font-weight: 600; }
@media (max-width: 30rem) { button { width: 8rem; } button img { width: 6.8rem; height: 6.8rem; } }
"""
_SCRIPT = """
const data = JSON.parse(document.getElementById("data").textContent);
const list = document.getElementById("neighbours"), title = document.getElementById("title");
const choices = [...document.querySelectorAll("#queries button")];
function card(item, distance, label) {
  const li = document.createElement("li"), button = document.createElement("button");
  if (item.src) {
    const image = document.createElement("img");
    image.src = item.src; image.alt = "picture of " + item.name; button.append(image);
  }
  const kind = document.createElement("div"), name = document.createElement("div");
  kind.textContent = item.label + (distance === null ? "" : ", distance " + distance.toPrecision(3));
  if (label && item.label === label) kind.className = "same";
  name.textContent = item.name; name.className = "name";
  button.append(kind, name);
  button.disabled = !item.neighbours;
  button.addEventListener("click", () => show(data.items.indexOf(item)));
  li.append(button);
  return li;
}
function show(index) {
  const item = data.items[index];
  title.textContent = "Nearest to " + item.name + " (" + item.label + ")";
  list.replaceChildren(...item.neighbours.map(([i, distance]) => card(data.items[i], distance, item.label)));
  choices.forEach(choice => choice.setAttribute("aria-pressed", Number(choice.dataset.index) === index));
  document.body.dataset.shown = index;
}
choices.forEach(choice => choice.addEventListener("click", () => show(Number(choice.dataset.index))));
document.addEventListener("keydown", event => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const shown = Number(document.body.dataset.shown), reachable = data.items.map((item, i) => item.neighbours ? i : -1)
    .filter(i => i >= 0);
  show(reachable[(reachable.indexOf(shown) + step + reachable.length) % reachable.length]);
  event.preventDefault();
});
show(0);
"""


def write_search_page(
    path: Path, title: str, view: ModelView, inputs: Inputs, found: Sequence[Sequence[Neighbor]]
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

    Examples
    --------
    >>> import tempfile
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
    items = page_items(view, inputs, found)
    queries = "".join(_query_button(i, item) for i, item in enumerate(items[: len(inputs)]))
    # "</" inside a script would end it.
    data = json.dumps({"items": items}).replace("<", "\\u003c")
    name = html.escape(title)
    path.write_text(
        "<!DOCTYPE html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>Neighbours in {name}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<style>{_STYLE}</style></head><body><h1>The most similar examples, by the metric of {name}</h1>"
        "<p>Choose a query. A click on a neighbour shows its own neighbours; the left and right arrow keys go to the "
        f'previous and the next.</p><ul id="queries">{queries}</ul><h2 id="title" aria-live="polite"></h2>'
        f'<ul id="neighbours"></ul><script type="application/json" id="data">{data}</script>'
        f"<script>{_SCRIPT}</script></body></html>\n",
        encoding="utf-8",
    )


def page_items(view: ModelView, inputs: Inputs, found: Sequence[Sequence[Neighbor]]) -> list[dict[str, Any]]:
    """Return what the page shows: the queries, their neighbours, and the neighbours of these.

    Parameters
    ----------
    view : ModelView
        The model.
    inputs : Inputs
        The queries.
    found : sequence of sequences of Neighbor
        The neighbours of each query.

    Returns
    -------
    list of dicts
        The queries come first. The entries are `name`, `label`, `src` (a picture as a data URL, or None) and
        `neighbours`, pairs of an index and a distance, or None for examples whose neighbours are not on the page.
    """
    predictions = predict(view, inputs.names, inputs.examples)
    items: list[dict[str, Any]] = [
        {"name": one.name, "label": f"predicted {one.predicted}", "src": _query_picture(inputs, i), "neighbours": []}
        for i, one in enumerate(predictions)
    ]
    place: dict[int, int] = {}

    def index_of(neighbor: Neighbor) -> int:
        if neighbor.index not in place:
            place[neighbor.index] = len(items)
            source = None if neighbor.thumbnail is None else data_url(neighbor.thumbnail)
            items.append({"name": neighbor.name, "label": neighbor.label, "src": source, "neighbours": None})
        return place[neighbor.index]

    for item, near in zip(items[: len(inputs)], found, strict=True):
        item["neighbours"] = [[index_of(one), one.distance] for one in near]
    first = list(place)
    for reference, near in zip(first, view.neighbors_of_references(first, max(map(len, found))), strict=True):
        items[place[reference]]["neighbours"] = [[index_of(one), one.distance] for one in near]
    return items


def data_url(picture: npt.NDArray[np.uint8]) -> str:
    """Return a picture as the text of an address that holds its data.

    Parameters
    ----------
    picture : array of uint8 of shape (rows, columns, 3)
        The picture.

    Returns
    -------
    str
        The address, of a PNG image.
    """
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _query_picture(inputs: Inputs, i: int) -> str | None:
    return data_url(make_thumbnail(inputs.examples[i], 128)) if inputs.kind == "images" else None


def _query_button(i: int, item: dict[str, Any]) -> str:
    name, label = html.escape(item["name"]), html.escape(item["label"])
    picture = "" if item["src"] is None else f'<img src="{item["src"]}" alt="picture of {name}">'
    return (
        f'<li><button type="button" data-index="{i}" aria-pressed="false">{picture}<div>{label}</div>'
        f'<div class="name">{name}</div></button></li>'
    )

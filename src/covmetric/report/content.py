"""The content of a page: sections of facts, texts, tables, plots, neighbours and commands.

The `template` of a part names the file in `templates/parts` that shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True)
class Facts:
    """Names with values.

    Attributes
    ----------
    rows : sequence of (str, str)
        The names and the values.
    """

    rows: Sequence[tuple[str, str]]
    template: ClassVar[str] = "facts.html"


@dataclass(frozen=True)
class Paragraphs:
    """Text.

    Attributes
    ----------
    texts : sequence of str
        One text per paragraph.
    """

    texts: Sequence[str]
    template: ClassVar[str] = "paragraphs.html"


@dataclass(frozen=True)
class Bullets:
    """A list of short texts.

    Attributes
    ----------
    texts : sequence of str
        One text per entry.
    """

    texts: Sequence[str]
    template: ClassVar[str] = "bullets.html"


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    caption : str
        What the table shows.
    head : sequence of str
        The names of the columns.
    rows : sequence of sequences of str
        The cells. The first cell of a row is its name.
    note : str
        How to read the table.
    texts : sequence of int
        The columns that hold text, which may be broken into lines. The first one always does.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    texts: Sequence[int] = ()
    template: ClassVar[str] = "table.html"


@dataclass(frozen=True)
class Plot:
    """A plot.

    Attributes
    ----------
    title : str
        The title.
    svg : str
        The plot, as the content of an HTML page; see `inline_svg`.
    caption : str
        What the plot shows and how to read it.
    wide : bool
        Whether the plot needs the whole width of the page. On a narrow screen, it can be scrolled.
    """

    title: str
    svg: str
    caption: str
    wide: bool = False


@dataclass(frozen=True)
class Plots:
    """Plots side by side.

    Attributes
    ----------
    plots : sequence of Plot
        The plots.
    """

    plots: Sequence[Plot]
    template: ClassVar[str] = "plots.html"


@dataclass(frozen=True)
class Code:
    """A command or a list of settings, shown as it is.

    Attributes
    ----------
    text : str
        The text.
    """

    text: str
    template: ClassVar[str] = "code.html"


@dataclass(frozen=True)
class Item:
    """An example that may be a query or a neighbour.

    Attributes
    ----------
    name : str
        Its name.
    label : str
        Its class, or "" if it is unknown.
    picture : str
        A thumbnail as a data URI, or "".
    """

    name: str
    label: str = ""
    picture: str = ""


@dataclass(frozen=True)
class Query:
    """An example and its neighbours.

    Attributes
    ----------
    item : int
        The index of the example in the list of items.
    after : sequence of (int, float)
        The index and the distance of each neighbour in the learned metric, nearest first.
    before : sequence of (int, float)
        The same before learning; empty if it is not shown.
    note : str
        What else to say about the query, for example its predicted class.
    """

    item: int
    after: Sequence[tuple[int, float]]
    before: Sequence[tuple[int, float]] = ()
    note: str = ""


@dataclass(frozen=True)
class Neighbors:
    """Queries to choose from, with their neighbours.

    Attributes
    ----------
    items : sequence of Item
        The examples.
    queries : sequence of Query
        The queries.
    text : str
        What is shown.
    titles : (str, str)
        The headings of the neighbours before and after learning.
    """

    items: Sequence[Item]
    queries: Sequence[Query]
    text: str = ""
    titles: tuple[str, str] = ("Before learning", "After learning")
    template: ClassVar[str] = "neighbors.html"

    @property
    def compares(self) -> bool:
        """Whether the neighbours before learning are shown, too."""
        return any(query.before for query in self.queries)

    @property
    def data(self) -> dict[str, object]:
        """What the script of the page needs, as lists, strings and numbers."""
        return {
            "items": [[item.name, item.label, item.picture] for item in self.items],
            "queries": [
                {"item": q.item, "before": list(q.before), "after": list(q.after), "note": q.note} for q in self.queries
            ],
        }


Part = Facts | Paragraphs | Bullets | Table | Plots | Code | Neighbors


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Attributes
    ----------
    title : str
        The heading.
    parts : sequence of parts
        The content.
    """

    title: str
    parts: Sequence[Part]

    @property
    def anchor(self) -> str:
        """The name of the section in links."""
        return "-".join("".join(c if c.isalnum() else " " for c in self.title.lower()).split())


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes
    ----------
    title : str
        The title.
    headline : str
        The result in a sentence.
    sections : sequence of Section
        The sections.
    origin : str
        The version that made the page, and when.
    """

    title: str
    headline: str
    sections: Sequence[Section] = field(default=())
    origin: str = ""

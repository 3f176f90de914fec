"""Check the built documentation without the network: ``python tools/links.py docs/_build/html``.

Every link to another page, every anchor and every picture has to exist, and no page may load anything from elsewhere.
Links that a reader follows to other sites are not checked.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes that make a browser fetch something.
_LOADING = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
#: Links of these kinds say something about the page, and are not fetched.
_NOT_FETCHED = {"canonical", "next", "prev", "search", "index", "author"}


class Page(HTMLParser):
    """The links, the anchors and the loaded files of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        for name, value in values.items():
            if (tag, name) in _LOADING and values.get("rel") not in _NOT_FETCHED:
                self.loads.append(value)


def read(root: Path) -> dict[Path, Page]:
    """Return all pages below a folder."""
    pages = {}
    for path in sorted(root.rglob("*.html")):
        if "_static" in path.relative_to(root).parts:  # templates of the theme
            continue
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        pages[path.resolve()] = page
    return pages


def problems(root: Path) -> list[str]:
    """Return a line for every link that leads nowhere, and for every file that would be loaded from elsewhere."""
    pages, found = read(root), []
    for path, page in pages.items():
        here = path.relative_to(root.resolve())
        for address in page.loads:
            if urlsplit(address).netloc:
                found.append(f"{here}: loads {address}")
        for address in [*page.links, *page.loads]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                found.append(f"{here}: {address} does not exist")
            elif target in pages and parts.fragment and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{here}: {address} has no such anchor")
    return found


def main(arguments: list[str]) -> int:
    """Print the problems; return the exit code."""
    root = Path(arguments[0])
    found = problems(root)
    for line in sorted(set(found)):
        print(line)
    print(f"{len(read(root))} pages, {len(set(found))} broken links")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Figures of matplotlib as a part of an HTML page."""

from __future__ import annotations

import io
import re
from typing import Any

from covmetric.plotting.axes import import_matplotlib

# A point takes 100 bytes. More points than these become a picture.
_MAX_POINTS = 200
_NUMBER = r"([\d.]+)"
_SIZE = re.compile(rf'<svg [^>]*?viewBox="0 0 {_NUMBER} {_NUMBER}"[^>]*>', re.DOTALL)


def inline_svg(figure: Any, name: str) -> str:
    """Return a figure as an SVG element for an HTML page.

    Its text is text, so that the file is small and the text can be selected. Its background is transparent. Its width
    follows the page, up to its own size. Clouds of many points become pictures, to keep the file small.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure.
    name : str
        A name that is unique in the page, made of letters and digits, which starts the ids of the parts.

    Returns
    -------
    str
        The element. It is hidden from screen readers, which read the caption.

    Examples
    --------
    >>> from covmetric.plotting.figures import new_figure
    >>> inline_svg(new_figure(2, 1, 1)[0], "empty")[:30]
    '<svg class="plot" viewBox="0 0'
    """
    matplotlib = import_matplotlib("matplotlib", "a report")
    figure.patch.set_alpha(0.0)
    for axes in figure.axes:
        axes.patch.set_alpha(0.0)
        if sum(len(points.get_offsets()) for points in axes.collections) > _MAX_POINTS:
            for points in axes.collections:
                points.set_rasterized(True)
    target = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        # Browsers may use wider fonts than Matplotlib assumed, so leave a margin.
        figure.savefig(
            target, format="svg", dpi=150, bbox_inches="tight", pad_inches=0.1, metadata={"Date": None, "Creator": None}
        )
    text = target.getvalue()
    opening = _SIZE.search(text)
    assert opening is not None
    width, height = (f"{float(value):g}" for value in opening.groups())
    body = text[opening.end() :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, count=1, flags=re.DOTALL)
    body = re.sub(r"<style[^>]*>[^<]*</style>", "", body)  # its rules would apply to the whole page
    body = re.sub(r' id="([^"]*)"', rf' id="{name}-\1"', body)
    body = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", body)
    body = re.sub(r'href="#([^"]*)"', rf'href="#{name}-\1"', body)
    body = re.sub(r"\n\s*", "\n", body)
    start = f'<svg class="plot" viewBox="0 0 {width} {height}" style="max-width:{width}pt" aria-hidden="true"'
    return start + ' stroke-linejoin="round" focusable="false">' + body.strip()

"""Figures as a part of a page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from covmetric.plotting.figures import new_figure
from covmetric.report.svg import inline_svg
from tests.report.examples import DANGER


def figure(label="label"):
    drawn, (axes,) = new_figure(3, 2, 1)
    axes.plot([0, 1], [0, 1], label=label)
    axes.set_title(label.replace("$", r"\$"))
    axes.fill_between([0, 1], [0, 1], hatch="//")
    return drawn


def test_svg_is_well_formed_and_its_references_are_its_own():
    text = inline_svg(figure(), "first")
    root = ElementTree.fromstring(text.replace("xlink:href", "href"))
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids)) > 3 and all(one.startswith("first-") for one in ids)
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(ids)
    assert root.get("aria-hidden") == "true" and re.fullmatch(r"0 0 [\d.]+ [\d.]+", root.get("viewBox"))
    assert "style>" not in text and "metadata" not in text and "http" not in text


def test_text_is_text_and_is_escaped():
    text = inline_svg(figure(DANGER), "danger")
    titles = [element.text for element in ElementTree.fromstring(text.replace("xlink:href", "href")).iter("text")]
    assert DANGER in titles
    assert "<script" not in text and "<img" not in text


def test_many_points_become_a_picture():
    drawn, (axes,) = new_figure(3, 2, 1)
    axes.scatter(range(5000), range(5000))
    text = inline_svg(drawn, "cloud")
    assert "data:image/png" in text and len(text) < 50_000


def test_svg_is_the_same_every_time():
    assert inline_svg(figure(), "same") == inline_svg(figure(), "same")

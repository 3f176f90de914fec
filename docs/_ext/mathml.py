"""Formulas as MathML, which browsers draw by themselves: pages need no script and no request for MathJax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator


_NAMESPACE = "http://www.w3.org/1998/Math/MathML"


def limits_below(mathml: str) -> str:
    """Move what stands beside min and max, such as "s > 0", below them, as in every display formula."""
    ElementTree.register_namespace("", _NAMESPACE)
    root = ElementTree.fromstring(mathml)
    for element in root.iter(f"{{{_NAMESPACE}}}msub"):
        if element[0].text in ("min", "max"):
            element.tag = f"{{{_NAMESPACE}}}munder"
    return ElementTree.tostring(root, encoding="unicode")


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    translator.body.append(convert(node.astext(), display="inline"))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own; lines that end with a double backslash are aligned at their ampersands."""
    latex = node.astext().strip()
    if r"\\" in latex and r"\begin{" not in latex:
        latex = rf"\begin{{align*}}{latex}\end{{align*}}"
    label = f' id="{node["ids"][0]}"' if node.get("ids") else ""
    formula = limits_below(convert(latex, display="block"))
    translator.body.append(f'<div class="math-block"{label} tabindex="0">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True}

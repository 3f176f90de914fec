"""Self-contained HTML pages about models, evaluations, comparisons and searches. They need Jinja2."""

from __future__ import annotations

from covmetric.report.comparison_page import comparison_page
from covmetric.report.content import Page
from covmetric.report.environment import render
from covmetric.report.evaluation_page import evaluation_page
from covmetric.report.gesture_page import gesture_page
from covmetric.report.model_page import model_page
from covmetric.report.neighbors import LabelledExamples
from covmetric.report.search_page import search_page
from covmetric.report.writing import read_run, run_page, write_page

__all__ = [
    "LabelledExamples",
    "Page",
    "comparison_page",
    "evaluation_page",
    "gesture_page",
    "model_page",
    "read_run",
    "render",
    "run_page",
    "search_page",
    "write_page",
]

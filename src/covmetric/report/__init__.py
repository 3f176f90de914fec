"""Pages for people, each in one file that opens from disk: models, evaluations, comparisons, searches, the demo.

They need Jinja2, which the extra "report" installs.
"""

from __future__ import annotations

from covmetric.report.comparisons import comparison_page
from covmetric.report.content import Page
from covmetric.report.environment import render, require_jinja
from covmetric.report.evaluation_neighbors import evaluation_neighbors, neighbors_record
from covmetric.report.evaluations import evaluation_page
from covmetric.report.gestures import gesture_page
from covmetric.report.models import model_page
from covmetric.report.runs import read_run, run_page
from covmetric.report.searches import search_page, write_search_page
from covmetric.report.writing import write_page

__all__ = [
    "Page",
    "comparison_page",
    "evaluation_neighbors",
    "evaluation_page",
    "gesture_page",
    "model_page",
    "neighbors_record",
    "read_run",
    "render",
    "require_jinja",
    "run_page",
    "search_page",
    "write_page",
    "write_search_page",
]

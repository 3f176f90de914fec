"""Data sets and simulators."""

from __future__ import annotations

from covmetric.datasets.paper import make_paper_problem

__all__ = ["make_paper_problem"]

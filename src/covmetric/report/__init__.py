"""Pages for people, each in one file that opens from disk."""

from __future__ import annotations

from covmetric.report.search_page import write_search_page

__all__ = ["write_search_page"]

"""Reports of the experiments: text, tables, pictures and CSV files. One experiment per file."""

from __future__ import annotations

from covmetric.experiments.reports.claims import claims_report, write_claims
from covmetric.experiments.reports.comparison import comparison_figure
from covmetric.experiments.reports.convergence import convergence_report
from covmetric.experiments.reports.gestures import gesture_figure
from covmetric.experiments.reports.image_sets import image_set_report
from covmetric.experiments.reports.projection import projection_report
from covmetric.experiments.reports.rank_one import rank_one_report
from covmetric.experiments.reports.readings import readings_report
from covmetric.experiments.reports.recognition import recognition_report
from covmetric.experiments.reports.report import Picture, Report, TextTable, write_csv

__all__ = [
    "Picture",
    "Report",
    "TextTable",
    "claims_report",
    "comparison_figure",
    "convergence_report",
    "gesture_figure",
    "image_set_report",
    "projection_report",
    "rank_one_report",
    "readings_report",
    "recognition_report",
    "write_claims",
    "write_csv",
]

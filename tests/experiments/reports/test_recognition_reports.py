"""The reports of the recognition experiments, of the readings and of the image sets, from made-up results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from covmetric.experiments.image_sets import SetRow
from covmetric.experiments.protocols import PROTOCOLS
from covmetric.experiments.reading_definitions import READINGS
from covmetric.experiments.readings import BRODATZ, ETH80, ReadingRow
from covmetric.experiments.recognition import BALANCED, LOOSE_SEARCH, PHIS, SLACKS, RecognitionRow
from covmetric.experiments.reports import Picture, TextTable, image_set_report, readings_report, recognition_report
from covmetric.experiments.reports.recognition import PANEL_TITLES

GRID = "100.0 1.0 0.1 0.01"


def tables(report):
    return [part for part in report.parts if isinstance(part, TextTable)]


def pictures(report):
    return [part for part in report.parts if isinstance(part, Picture)]


def text(report):
    return "\n".join(part for part in report.parts if isinstance(part, str))


def make_rows(protocols, variants=(BALANCED,), phis=PHIS):
    """Return rows on two splits; learning gains 1, 2 and 3 percent, and 0.6 percent more on the second split."""
    metrics = [("eye", ""), *((slack, variant) for variant in variants for slack in SLACKS)]
    return [
        RecognitionRow(
            protocol, variant, seed, phi, W, "" if W == "eye" else GRID, np.inf if W == "eye" else 10.0**-seed,
            accuracy=0.5 + 0.1 * phis.index(phi) + 0.06 * seed + (0.01 * i + (0.006 * seed if i else 0.0)),
            relative_gap=0.0, seconds=1.0, n_train=300, n_test=100, n_tuning=0 if W == "eye" else 300, region="9 x 7",
        )
        for protocol in protocols
        for seed in (0, 1)
        for phi in phis
        for W, variant in metrics
        for i in [["eye", *SLACKS].index(W)]
    ]  # fmt: skip


def test_recognition_report_has_a_table_and_a_panel_per_protocol():
    report = recognition_report("textures", "Textures", make_rows(["brodatz 3/1", "brodatz 2/2"]))
    assert [table.title for table in tables(report)] == [
        f"{protocol}{end}"
        for protocol in ("brodatz 3/1", "brodatz 2/2")
        for end in (", balanced pairs", ": is chol the best Phi?")
    ]
    assert tables(report)[0].rows[1] == [
        "log",
        "63.0 ± 3.0",
        "64.3 ± 3.3 (+1.30 ± 0.30, better)",
        "65.3 ± 3.3 (+2.30 ± 0.30, better)",
        "66.3 ± 3.3 (+3.30 ± 0.30, better)",
        "1, 0.1",
        "0, 0 of 2",
    ]
    (picture,) = pictures(report)
    assert picture.filename == "textures.png"
    assert [panel.get_title()[-5:] for panel in picture.draw().axes] == ["(3/1)", "(2/2)"]


def test_every_protocol_has_a_panel_title():
    assert PANEL_TITLES.keys() == PROTOCOLS.keys()


def test_figure_has_the_names_of_the_tables_and_the_phi_of_the_paper():
    rows = make_rows(["eth80 by image"], (BALANCED, "uniform pairs"), (*PHIS, "relog"))
    rows = [replace(row, accuracy=0.1) if row.variant == "uniform pairs" else row for row in rows]
    report = recognition_report("objects", "Objects", rows)
    figure = pictures(report)[0].draw()
    (panel,) = figure.axes
    assert panel.get_title() == "ETH-80, split by image"
    assert [label.get_text() for label in panel.get_xticklabels()] == list(PHIS)
    assert panel.get_legend_handles_labels()[1] == ["W = I", "learned, is", "learned, l2", "learned, re"]
    assert tables(report)[0].head[1:5] == panel.get_legend_handles_labels()[1]
    heights = [bar.get_height() for bar in panel.patches]
    np.testing.assert_allclose(heights, [b + 10 * phi for b in (53, 54.3, 55.3, 56.3) for phi in range(4)])
    assert tables(report)[0].rows[4][0] == "relog"


def test_page_names_the_choices_and_whose_they_are():
    page = text(recognition_report("textures", "Textures", make_rows(["brodatz 3/1"], (BALANCED, "uniform pairs"))))
    for words in (
        "50 patches of 9 x 7 pixels", "all splits share these patches", '"3/1" means that three quarters',
        '"brodatz 3/1" has 300 training and 100 test matrices', "[-1 0 1]", "[-1 2 -1]", "1e-09 of the mean eigenvalue",
        "first in sorted order", "choices of ours, and not of the paper: half of the pairs are similar",
        "divided by their median", "100, 1, 0.1, 0.01 by 3-fold", "all (at most 300) examples",
        "largest lambda wins ties", "one training quarter of each texture", "over 2 splits",
        "more than 2 standard errors", 'with "uniform pairs", all pairs',
    ):  # fmt: skip
        assert words in page, words
    assert "neighbour pairs" not in page and "search that solves" not in page and "{" not in page


def test_page_of_objects_names_the_folds():
    page = text(recognition_report("objects", "Objects", make_rows(["eth80 by image", "eth80 by object"])))
    assert "images of 9 x 7 pixels" in page and 'whole objects with "by object"' in page and "{" not in page


def test_page_counts_the_choices_at_the_ends_of_the_grid():
    rows = make_rows(["eth80 by image"])
    ends = [replace(row, lam=100.0) if row.W == "is" and row.phi == "log" else row for row in rows]
    ends = [replace(row, lam=0.01) if row.W == "is" and row.phi == "id" and row.seed == 0 else row for row in ends]
    report = recognition_report("objects", "Objects", ends)
    assert "Of the 24 choices of lambda, 2 are the largest value" in text(report)
    assert "and 1 are the smallest one" in text(report)
    cells = {row[0]: row[-2:] for row in tables(report)[0].rows}
    assert cells["id"] == ["0.01, 0.1", "0, 1 of 2"] and cells["log"] == ["100, 100", "2, 0 of 2"]


def test_page_counts_the_choices_that_depend_on_the_tolerance():
    rows = make_rows(["eth80 by image"])
    loose = [replace(row, variant=LOOSE_SEARCH) for row in rows if row.W == "is"]
    loose[0] = replace(loose[0], lam=0.01)
    report = recognition_report("objects", "Objects", rows + loose)
    assert "chooses another lambda in 1 of 8 cases" in text(report)
    assert not any(LOOSE_SEARCH in table.markdown() for table in tables(report))


def test_best_phi_is_compared_with_the_next():
    rows = make_rows(["eth80 by image"])
    log = tables(recognition_report("objects", "Objects", rows))[-1]
    assert log.title == "eth80 by image: is log the best Phi?"
    assert log.rows[1] == ["balanced pairs", "is", "chol", "-20.00 ± 0.00, worse"]
    assert log.rows[0][:3] == ["W = I", "", "chol"]


def reading_rows(names):
    """Return rows in which learning gains 2 percent, chol is the best Phi and `id` the worst."""
    return [
        ReadingRow(
            name, protocol, seed, phi, W, "" if W == "eye" else GRID, np.inf if W == "eye" else 100.0,
            accuracy=0.6 + 0.05 * PHIS.index(phi) + 0.03 * seed + (0.02 + 0.002 * seed) * (W == "is"),
            relative_gap=0.0, seconds=1.0,
        )
        for name in names
        for protocol in (BRODATZ, ETH80)
        for seed in (0, 1)
        for phi in PHIS
        for W in ("eye", "is")
    ]  # fmt: skip


def test_readings_report_has_a_verdict_per_reading_and_claim():
    report = readings_report(reading_rows(READINGS))
    descriptions, claims, brodatz, eth80 = tables(report)
    assert [row[0] for row in descriptions.rows] == [row[0] for row in claims.rows] == list(READINGS)
    assert claims.rows[0][3] == "holds (chol - sqrt +5.00 ± 0.00)"
    assert claims.rows[0][4] == "contradicted (log - chol -10.00 ± 0.00)"
    assert claims.rows[0][1].startswith("holds (id +2.10 ± 0.10; log +2.10")
    assert brodatz.title == BRODATZ and eth80.title == ETH80
    assert brodatz.rows[0][1] == "61.5 to 63.6 (+2.10 ± 0.10, better)" and brodatz.rows[0][-1] == "8, 0 of 8"
    assert "hold in 0 of 10 readings (none)" in text(report) and "ours: 3, raw distances: 3" in text(report)
    assert "{" not in text(report) and report.name == "readings"
    assert "on at most 4,000 random examples of the training part" in text(report)  # ETH-80 has fewer


def test_readings_report_names_a_reading_in_which_all_claims_hold():
    rows = reading_rows(["ours", "Sobel"])
    better = [
        replace(row, accuracy=row.accuracy + 0.2)
        if (row.reading, row.protocol, row.phi) == ("Sobel", ETH80, "log")
        else row
        for row in rows
    ]
    assert "hold in 1 of 2 readings (Sobel)" in text(readings_report(better))


@pytest.fixture
def set_rows():
    return [
        SetRow("log", repeat, "0.01 0.001", 1e-4, lam, 0.8 + 0.1 * repeat + gain, leave_one_out, 0.0, status, 1800.0)
        for repeat in (0, 1)
        for lam, leave_one_out, status, gain in (
            (np.inf, 0.7, "", -0.02 - 0.02 * repeat), (1e-2, 0.9, "SOLVED", 0.0), (1e-3, 0.8, "MAX_ITER", 0.0)
        )
    ]  # fmt: skip


def test_image_set_report_names_the_chosen_lambda(set_rows):
    report = image_set_report(set_rows)
    (table,) = tables(report)
    assert table.rows[1] == ["0.01", "85.00 ± 5.00", "+3.00 ± 1.00, better", "90.0", "2", "1800"]
    assert table.rows[0][2] == ""
    assert [row[4] for row in table.rows] == ["2", "2", "0"]
    assert "Lambda = 0.01 has" in report.parts[2] and "over 2 repeats is 85.00 ± 5.00 percent" in report.parts[2]
    assert "It is the largest lambda of the grid." in report.parts[2] and "took 1.00 hours" in report.parts[2]
    assert "relative gap of 0.0001" in report.parts[0]


def test_image_set_report_names_an_end_only_if_it_is_one(set_rows):
    report = image_set_report([replace(row, lambdas="0.1 0.01 0.001") for row in set_rows])
    assert "of the grid" not in report.parts[2]

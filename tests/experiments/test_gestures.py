"""The hand gestures of the demo."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.experiments.gestures import FIXED, LEARNED, PYRIEMANN, GestureTable, Row, gestures
from covmetric.experiments.reports import gesture_figure


@pytest.fixture(scope="module")
def table():
    return gestures(window=2000)


def test_table_has_every_method_for_every_person(table):
    assert table.people == ["mg", "rr"]
    summary = table.summary()
    assert [row.kind for row in summary] == [FIXED] * 5 + [PYRIEMANN] * 3 + [LEARNED]
    assert len(table.rows) == 2 * len(summary)
    assert all(row.accuracy > 0.3 and len(row.accuracies) == 2 for row in summary)
    assert table.channels == 8 and set(table.learned) == set(table.test) == {"mg", "rr"}
    X, y = table.test["mg"]
    assert table.learned["mg"].metric_.transform(X).shape[0] == len(y)


def test_summary_averages_over_the_people():
    rows = [Row(kind, "m", person, a, 1.0 + a, a) for kind, a in ((FIXED, 0.5), (LEARNED, 0.7)) for person in "ab"]
    rows[1] = Row(FIXED, "m", "b", 0.9, 2.0, 0.4)
    table = GestureTable(rows, {}, {}, 10, 8)
    first = table.summary()[0]
    assert (first.accuracies, first.accuracy) == ((0.5, 0.9), pytest.approx(0.7))
    assert (first.fit_seconds, first.predict_seconds) == (pytest.approx(1.75), pytest.approx(0.45))
    assert table.best_accuracy(LEARNED) == pytest.approx(0.7)


def test_figure_shows_the_accuracies_and_two_embeddings(table):
    bars, fixed, learned = gesture_figure(table).axes
    assert [label.get_text() for label in bars.get_yticklabels()] == [row.method for row in table.summary()]
    np.testing.assert_allclose(
        [bar.get_width() for bar in bars.patches], [100 * row.accuracy for row in table.summary()]
    )
    for axes in (fixed, learned):
        assert sum(len(points.get_offsets()) for points in axes.collections) == len(table.test["mg"][1])
    assert "learned" in learned.get_title() and "log" in fixed.get_title()

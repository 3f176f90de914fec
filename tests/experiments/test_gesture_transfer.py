"""Hand gestures in a new session or of a new person."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier, Recentre
from covmetric.datasets import load_emg
from covmetric.experiments.gesture_transfer import RECENTRINGS, gesture_transfer

WINDOW = 1000


@pytest.fixture(scope="module")
def rows():
    return gesture_transfer(WINDOW)


def test_there_is_a_row_for_each_session_and_case(rows):
    assert [(row.case, row.person, row.session) for row in rows] == [
        (case, person, session)
        for case in ("new session", "new person")
        for person in ("mg", "rr")
        for session in (1, 2)
    ]
    assert all(list(row.accuracies) == list(RECENTRINGS) for row in rows)


def test_accuracies_are_those_of_the_literal_steps(rows):
    """The second session of rr, trained on both sessions of mg."""
    data = load_emg(WINDOW)
    source, target = data.person == "mg", (data.person == "rr") & (data.session == 2)
    recentre = Recentre("transductive").fit(data.X[source], groups=data.session[source])
    moved = recentre.transform(data.X[source], groups=data.session[source])
    model = CovMetricClassifier(CovMetric(random_state=0), rule="svm").fit(moved, data.y[source], data.groups[source])
    predicted = model.predict(recentre.transform(data.X[target], groups="new"))
    assert rows[-1].accuracies["mean of session"] == np.mean(predicted == data.y[target])
    stream = []
    for x in data.X[target]:
        stream.append(recentre.set_params(new_groups="running").transform(x[None], groups="new")[0])
        recentre.partial_fit(x[None], groups="new")
    assert rows[-1].accuracies["running mean"] == np.mean(model.predict(np.array(stream)) == data.y[target])


def test_recentring_helps_in_most_sessions(rows):
    assert sum(row.accuracies["mean of session"] > row.accuracies["not recentred"] for row in rows) >= 6

"""Simulated classes of matrices and of textures."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier
from covmetric.datasets import make_spd_classes, make_textures


def test_a_learned_metric_separates_the_classes_better_than_a_fixed_one():
    data = make_spd_classes(n_classes=3, n_per_class=60, n=8, nuisance=1.5, random_state=0)
    assert data.X.shape == (180, 8, 8) and np.bincount(data.y).tolist() == [60] * 3
    assert np.linalg.eigvalsh(data.X).min() > 0
    train, test = slice(0, None, 2), slice(1, None, 2)
    scores = [
        CovMetricClassifier(learner).fit(data.X[train], data.y[train]).score(data.X[test], data.y[test])
        for learner in (CovMetric("log", lam=np.inf), CovMetric("log", random_state=0))
    ]
    assert scores[1] > scores[0] + 0.02
    np.testing.assert_array_equal(make_spd_classes(random_state=3).X, make_spd_classes(random_state=3).X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n must be an integer >= 1, got 0"),
        ({"n_informative": 9}, "n_informative <= n <= samples is required"),
        ({"samples": 3}, "n_informative <= n <= samples is required"),
        ({"separation": -1}, "separation must be a number >= 0, got -1"),
    ],
)
def test_invalid_settings_of_classes_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        make_spd_classes(**settings)


def test_textures_are_grey_images():
    data = make_textures(n_classes=3, n_per_class=4, size=48)
    assert data.images.shape == (12, 48, 48) and 0 <= data.images.min() < data.images.max() <= 255
    with pytest.raises(ValueError, match="noise must be a number from 0 to 1, got 2"):
        make_textures(noise=2)

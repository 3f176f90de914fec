"""Files written by covmetric 0.1.0, before its classes moved and were renamed, load and give the same results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from covmetric import LearnedMetric, load_model
from covmetric.model_file import archive

FIXTURES = Path(__file__).parent / "fixtures"
_NEWER = ("image-patches", "recentre")  # classes that version 0.1.0 did not have
NAMES = sorted(path.stem for path in FIXTURES.glob("*.npz") if path.stem not in ("expected", *_NEWER))


@pytest.fixture(scope="module")
def expected():
    with np.load(FIXTURES / "expected.npz") as arrays:
        return dict(arrays)


def test_there_is_an_old_file_of_each_class():
    classes = {type(load_model(FIXTURES / f"{name}.npz")).__name__ for name in NAMES}
    assert classes == {"LearnedMetric", "CovMetric", "CovMetricCV", "CovMetricClassifier", "CovMetricPairs"}


@pytest.mark.parametrize("name", NAMES)
def test_old_files_load_and_are_saved_unchanged(name, expected, tmp_path, monkeypatch):
    """A file carries the version that wrote it; all else is the same."""
    monkeypatch.setattr(archive, "__version__", "0.1.0")
    model = load_model(FIXTURES / f"{name}.npz")
    metric = model if isinstance(model, LearnedMetric) else model.metric_
    np.testing.assert_array_equal(metric.W, expected[f"{name}.W"])
    for method in ("transform", "predict_proba"):
        if f"{name}.{method}" in expected:
            np.testing.assert_allclose(getattr(model, method)(expected["X"]), expected[f"{name}.{method}"], rtol=1e-12)
    model.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (FIXTURES / f"{name}.npz").read_bytes()

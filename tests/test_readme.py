"""The examples and claims of the README hold, and so do the examples of docs/metric.md."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

import numpy as np
import pytest

from covmetric.descriptors import SeriesCovariances
from covmetric.experiments.gestures import DETERMINISTIC, gestures

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
EXAMPLE = re.compile(r"```python\n((?:(?!```).)*?)```(?:(?!```).)*?```text\n(.*?)```", re.DOTALL)


def run(code):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})
    return out.getvalue()


@pytest.mark.parametrize("block", [0, 1], ids=["estimators", "problem"])
def test_example_of_the_readme_prints_the_documented_output(block):
    """Except for digits that depend on the machine, which the README shows as "..."."""
    assert README.count("```python") == len(EXAMPLE.findall(README)) == 2
    code, documented = EXAMPLE.findall(README)[block]
    printed = run(code)
    assert doctest.OutputChecker().check_output(documented, printed, doctest.ELLIPSIS), printed
    assert len(code.splitlines()) <= 16


def test_example_of_the_metric_page_prints_the_documented_output():
    ((code, documented),) = EXAMPLE.findall((ROOT / "docs" / "metric.md").read_text())
    printed = run(code)
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", documented)
    # The gap depends on the last bits; the metric and the objective do not.
    expected, got = (NUMBER.findall(text)[:12] for text in (documented, printed))
    assert [round(float(x), 2) for x in got] == [round(float(x), 2) for x in expected]
    assert len(code.splitlines()) <= 16


def test_certificates_show_no_digits_that_the_tolerance_does_not_fix():
    """The objective may be off by 1e-6 of its value, and the gap may be anything below that."""
    for _, documented in EXAMPLE.findall(README):
        certificate = documented.splitlines()[-1]
        assert "at most ... above the optimum (relative ..., within the tolerance 1.0e-06)" in certificate
        objective = re.search(r"objective (\d+\.\d+)\.\.\.", certificate)[1]
        assert 10.0 ** -len(objective.partition(".")[2]) > 1e-6 * float(objective)


def test_table_of_the_demo_shows_the_methods_without_seed(monkeypatch):
    """The other rows take minutes on a slow machine: they are the output of `covmetric demo`."""
    monkeypatch.setattr("covmetric.experiments.gestures.TUNED", {})
    monkeypatch.setattr("covmetric.experiments.gestures.SEARCHED", {})
    measured = {row.method: f"{100 * row.accuracy:.1f}" for row in gestures().summary()}
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in README.splitlines() if line.startswith("| ")]
    documented = {row[1].split(" (")[0]: row[2] for row in cells if len(row) == 4 and row[3] == ""}
    assert measured == documented and list(measured) == list(DETERMINISTIC)


def test_series_covariances_accept_epochs_of_mne_and_pyriemann_does_not():
    mne = pytest.importorskip("mne")
    from pyriemann.estimation import Covariances

    X = 1e-5 * np.random.default_rng(0).standard_normal((6, 4, 100))
    with mne.utils.use_log_level("error"):
        epochs = mne.EpochsArray(X, mne.create_info(4, 100.0, ["eeg", "eeg", "eeg", "eog"]))
        picked = epochs.copy().pick("eeg")
    covariances = SeriesCovariances().fit_transform(picked)
    assert covariances.shape == (6, 3, 3)
    np.testing.assert_array_equal(covariances, SeriesCovariances().fit_transform(X[:, :3]))
    assert SeriesCovariances().fit_transform(epochs).shape == (6, 4, 4)  # all channels
    np.testing.assert_allclose(covariances, Covariances("oas").transform(picked.get_data()), rtol=1e-9)
    with pytest.raises((AttributeError, TypeError), match="EpochsArray"):
        Covariances("oas").transform(picked)

"""The examples and claims of the README hold, and so do the examples of the pages on metrics, models and sessions."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier
from covmetric.constraints import NeighborPairs
from covmetric.datasets import load_emg
from covmetric.descriptors import SeriesCovariances
from covmetric.estimators.default_search import default_search
from covmetric.experiments.gesture_results import FIXED
from covmetric.experiments.gestures import DETERMINISTIC, LEARNERS, PEERS, TUNED, gestures

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
    ((code, documented),) = EXAMPLE.findall((ROOT / "docs" / "guide" / "metric.md").read_text())
    printed = run(code)
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", documented)
    # The gap depends on the last bits; the metric and the objective do not.
    expected, got = (NUMBER.findall(text)[:12] for text in (documented, printed))
    assert [round(float(x), 2) for x in got] == [round(float(x), 2) for x in expected]
    assert len(code.splitlines()) <= 16


def test_example_of_the_sessions_page_prints_the_documented_output():
    code, documented = EXAMPLE.findall((ROOT / "docs" / "howto" / "sessions.md").read_text())[0]
    printed = run(code)
    expected, got = ([float(x) for x in NUMBER.findall(text)] for text in (documented, printed))
    np.testing.assert_allclose(got, expected, atol=0.05)  # some trials are near the border


def test_example_of_the_models_page_prints_the_documented_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ((code, documented),) = EXAMPLE.findall((ROOT / "docs" / "guide" / "models.md").read_text())
    printed = run(code)
    shape = [NUMBER.sub("#", text).splitlines() for text in (documented, printed)]
    assert shape[0] == shape[1]
    assert len(code.splitlines()) <= 16


def test_certificates_show_no_digits_that_the_tolerance_does_not_fix():
    """The objective may be off by 1e-6 of its value, and the gap may be anything below that."""
    for _, documented in EXAMPLE.findall(README):
        certificate = documented.splitlines()[-1]
        assert "at most ... above the optimum (relative ..., within the tolerance 1.0e-06)" in certificate
        objective = re.search(r"objective (\d+\.\d+)\.\.\.", certificate)[1]
        assert 10.0 ** -len(objective.partition(".")[2]) > 1e-6 * float(objective)


def demo_table():
    """Return the accuracy and the range, by method, from the README's table of the demo."""
    cells = [[cell.strip(" *`") for cell in line.split("|")[1:-1]] for line in README.splitlines() if line[:2] == "| "]
    names = {
        'CovMetricClassifier(rule="auto")': "CovMetricClassifier, auto",
        "CovMetricCV()`, 3-NN": "CovMetricCV, 3-NN",
    }
    rows = {names.get(row[1], row[1].split(" (")[0]): row[2:] for row in cells if len(row) == 4 and "." in row[2]}
    return {method: (accuracy, spread.split(" to ") if spread else []) for method, (accuracy, spread) in rows.items()}


def percent(accuracy):
    return f"{100 * accuracy:.1f}"


def test_table_of_the_demo_shows_the_methods_without_seed(monkeypatch):
    """The other rows take minutes on a slow machine: they are the output of `covmetric demo`."""
    for others in ("TUNED", "PEERS", "LEARNERS"):
        monkeypatch.setattr(f"covmetric.experiments.gestures.{others}", {})
    measured = {row.method: percent(row.accuracy) for row in gestures().summary()}
    documented = {method: accuracy for method, (accuracy, spread) in demo_table().items() if not spread}
    assert measured == documented and list(measured) == list(DETERMINISTIC)


def test_table_of_the_demo_has_all_methods_with_means_inside_their_ranges():
    assert list(demo_table()) == [*DETERMINISTIC, *TUNED, *PEERS, *LEARNERS]
    for accuracy, spread in demo_table().values():
        assert [float(value) for value in spread] == sorted(map(float, spread))
        assert not spread or float(spread[0]) <= float(accuracy) <= float(spread[1])


def test_table_of_the_demo_agrees_with_the_learners_on_the_first_seed(monkeypatch):
    """Ten seeds take a minute: the mean of one seed is inside the range, and equals it if all seeds agree."""
    for others in ("TUNED", "PEERS", "DETERMINISTIC"):
        monkeypatch.setattr(f"covmetric.experiments.gestures.{others}", {})
    for row in gestures(seeds=[0]).summary():
        low, high = map(float, demo_table()[row.method][1])
        assert low <= float(percent(row.accuracy)) <= high


def test_differences_in_the_text_of_the_demo_follow_from_the_table():
    text = " ".join(README.split())
    means = {method: float(accuracy) for method, (accuracy, _) in demo_table().items()}
    (auto,) = re.findall(r"It is (\S+) points above the best fixed metric \(chol\) and (\S+) points above", text)
    (searched,) = re.findall(r"it is (\S+) points below chol and (\S+) points below tangent space \+ SVM", text)
    for method, sign, differences in (("CovMetricClassifier, auto", 1, auto), ("CovMetricCV, 3-NN", -1, searched)):
        for other, documented in zip(("chol", "tangent space + SVM"), differences, strict=True):
            assert sign * (means[method] - means[other]) == pytest.approx(float(documented), abs=0.1001)
    fixed = {method: means[method] for method in DETERMINISTIC if DETERMINISTIC[method][0] == FIXED}
    tangent = {method: means[method] for method in means if method in TUNED or method in ("MDM", "FgMDM")}
    assert max(fixed, key=fixed.get) == "chol" and max(tangent, key=tangent.get) == "tangent space + SVM"


def combined(**settings):
    """Return the rules of the demo in a metric that is not chosen: the first one is always good enough."""
    search = default_search(**{"lambdas": [1e-2], "n_std_errors": 1e3, "random_state": 0, **settings})
    return CovMetricClassifier(search, rule="auto")


@pytest.mark.parametrize(
    ("claim", "classifier"),
    [
        (r"rules with W = I have (\S+) percent", combined(lambdas=[np.inf])),
        (r"3-NN in the same metric has (\S+) percent", CovMetricClassifier(CovMetric(lam=1e-2, random_state=0))),
        (r"rounds, the combined rules have (\S+) percent", combined(pairs=NeighborPairs(groups="ignore"))),
    ],
    ids=["fixed", "neighbours", "ignoring rounds"],
)
def test_reasons_for_the_result_of_the_demo_are_measured(claim, classifier):
    data = load_emg(250)
    accuracies = []
    for person in np.unique(data.person):
        train, test = ((data.person == person) & (data.session == session) for session in (1, 2))
        classifier.fit(data.X[train], data.y[train], data.groups[train])
        assert classifier.metric_.embedding.name == "relog"
        accuracies.append(classifier.score(data.X[test], data.y[test]))
    (documented,) = re.findall(claim, " ".join(README.split()))
    assert percent(np.mean(accuracies)) == documented


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
    np.testing.assert_array_equal(covariances, SeriesCovariances().fit_transform(epochs))  # without the EOG
    np.testing.assert_allclose(covariances, Covariances("oas").transform(picked.get_data()), rtol=1e-9)
    with pytest.raises((AttributeError, TypeError), match="EpochsArray"):
        Covariances("oas").transform(picked)

"""The tables of docs/moving agree with the installed pyRiemann and with the names of covmetric."""

from __future__ import annotations

import re
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from pyriemann.artifact_detection import Potato
from pyriemann.classification import MDM, SVC, FgMDM, KNearestNeighbor, MeanField, TSClassifier
from pyriemann.clustering import Kmeans, KmeansPerClassTransform, MeanShift
from pyriemann.regression import KNearestNeighborRegressor
from pyriemann.stats import PermutationDistance
from pyriemann.tangentspace import FGDA, TangentSpace
from pyriemann.transfer import MDWM, TLCenter, TLScale, encode_domains

import covmetric
from covmetric import CovMetric, CovMetricPairs
from covmetric.datasets import make_spd_classes

MOVING = Path(__file__).parents[1] / "docs" / "moving"
ROW = re.compile(r"^\| `(\w+)`.*?\| (yes|only|no)\b", re.M)

#: For each class of the table: how it is run with a learned metric.
RUNS = {
    "MDM": lambda X, y, metric: MDM(metric=metric).fit(X, y).predict(X),
    "KNearestNeighbor": lambda X, y, metric: KNearestNeighbor(3, metric=metric).fit(X, y).predict(X),
    "KNearestNeighborRegressor": lambda X, y, metric: KNearestNeighborRegressor(3, metric=metric).fit(X, y).predict(X),
    "Kmeans": lambda X, y, metric: Kmeans(2, metric=metric, random_state=0).fit(X).labels_,
    "KmeansPerClassTransform": lambda X, y, metric: KmeansPerClassTransform(2, metric=metric).fit(X, y).transform(X),
    "Potato": lambda X, y, metric: Potato(metric=metric).fit(X).predict(X),
    "PermutationDistance": lambda X, y, metric: PermutationDistance(5, metric=metric, mode="pairwise").test(X, y),
    "TLCenter": lambda X, y, metric: TLCenter("a", metric=metric).fit(*domains(X, y)).transform(X),
    "TLScale": lambda X, y, metric: TLScale("a", metric=metric).fit(*domains(X, y)).transform(X),
    "FgMDM": lambda X, y, metric: FgMDM(metric=metric).fit(X, y),
    "FGDA": lambda X, y, metric: FGDA(metric=metric).fit(X, y),
    "TangentSpace": lambda X, y, metric: TangentSpace(metric=metric).fit(X),
    "TSClassifier": lambda X, y, metric: TSClassifier(metric=metric).fit(X, y),
    "MeanField": lambda X, y, metric: MeanField(metric=metric).fit(X, y).predict(X),
    "MeanShift": lambda X, y, metric: MeanShift(metric=metric).fit(X),
    "MDWM": lambda X, y, metric: MDWM(0.5, "a", metric=metric).fit(*domains(X, y)),
    "SVC": lambda X, y, metric: SVC(metric=metric).fit(X, y),
}


def domains(X, y):
    return encode_domains(X, y, np.where(np.arange(len(y)) % 2, "a", "b"))


@pytest.fixture(scope="module")
def fitted():
    data = make_spd_classes(n_classes=2, n_per_class=15, n=3)
    return data.X, data.y, CovMetric("log", random_state=0).fit(data.X, data.y).metric_


def takes(run, X, y, metric):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run(X, y, metric)
        except (AttributeError, KeyError, TypeError, ValueError):
            return False
    return True


@pytest.mark.skipif(version("pyriemann") != "0.12", reason="the table is about pyRiemann 0.12")
def test_page_says_which_classes_of_pyriemann_take_the_metric(fitted, capsys):
    X, y, metric = fitted
    listed = dict(ROW.findall((MOVING / "pyriemann.md").read_text().split("## Its classes in a learned metric")[1]))
    assert listed.keys() == RUNS.keys()
    for name, word in listed.items():
        whole = takes(RUNS[name], X, y, metric.as_pyriemann())
        assert whole == (word == "yes"), name
        if word == "only":
            assert takes(RUNS[name], X, y, metric.as_pyriemann()["mean"]), name


def test_page_on_metric_learn_names_what_exists():
    learners = {**{name: getattr(covmetric, name) for name in covmetric.__all__}}
    names = re.findall(r"`(CovMetric\w*)\.(\w+)`", (MOVING / "metric-learn.md").read_text())
    assert len(names) > 5
    fit = CovMetricPairs().fit(np.random.default_rng(0).standard_normal((20, 2, 3)), np.tile([1, -1], 10))
    for owner, name in names:
        assert hasattr(learners[owner], name) or (owner == "CovMetricPairs" and hasattr(fit, name)), (owner, name)

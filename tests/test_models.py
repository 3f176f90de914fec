"""The classes that skops has to trust: every estimator, descriptor, rule and component of the registries."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest
from pyriemann.estimation import Covariances
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from covmetric import SKOPS_TRUSTED, CovMetric, CovMetricClassifier, CovMetricPairs, Recentre
from covmetric.constraints import BOUNDS, PAIRS
from covmetric.descriptors import DESCRIPTORS, REGIONS, FilterBank, ImageCovariances, SeriesCovariances
from covmetric.embeddings import EMBEDDINGS, VectorisedIdentity
from covmetric.learning.rules import RULES
from covmetric.metric import LearnedMetric
from covmetric.model_file import constructor_defaults
from covmetric.neighbors import SEARCHES
from covmetric.orders import ORDERS
from covmetric.slacks import SLACKS
from covmetric.solvers import SOLVERS
from tests.data import hermitian, two_classes
from tests.model_file.fitted import ESTIMATORS, answers

skops = pytest.importorskip("skops.io")


def dump_and_load(model):
    """Return the model after dump and load, if SKOPS_TRUSTED lists all that skops asks for."""
    content = skops.dumps(model)
    assert set(skops.get_untrusted_types(data=content)) <= set(SKOPS_TRUSTED)
    return skops.loads(content, trusted=SKOPS_TRUSTED)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_skops_loads_estimators(name):
    X, y = two_classes()
    model = ESTIMATORS[name]().fit(X, y)
    np.testing.assert_array_equal(answers(dump_and_load(model), X), answers(model, X))


def test_skops_loads_estimators_on_hermitian_matrices():
    X, y = two_classes(hermitian)
    model = CovMetricClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(dump_and_load(model).predict_proba(X), model.predict_proba(X))


def test_skops_loads_pairs():
    X, y = two_classes()
    pairs, similar = np.stack([X[:20], X[1::2]], axis=1), np.where(y[:20] == y[1::2], 1, -1)
    model = CovMetricPairs(random_state=0).fit(pairs, similar)
    np.testing.assert_array_equal(dump_and_load(model).predict(pairs), model.predict(pairs))


def test_skops_loads_recentre():
    X, _ = two_classes()
    groups = np.repeat(["a", "b"], 20)
    model = Recentre().fit(X, groups=groups)
    np.testing.assert_array_equal(dump_and_load(model).transform(X, groups), model.transform(X, groups))


@pytest.mark.parametrize("rule", [*RULES, "auto"])
def test_skops_loads_classifiers_with_every_rule(rule):
    X, y = two_classes()
    strength = "auto" if rule == "mean" else None
    model = CovMetricClassifier(rule=rule, mean_strength=strength, random_state=0).fit(X, y)
    np.testing.assert_array_equal(dump_and_load(model).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("phi", [*EMBEDDINGS.values(), VectorisedIdentity])
def test_skops_loads_metrics_and_kernels_on_every_embedding(phi):
    X, y = two_classes()
    X = X[:, 0] if phi.takes_vectors else X
    embedding = phi().fit(X)
    metric = LearnedMetric(embedding, np.eye(embedding.shape_out_[0]))
    np.testing.assert_array_equal(dump_and_load(metric).transform(X), metric.transform(X))
    machine = SVC(kernel=metric.as_kernel()).fit(X, y)
    np.testing.assert_array_equal(dump_and_load(machine).predict(X), machine.predict(X))


def default_object(cls):
    """Return an object of a class, with defaults where there are any."""
    required = {"n_classes": 2, "boxes": [[0, 0, 8, 8]], "bands": [(8.0, 12.0)], "sfreq": 100.0}
    defaults = constructor_defaults(cls)
    return cls(**{name: required[name] for name, value in defaults.items() if value is inspect.Parameter.empty})


COMPONENTS = {
    f"{registry} {name}": cls
    for registry, classes in {
        "bounds": BOUNDS,
        "descriptor": DESCRIPTORS,
        "order": ORDERS,
        "pairs": PAIRS,
        "regions": REGIONS,
        "rule": RULES,
        "search": SEARCHES,
        "slack": SLACKS,
        "solver": SOLVERS,
        "transformer": {"filter bank": FilterBank},
    }.items()
    for name, cls in classes.items()
}


@pytest.mark.parametrize("name", COMPONENTS)
def test_skops_loads_components(name):
    component = default_object(COMPONENTS[name])
    assert type(dump_and_load(component)) is COMPONENTS[name]


@pytest.mark.parametrize("name", REGIONS)
def test_skops_loads_image_descriptors_with_every_region(name):
    back = dump_and_load(ImageCovariances(regions=default_object(REGIONS[name])))
    assert type(back.regions) is REGIONS[name]


@pytest.mark.parametrize("first", [SeriesCovariances(), Covariances("oas")])
@pytest.mark.parametrize("last", [LogisticRegression(), SVC()])
def test_skops_loads_a_pipeline(first, last):
    X, y = np.random.default_rng(0).standard_normal((20, 3, 50)), np.arange(20) % 2
    pipeline = make_pipeline(clone(first), CovMetric(random_state=0), clone(last)).fit(X, y)
    np.testing.assert_array_equal(dump_and_load(pipeline).predict(X), pipeline.predict(X))


def test_trusted_names_are_sorted_unique_classes():
    """They are classes of covmetric, and the one of pyRiemann that pipelines on series begin with."""
    assert sorted(set(SKOPS_TRUSTED)) == SKOPS_TRUSTED
    for name in SKOPS_TRUSTED:
        module, _, attribute = name.rpartition(".")
        assert module.startswith("covmetric.") or name == "pyriemann.estimation.Covariances"
        assert inspect.isclass(getattr(importlib.import_module(module), attribute))

"""Metadata requests in model files: they come back, they change nothing if unset, and forged ones are refused."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, Recentre, load_model, save_model
from covmetric.datasets import make_spd_classes
from covmetric.estimators.metadata_requests import get_requests, set_requests

DATA = make_spd_classes(n_classes=2, n_per_class=12, n=3, random_state=0)
GROUPS = np.arange(len(DATA.y)) % 2
ESTIMATORS = {
    "CovMetric": CovMetric(lam=1.0, random_state=0),
    "CovMetricCV": CovMetricCV(lambdas=(1.0,), cv=2, random_state=0),
    "CovMetricClassifier": CovMetricClassifier(CovMetric(lam=1.0, random_state=0), rule="mean", random_state=0),
    "Recentre": Recentre(),
}


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize("name", ESTIMATORS)
def test_requests_come_back(name, tmp_path):
    estimator = sklearn.base.clone(ESTIMATORS[name]).set_fit_request(groups="session").fit(DATA.X, DATA.y)
    save_model(estimator, tmp_path / "model")
    with sklearn.config_context(enable_metadata_routing=False):
        back = load_model(tmp_path / "model")
    assert get_requests(back) == {"fit": {"groups": "session"}}
    assert str(back.get_metadata_routing()) == str(estimator.get_metadata_routing())
    save_model(back, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_file_without_requests_stays_the_same(name, tmp_path):
    estimator = sklearn.base.clone(ESTIMATORS[name]).fit(DATA.X, DATA.y)
    assert "metadata_requests" not in estimator.get_state()
    save_model(estimator, tmp_path / "model")
    save_model(estimator.set_fit_request(groups=None), tmp_path / "unset")
    assert (tmp_path / "unset").read_bytes() == (tmp_path / "model").read_bytes()
    assert "_metadata_request" not in vars(load_model(tmp_path / "model"))


def test_loaded_pipeline_routes_groups(tmp_path):
    recentre = Recentre().set_fit_request(groups=True).set_transform_request(groups=True)
    classifier = sklearn.base.clone(ESTIMATORS["CovMetricClassifier"]).set_fit_request(groups=False)
    pipeline = make_pipeline(recentre, classifier).fit(DATA.X, DATA.y, groups=GROUPS)
    save_model(pipeline, tmp_path / "model")
    back = load_model(tmp_path / "model")
    expected = pipeline.predict_proba(DATA.X, groups=GROUPS)
    np.testing.assert_array_equal(back.predict_proba(DATA.X, groups=GROUPS), expected)
    assert get_requests(back[0]) == {"fit": {"groups": True}, "transform": {"groups": True}}
    assert get_requests(back[1]) == {"fit": {"groups": False}}
    back.fit(DATA.X, DATA.y, groups=GROUPS)
    assert back[0].groups_ == [0, 1]


def test_loading_without_routing_names_the_remedy(tmp_path):
    recentre = Recentre().set_fit_request(groups=True).set_transform_request(groups=True)
    classifier = sklearn.base.clone(ESTIMATORS["CovMetricClassifier"]).set_fit_request(groups=True)
    nested = make_pipeline(make_pipeline(recentre), classifier).fit(DATA.X, DATA.y, groups=GROUPS)
    save_model(nested, tmp_path / "nested")
    plain = make_pipeline(CovMetric("log", lam=np.inf), sklearn.base.clone(classifier)).fit(DATA.X, DATA.y)
    save_model(plain, tmp_path / "fit only")
    with sklearn.config_context(enable_metadata_routing=False):
        with pytest.warns(UserWarning, match=r"recentre \(groups in transform\).*set_config"):
            back = load_model(tmp_path / "nested")
        load_model(tmp_path / "fit only")  # predicts without metadata, so that there is nothing to say
    np.testing.assert_array_equal(back.predict(DATA.X, groups=GROUPS), nested.predict(DATA.X, groups=GROUPS))


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        (["fit"], "must be a dict"),
        ({"fit": True}, "Recentre.fit must be a dict"),
        ({"__init__": {"groups": True}}, "no metadata requests for '__init__'"),
        ({"predict": {"groups": True}}, "no metadata requests for 'predict'"),
        ({"fit": {"sample_weight": True}}, "takes no metadata 'sample_weight'"),
        ({"fit": {"groups": 1}}, "must be a bool, None or a name, got 1"),
        ({"fit": {"groups": "$WARN$"}}, "must be a bool, None or a name"),
        ({"fit": {"groups": ["a"]}}, "must be a bool, None or a name"),
    ],
)
def test_forged_requests_are_refused(forged, message):
    with pytest.raises(ValueError, match=message.replace("$", r"\$")):
        set_requests(Recentre(), forged)
    state = Recentre().fit(DATA.X).get_state()
    with pytest.raises(ValueError, match="metadata"):
        Recentre.from_state({**state, "metadata_requests": forged})

"""New sessions and people: few labels, groups in partial_fit, and pyRiemann's transfer module."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from pyriemann.transfer import TLCenter, TLClassifier, TLSplitter, encode_domains
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, NeighborPairs, Recentre, load_model, save_model
from tests import naive
from tests.data import classes_of_matrices, two_classes


def sessions():
    """Return matrices of two classes in three sessions, each mixed by a matrix of its own."""
    rng = np.random.default_rng(5)
    X, y = classes_of_matrices(90, 3, seed=1)
    groups = np.repeat(["a", "b", "c"], 30)
    for name in "abc":
        mixing = np.eye(3) + 0.5 * rng.standard_normal((3, 3))
        X[groups == name] = mixing @ X[groups == name] @ mixing.T
    return X, np.array(["rest", "move"])[y], groups


# --- Few labels -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [1e-2, np.inf])
def test_new_trials_are_blended_into_the_class_means(lam, tmp_path):
    X, y, groups = sessions()
    old = groups != "c"
    model = CovMetricClassifier(CovMetric(lam=lam, random_state=0), rule="mean", mean_strength=3.0)
    model.fit(X[old], y[old])
    plain = CovMetricClassifier(CovMetric(lam=lam, random_state=0), rule="mean").fit(X[old], y[old])
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-9)  # no new trials yet
    model.partial_fit(X[60:64], y[60:64])
    codes = np.searchsorted(model.classes_, np.r_[y[old], y[60:64]])
    vectors = model.metric_.transform(np.concatenate([X[old], X[60:64]]))
    means = naive.blended_means(vectors, codes, 60, 3.0)
    np.testing.assert_allclose(model.class_means_, means, rtol=1e-9, atol=1e-12)
    queries = model.metric_.transform(X[64:])
    nearest = ((queries[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(X[64:]), model.classes_[nearest])
    save_model(model, tmp_path / "model.npz")
    for back in (load_model(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        assert back.mean_strength_ == 3.0
        np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(
            back.partial_fit(X[64:66], y[64:66]).predict_proba(X),
            pickle.loads(pickle.dumps(model)).partial_fit(X[64:66], y[64:66]).predict_proba(X),
        )


def test_strength_is_estimated_from_the_new_trials(tmp_path):
    """A session that moved contradicts the others more than a recentred one."""
    X, y, groups = sessions()
    recentred = Recentre().fit_transform(X, groups=groups)
    strengths = []
    for data in (X, recentred):
        model = CovMetricClassifier(CovMetric(lam=np.inf), rule="mean", mean_strength="auto").fit(data[:60], y[:60])
        assert model.mean_strength_ == np.inf
        model.partial_fit(data[60:70], y[60:70])
        strengths.append(model.mean_strength_)
        save_model(model, tmp_path / "model.npz")
        assert load_model(tmp_path / "model.npz").mean_strength_ == strengths[-1]
    assert 0.0 < strengths[0] < strengths[1]
    assert CovMetricClassifier(rule="mean").fit(X, y).mean_strength_ is None


@pytest.mark.parametrize(("rule", "strength"), [("neighbors", 1.0), ("svm", "auto"), ("auto", 1.0)])
def test_strength_needs_the_rule_mean(rule, strength):
    X, y = two_classes()
    with pytest.raises(ValueError, match=f"mean_strength={strength!r} needs rule='mean', got rule='{rule}'"):
        CovMetricClassifier(rule=rule, mean_strength=strength).fit(X, y)


def test_new_pairs_are_from_different_groups():
    """The new session is a group of its own, and similar pairs with its trials reach the other sessions."""
    X, y, groups = sessions()
    old, new = groups != "c", slice(60, 66)

    def added_pairs(labels, of_new, pairs="neighbors"):
        model = CovMetricClassifier(CovMetric(pairs=pairs, random_state=0)).fit(X[old], y[old], groups=labels)
        n_before = len(model._fitted.constraints.pairs)
        model.partial_fit(X[new], y[new], groups=of_new)
        chosen = model._fitted.constraints
        return chosen.pairs[n_before:][chosen.similar[n_before:] > 0]

    assert (added_pairs(groups[old], "c") < 60).any(axis=1).all()
    assert (added_pairs(groups[old], groups[new]) < 60).any(axis=1).all()
    known = added_pairs(groups[old], "a")  # more trials of a known session, which are not paired with it
    assert ((known.min(axis=1) >= 30) & (known.min(axis=1) < 60)).all()
    assert (added_pairs(None, "c") < 60).any(axis=1).all()  # the old trials are one group
    assert (added_pairs(groups[old], "c", NeighborPairs(groups="within")) >= 60).all()
    assert not (added_pairs(groups[old], None) < 60).any(axis=1).all()
    model = CovMetricClassifier(CovMetric(random_state=0)).fit(X[old], y[old], groups=groups[old])
    with pytest.raises(ValueError, match=r"groups must have one entry per example, shape \(6,\), got \(5,\)"):
        model.partial_fit(X[new], y[new], groups=["c"] * 5)


def test_stream_of_trials_is_recentred_and_learned():
    X, y, groups = sessions()
    old = groups != "c"
    recentre = Recentre("running")
    model = CovMetricClassifier(CovMetric(random_state=0), rule="mean", mean_strength="auto")
    model.fit(recentre.fit_transform(X[old], groups=groups[old]), y[old], groups=groups[old])
    for x, label in zip(X[~old], y[~old], strict=True):
        moved = recentre.transform(x[None], groups="c")
        assert model.predict(moved).shape == (1,)
        recentre.partial_fit(x[None], groups="c")
        model.partial_fit(moved, [label], groups="c")
    assert len(model._codes) == 90 and recentre.groups_ == ["a", "b", "c"]


# --- pyRiemann's transfer module --------------------------------------------------------------------------------------

ESTIMATORS = {
    "CovMetric": lambda: CovMetric(random_state=0),
    "CovMetricCV": lambda: CovMetricCV("log", cv=2, random_state=0),
    "CovMetricClassifier": lambda: CovMetricClassifier(random_state=0),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_labels_with_domains_are_warned_of(name, recwarn):
    X, y, groups = sessions()
    _, y_enc = encode_domains(X, y, groups)
    with pytest.warns(UserWarning, match=r"such as 'a/move'.*pyriemann.transfer.TLClassifier"):
        ESTIMATORS[name]().fit(X, y_enc)
    recwarn.clear()
    for labels in (y, np.where(y == "rest", "rest", "hand/left"), np.char.add(y_enc, "/1"), np.arange(90) % 2):
        ESTIMATORS[name]().fit(X, labels)
    assert not recwarn.list


@pytest.mark.parametrize(
    "make",
    [
        lambda: CovMetricClassifier(rule="mean", random_state=0),
        lambda: make_pipeline(CovMetric(random_state=0), LogisticRegression()),
    ],
    ids=["classifier", "pipeline"],
)
def test_tlclassifier_wraps_our_estimators(make, recwarn):
    """TLCenter, then TLClassifier around ours, is Recentre with the domains as groups, then ours."""
    X, y, groups = sessions()
    _, y_enc = encode_domains(X, y, groups)
    labelled = np.r_[0:70]  # ten trials of the target domain
    transfer = make_pipeline(TLCenter("c"), TLClassifier("c", make())).fit(X[labelled], y_enc[labelled])
    recentre = Recentre()
    ours = make().fit(recentre.fit_transform(X[labelled], groups=groups[labelled]), y[labelled])
    moved = recentre.transform(X[70:], groups="c")
    np.testing.assert_allclose(transfer.predict_proba(X[70:]), ours.predict_proba(moved), atol=1e-5)
    assert transfer.score(X[70:], y_enc[70:]) == ours.score(moved, y[70:])
    splitter = TLSplitter("c", StratifiedShuffleSplit(3, test_size=0.5, random_state=0))
    whole = make_pipeline(TLCenter("c"), TLClassifier("c", make()))
    # scikit-learn's check_cv takes an iterable of splits, because TLSplitter.split has no groups
    assert cross_val_score(whole, X, y_enc, cv=list(splitter.split(X, y_enc))).shape == (3,)
    assert not [w for w in recwarn.list if "TLClassifier" in str(w.message)]


def test_domain_weight_reaches_only_steps_that_take_sample_weight():
    """What does not work: our `fit` has no sample_weight, so that pyRiemann drops the weights without a word."""
    X, y, groups = sessions()
    _, y_enc = encode_domains(X, y, groups)
    weights = {"a": 1.0, "b": 100.0, "c": 1.0}

    def probabilities(make, domain_weight):
        return TLClassifier("c", make(), domain_weight).fit(X, y_enc).predict_proba(X)

    alone = lambda: CovMetricClassifier(rule="mean", random_state=0)  # noqa: E731
    np.testing.assert_array_equal(probabilities(alone, weights), probabilities(alone, None))
    piped = lambda: make_pipeline(CovMetric(random_state=0), LogisticRegression())  # noqa: E731
    assert np.abs(probabilities(piped, weights) - probabilities(piped, None)).max() > 0.01
    weighted = TLClassifier("c", piped(), weights).fit(X, y_enc).estimator
    np.testing.assert_array_equal(weighted[0].W_, piped().fit(X, y)[0].W_)  # the metric is not weighted

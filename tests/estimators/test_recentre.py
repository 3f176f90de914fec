"""Recentre: means of groups, new groups, streams, composition, and errors."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sklearn
from pyriemann.geometry.mean import gmean
from pyriemann.transfer import TLCenter, encode_domains
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from covmetric import CovMetric, CovMetricClassifier, Recentre, load_model, save_model
from tests import naive
from tests.data import classes_of_matrices, hermitian, spd

METRICS = ["riemann", "logeuclid", "euclid"]


def sessions(scale=1.0, make=None, n=3, size=20):
    """Return matrices of two classes in three sessions, each mixed by a matrix of its own, and groups."""
    rng = np.random.default_rng(5)
    if make is None:
        X, y = classes_of_matrices(3 * size, n, seed=1)
    else:
        X, y = make(3 * size, n, seed=1), np.arange(3 * size) % 2
    groups = np.repeat(["a", "b", "c"], size)
    for name in "abc":
        mixing = np.eye(n) + 0.5 * rng.standard_normal((n, n))
        X[groups == name] = mixing @ X[groups == name] @ mixing.T
    return scale * X, y, groups


def vectors():
    rng = np.random.default_rng(2)
    groups = np.repeat(["a", "b", "c"], 20)
    return rng.standard_normal((60, 3)) + 10.0 * (groups == "b")[:, None], np.arange(60) % 2, groups


CASES = {
    "real": sessions,
    "hermitian": lambda: sessions(make=hermitian),
    "volts": lambda: sessions(1e-12),
    "vectors": vectors,
}


@parametrize_with_checks([Recentre(), Recentre("transductive"), Recentre("running")])
def test_scikit_learn_checks_pass_on_vectors(estimator, check):
    check(estimator)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("case", CASES)
def test_every_group_is_moved_by_its_own_mean(case, metric):
    X, _, groups = CASES[case]()
    recentre = Recentre(metric=metric)
    moved = recentre.fit_transform(X, groups=groups)
    np.testing.assert_array_equal(moved, recentre.transform(X, groups=groups))
    assert recentre.groups_ == ["a", "b", "c"]
    for name, stored in zip("abc", recentre.means_, strict=True):
        members = X[groups == name]
        mean = members.mean(axis=0) if X.ndim == 2 else gmean(members, metric=metric)
        np.testing.assert_allclose(stored, mean, rtol=1e-6, atol=1e-9 * np.abs(mean).max())
        np.testing.assert_allclose(moved[groups == name], naive.recentred(members, mean), atol=1e-6)
        centre = moved[groups == name].mean(axis=0) if X.ndim == 2 else gmean(moved[groups == name], metric="riemann")
        if metric == "riemann":
            np.testing.assert_allclose(centre, np.zeros(3) if X.ndim == 2 else np.eye(3), atol=1e-6)


def test_recentring_agrees_with_tlcenter_of_pyriemann():
    X, y, groups = sessions()
    _, y_enc = encode_domains(X, y, groups)
    center = TLCenter("c")
    np.testing.assert_allclose(center.fit_transform(X, y_enc), Recentre().fit_transform(X, groups=groups), atol=1e-6)
    new = spd(5, 3, seed=9)
    recentre = Recentre().fit(X, groups=groups)
    np.testing.assert_allclose(center.transform(new), recentre.transform(new, groups="c"), atol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_transductive_uses_the_batch_of_the_new_group(case):
    X, _, groups = CASES[case]()
    old = groups != "c"
    recentre = Recentre("transductive").fit(X[old], groups=groups[old])
    mixed = np.r_[40:60, 0:5]  # a new group, and part of a known one
    moved = recentre.transform(X[mixed], groups=groups[mixed])
    np.testing.assert_allclose(moved[:20], Recentre().fit_transform(X[40:60]), atol=1e-7)
    np.testing.assert_allclose(moved[20:], recentre.transform(X[:5], groups=groups[:5]))
    assert recentre.groups_ == ["a", "b"]  # transform has no memory


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("case", CASES)
def test_running_mean_follows_the_stated_weights(case, metric):
    X, _, groups = CASES[case]()
    old = groups != "c"
    recentre = Recentre("running", metric=metric, prior_strength=2.5).fit(X[old], groups=groups[old])
    means = naive.running_means(recentre.mean_, 2.5, X[~old], metric)
    expected = np.concatenate([naive.recentred(x[None], mean) for x, mean in zip(X[~old], means, strict=True)])
    moved = recentre.transform(X[~old], groups=groups[~old])
    np.testing.assert_allclose(moved, expected, rtol=1e-6, atol=1e-8)
    # trial by trial, with a memory, and in parts
    one_by_one = []
    for x in X[~old]:
        one_by_one.append(recentre.transform(x[None], groups="c")[0])
        assert recentre.partial_fit(x[None], groups="c") is recentre
    np.testing.assert_allclose(one_by_one, moved, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(recentre.means_[2], means[-1], rtol=1e-6, atol=1e-8 * np.abs(means[-1]).max())
    assert recentre.groups_ == ["a", "b", "c"] and recentre.weights_.tolist() == [20.0, 20.0, 22.5]
    assert recentre.n_features_in_ == 3


@pytest.mark.parametrize("metric", ["logeuclid", "euclid"])
def test_running_mean_is_the_weighted_mean(metric):
    X, _, groups = sessions()
    old = groups != "c"
    recentre = Recentre("running", metric=metric, prior_strength=4.0).fit(X[old], groups=groups[old])
    recentre.partial_fit(X[~old], groups="c")
    weights = np.r_[4.0, np.ones(20)]
    expected = gmean(np.concatenate([recentre.mean_[None], X[~old]]), metric=metric, sample_weight=weights)
    np.testing.assert_allclose(recentre.means_[2], expected, rtol=1e-8)


def test_partial_fit_moves_a_training_group_and_is_the_remedy_for_raise():
    X, _, groups = sessions()
    old = groups != "c"
    recentre = Recentre(prior_strength=0.0, metric="logeuclid").fit(X[old], groups=groups[old])
    recentre.partial_fit(X[~old], groups=groups[~old])
    whole = Recentre(metric="logeuclid").fit(X, groups=groups)
    np.testing.assert_allclose(recentre.means_, whole.means_, rtol=1e-8)
    np.testing.assert_allclose(recentre.transform(X, groups), whole.transform(X, groups), rtol=1e-6, atol=1e-8)
    half = np.r_[0:10, 20:40]
    recentre = Recentre(metric="logeuclid").fit(X[half], groups=groups[half]).partial_fit(X[10:20], groups="a")
    np.testing.assert_allclose(recentre.means_, whole.means_[:2], rtol=1e-8)


def test_first_partial_fit_is_a_fit():
    X, _, groups = sessions()
    np.testing.assert_array_equal(
        Recentre().partial_fit(X, groups=groups).means_, Recentre().fit(X, groups=groups).means_
    )


def test_prior_strength_is_the_ratio_of_the_variances():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(400), 50)
    centres = 2.0 * rng.standard_normal((400, 3))
    X = centres[groups] + 6.0 * rng.standard_normal((len(groups), 3))
    assert Recentre().fit(X, groups=groups).prior_strength_ == pytest.approx(9.0, rel=0.1)
    assert Recentre().fit(X[:50]).prior_strength_ == 10.0  # one group does not show how groups vary
    equal = np.tile(rng.standard_normal((50, 3)), (4, 1))
    assert Recentre().fit(equal, groups=np.repeat(range(4), 50)).prior_strength_ == 200.0


@pytest.mark.parametrize("metric", METRICS)
def test_prior_strength_of_matrices_is_that_of_their_logarithms(metric):
    """Diagonal matrices commute, so that they are vectors of logarithms; the Euclidean metric has deviations from I."""
    rng = np.random.default_rng(3)
    groups = np.repeat([0, 1, 2], [5, 8, 11])
    logs = rng.standard_normal((3, 2))[groups] + 0.5 * rng.standard_normal((24, 2))
    X = np.stack([np.diag(np.exp(row)) for row in logs])
    strength = Recentre(metric=metric).fit(X, groups=groups).prior_strength_
    expected = Recentre().fit(logs, groups=groups).prior_strength_
    if metric == "euclid":
        values = np.exp(logs)
        means = np.stack([values[groups == g].mean(axis=0) for g in range(3)])
        within = ((values / means[groups] - 1) ** 2).sum() / 21
        between = ((means / means.mean(axis=0) - 1) ** 2).sum() / 2
        expected = within / (between - within * np.mean([1 / 5, 1 / 8, 1 / 11]))
    assert strength == pytest.approx(expected, rel=1e-6)


def test_running_means_start_at_the_mean_of_groups_with_equal_weights():
    X, _, groups = sessions()
    some = np.r_[0:20, 20:23, 40:60]
    recentre = Recentre().fit(X[some], groups=groups[some])
    np.testing.assert_allclose(recentre.mean_, gmean(recentre.means_), rtol=1e-6)


def test_examples_without_groups_are_a_group():
    X, _, groups = sessions()
    recentre = Recentre().fit(X[:20])
    assert recentre.groups_ == [None]
    np.testing.assert_allclose(recentre.transform(X[20:40]), naive.recentred(X[20:40], gmean(X[:20])), atol=1e-6)
    named = Recentre("transductive").fit(X[:40], groups=groups[:40])
    np.testing.assert_allclose(named.transform(X[40:]), Recentre().fit_transform(X[40:]), atol=1e-7)


def test_transductive_warns_if_no_groups_arrive():
    """As in cross_val_score(..., groups=groups), which gives them to the splitter only."""
    X, y = classes_of_matrices(40, n=3)
    groups = np.arange(40) % 4
    pipeline = make_pipeline(Recentre("transductive"), CovMetricClassifier(CovMetric(lam=np.inf), rule="mean"))
    with pytest.warns(UserWarning, match="neither fit nor transform of Recentre got groups"):
        cross_val_score(pipeline, X, y, cv=LeaveOneGroupOut(), groups=groups)
    recentre = Recentre("transductive")
    recentre.fit_transform(X)  # warnings are errors in the tests
    recentre.transform(X, groups="new")
    recentre.fit(X, groups=groups).transform(X)


def test_input_is_not_changed_and_other_types_give_the_same_result():
    X, _, groups = sessions()
    before = X.copy()
    X.flags.writeable = False
    expected = Recentre().fit_transform(X, groups=groups)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(Recentre().fit_transform(X.tolist(), groups=groups.tolist()), expected)
    np.testing.assert_array_equal(
        Recentre().fit_transform(X, groups=pd.Series(groups, index=range(60, 0, -1))), expected
    )
    single = Recentre().fit_transform(X.astype(np.float32), groups=groups)
    assert single.dtype == np.float64
    np.testing.assert_allclose(single, expected, rtol=1e-3, atol=1e-4)
    mixed = Recentre().fit(X, groups=np.repeat(np.array([3, "x", 1], dtype=object), 20))
    assert mixed.groups_ == [1, 3, "x"]


def test_shared_null_space_is_projected_out():
    X, _, groups = sessions(n=4)
    reference = np.eye(4) - 0.25  # the average reference
    with pytest.warns(UserWarning, match="Recentre projects out 1 of 4 dimensions"):
        recentre = Recentre("transductive").fit(reference @ X @ reference, groups=groups)
    moved = recentre.transform(reference @ X @ reference, groups=groups)
    assert moved.shape == (60, 3, 3) and recentre.basis_.shape == (4, 3)
    for name in "abc":
        np.testing.assert_allclose(gmean(moved[groups == name]), np.eye(3), atol=1e-6)


# --- Composition ------------------------------------------------------------------------------------------------------


def test_groups_are_routed_through_a_pipeline():
    X, y, groups = sessions()
    old = groups != "c"
    with sklearn.config_context(enable_metadata_routing=True):
        first = Recentre("transductive").set_fit_request(groups=True).set_transform_request(groups=True)
        pipeline = make_pipeline(first, CovMetric(random_state=0).set_fit_request(groups=True), LogisticRegression())
        pipeline.fit(X[old], y[old], groups=groups[old])
        routed = pipeline.predict_proba(X[~old], groups=groups[~old])
        scores = cross_val_score(pipeline, X, y, cv=LeaveOneGroupOut(), params={"groups": groups})
        search = GridSearchCV(clone(pipeline), {"recentre__metric": METRICS}, cv=LeaveOneGroupOut())
        assert search.fit(X, y, groups=groups).best_score_ >= scores.mean() - 1e-12
    moved = Recentre("transductive").fit_transform(X[old], groups=groups[old])
    learner = CovMetric(random_state=0).fit(moved, y[old], groups=groups[old])
    last = LogisticRegression().fit(learner.transform(moved), y[old])
    alone = Recentre().fit_transform(X[~old])
    np.testing.assert_allclose(routed, last.predict_proba(learner.transform(alone)), atol=1e-6)
    assert scores.shape == (3,) and scores.mean() > 0.6
    # without routing
    pipeline = make_pipeline(Recentre("transductive"), CovMetric(random_state=0), LogisticRegression())
    pipeline.fit(X[old], y[old], recentre__groups=groups[old], covmetric__groups=groups[old])
    np.testing.assert_allclose(pipeline.predict_proba(X[~old]), routed, atol=1e-6)


def test_recentring_restores_the_accuracy_in_a_session_that_moved():
    X, y = classes_of_matrices(180, 4)
    groups = np.repeat(["a", "b", "c"], 60)
    old = groups != "c"
    gain = np.diag([3.0, 1.0, 1.0, 1.0])
    X[~old] = gain @ X[~old] @ gain
    plain = CovMetricClassifier(rule="mean", random_state=0).fit(X[old], y[old])
    pipeline = make_pipeline(Recentre("transductive"), CovMetricClassifier(rule="mean", random_state=0))
    pipeline.fit(X[old], y[old], recentre__groups=groups[old])
    assert pipeline.score(X[~old], y[~old]) > plain.score(X[~old], y[~old]) + 0.1


@pytest.mark.parametrize("case", CASES)
def test_saved_and_pickled_transformers_give_the_same_bits(case, tmp_path):
    X, _, groups = CASES[case]()
    recentre = Recentre("running").fit(X[:40], groups=groups[:40])
    recentre.partial_fit(X[40:50], groups="c").partial_fit(X[50:], groups=None)
    save_model(recentre, tmp_path / "recentre.npz")
    for back in (load_model(tmp_path / "recentre.npz"), pickle.loads(pickle.dumps(recentre))):
        assert back.get_params() == recentre.get_params() and back.groups_ == ["a", "b", "c", None]
        for labels in (groups, None):
            np.testing.assert_array_equal(back.transform(X, labels), recentre.transform(X, labels))
    unfitted = clone(recentre)
    with pytest.raises(NotFittedError):
        unfitted.transform(X)


def test_saved_transformer_keeps_the_range(tmp_path):
    X, _, groups = sessions(n=4)
    X[:, :, 0] = X[:, 0, :] = 0.0
    with pytest.warns(UserWarning, match="projects out 1 of 4"):
        recentre = Recentre().fit(X, groups=groups)
    save_model(recentre, tmp_path / "recentre.npz")
    np.testing.assert_array_equal(
        load_model(tmp_path / "recentre.npz").transform(X, groups), recentre.transform(X, groups)
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("means", np.zeros((2, 3, 3)), "positive definite"),
        ("means", np.stack([np.eye(2)] * 2), "one mean of shape"),
        ("means", np.ones(2), "one mean of shape"),
        ("labels", ["a", "a"], "different texts"),
        ("labels", ["a", ["b"]], "different texts"),
        ("n_training", 3, "training groups first"),
        ("weights", np.array([1.0, 0.0]), "positive numbers"),
        ("strength", -1.0, "prior strength"),
    ],
)
def test_invalid_means_in_a_file_are_refused(name, value, message):
    X, _, groups = sessions()
    state = Recentre().fit(X[:40], groups=groups[:40]).get_state()
    state["_groups"] = replace(state["_groups"], **{name: value})
    with pytest.raises(ValueError, match=message):
        Recentre.from_state(state)


@pytest.mark.parametrize("basis", [np.eye(3)[:, :2], 2.0 * np.eye(3), np.eye(3) + 0j, np.zeros(3)])
def test_invalid_basis_in_a_file_is_refused(basis):
    X, _, groups = sessions()
    state = Recentre().fit(X, groups=groups).get_state()
    with pytest.raises(ValueError, match=r"basis_|one mean of shape"):
        Recentre.from_state({**state, "basis_": basis})


# --- Errors -----------------------------------------------------------------------------------------------------------


def error_of(call):
    """Return the message of the ValueError that a call raises, or nothing."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return ""


def test_groups_of_another_length_are_refused():
    X, _, groups = sessions()
    for call in (
        lambda: Recentre().fit(X, groups=groups[:-1]),
        lambda: Recentre().fit(X, groups=groups).transform(X, groups=groups[:-1]),
        lambda: Recentre().fit(X, groups=groups).partial_fit(X, groups=groups[:-1]),
    ):
        assert "groups must have one entry per example, shape (60,), got (59,)" in error_of(call)
    assert "shape (60,), got (60, 1)" in error_of(lambda: Recentre().fit(X, groups=groups[:, None]))


def test_missing_groups_are_refused():
    X, _, _ = sessions()
    labels = np.r_[np.zeros(59), np.nan]
    assert "groups[59] is nan: every example needs a group" in error_of(lambda: Recentre().fit(X, groups=labels))
    labels = [1] * 59 + [None]
    assert "groups[59] is None" in error_of(lambda: Recentre().fit(X, groups=labels))


def test_new_group_is_refused_by_name_with_the_remedy():
    X, _, groups = sessions()
    recentre = Recentre().fit(X[:40], groups=groups[:40])
    message = error_of(lambda: recentre.transform(X[30:], groups=groups[30:]))
    assert message.startswith("groups[10] is 'c', a new group: fit has seen 'a', 'b'; call partial_fit")
    assert "new_groups='transductive'" in message and "new_groups='running'" in message
    message = error_of(lambda: recentre.transform(X[30:]))
    assert message.startswith("groups is None, but fit has seen 'a', 'b': pass groups")


def test_group_with_one_example_is_refused():
    X, _, groups = sessions()
    message = error_of(lambda: Recentre().fit(X[:41], groups=groups[:41]))
    assert (
        message.startswith("group 'c' has only one example (n_samples = 1), X[40]") and "leave the group out" in message
    )
    recentre = Recentre("transductive").fit(X[:40], groups=groups[:40])
    assert "group 'c' has only one example" in error_of(lambda: recentre.transform(X[40:41], groups="c"))
    assert Recentre("running").fit(X[:40], groups=groups[:40]).transform(X[40:41], groups="c").shape == (1, 3, 3)


@pytest.mark.parametrize("scale", [1.0, 1e-12])
def test_group_with_a_singular_mean_is_refused_by_name(scale):
    X, _, groups = sessions(scale)
    X[groups == "b", :, 1] = X[groups == "b", 1, :] = 0.0  # a flat channel
    message = error_of(lambda: Recentre().fit(X, groups=groups))
    assert message.startswith("the mean of group 'b' is singular: its 20 matrices share a null space of dimension 1")
    assert "set reg" in message
    assert Recentre(reg=1e-6).fit_transform(X, groups=groups).shape == X.shape
    old = groups != "b"
    recentre = Recentre("transductive").fit(X[old], groups=groups[old])
    assert "the mean of group 'b' is singular" in error_of(lambda: recentre.transform(X[~old], groups="b"))


def test_singular_matrix_is_refused_unless_the_metric_is_euclidean():
    X, _, groups = sessions()
    X[45] = np.diag([1.0, 1.0, 0.0])
    message = error_of(lambda: Recentre().fit(X, groups=groups))
    assert message.startswith("X[45], of group 'c', is not positive definite") and "metric='euclid'" in message
    assert Recentre(metric="euclid").fit_transform(X, groups=groups).shape == X.shape
    recentre = Recentre("running").fit(X[:40], groups=groups[:40])
    assert error_of(lambda: recentre.partial_fit(X[40:], groups="c")).startswith("X[5], of group 'c'")
    assert error_of(lambda: recentre.transform(X[30:], groups=groups[30:])).startswith("X[15], of group 'c'")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"new_groups": "ignore"}, "new_groups must be one of 'raise', 'transductive', 'running', got 'ignore'"),
        ({"metric": "cosine"}, "metric must be one of 'riemann', 'logeuclid', 'euclid', got 'cosine'"),
        ({"prior_strength": -1}, "prior_strength must be 'auto' or a number >= 0, got -1"),
        ({"prior_strength": "some"}, "prior_strength must be 'auto' or a number >= 0, got 'some'"),
        ({"reg": -1}, "reg must be a number >= 0, got -1"),
    ],
)
def test_invalid_parameters_are_refused_in_fit(parameters, message):
    X, _, groups = sessions()
    assert message in error_of(lambda: Recentre(**parameters).fit(X, groups=groups))


def test_invalid_matrices_are_refused():
    X, _, groups = sessions()
    recentre = Recentre().fit(X, groups=groups)
    assert "X[7, 0, 0] is nan" in error_of(
        lambda: Recentre().fit(np.where(np.arange(60)[:, None, None] == 7, np.nan, X))
    )
    assert "X is complex" in error_of(lambda: recentre.transform(X + 0j, groups=groups))
    assert "fitted on arrays of 3 axes" in error_of(lambda: recentre.transform(X[:, 0], groups=groups))
    assert "X has 4 features, but Recentre is expecting 3" in error_of(lambda: recentre.transform(spd(60, 4), groups))
    assert "reg applies to matrices" in error_of(lambda: Recentre(reg=0.1).fit(X[:, 0]))

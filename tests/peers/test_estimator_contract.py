"""What every peer and the classifier with every fixed distance must do as scikit-learn estimators."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import check_estimator

from covmetric.datasets import make_spd_classes
from covmetric.peers import PEER_CLASSIFIERS, PEERS, FixedDistanceClassifier
from tests.peers.estimators import CLASSIFIERS, LEARNERS, label, output

#: Estimators that accept singular matrices.
ACCEPT_SINGULAR = {"raw", "euclid", "power"}
#: scikit-learn's checks that need no 2-D data.
DATA_FREE_CHECKS = [
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_set_params,
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
    estimator_checks.check_mixin_order,
    estimator_checks.check_valid_tag_types,
]


def test_a_fit_that_fails_leaves_the_estimator_as_it_was(estimator, data, monkeypatch):
    X, y = data
    estimator.fit(X, y)
    before = dict(vars(estimator))

    def fail(*arguments):
        raise ValueError("in the last step")

    monkeypatch.setattr(type(estimator), "_learn" if hasattr(estimator, "_learn") else "_fit", fail)
    with pytest.raises(ValueError, match="in the last step"):
        estimator.fit(X[:, :3, :3], y)
    assert vars(estimator) == before


def test_accuracy_on_easy_classes_is_well_above_chance(estimator):
    made = make_spd_classes(n_classes=4, n_per_class=30, n=5, random_state=1)
    X, y = made.X, made.y
    model = estimator if hasattr(estimator, "predict") else make_pipeline(estimator, KNeighborsClassifier(3))
    assert model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.5


def test_clone_and_pickle_keep_the_output(estimator, data):
    X, y = data
    settings = estimator.get_params()
    assert estimator.set_params(reg=1e-5).get_params() == {**settings, "reg": 1e-5}
    fitted = estimator.fit(X, y)
    np.testing.assert_array_equal(output(pickle.loads(pickle.dumps(fitted)), X), output(fitted, X))
    unfitted = clone(fitted)
    assert not hasattr(unfitted, "classes_")
    np.testing.assert_array_equal(output(unfitted.fit(X, y), X), output(fitted, X))


def test_output_does_not_depend_on_the_container_of_matrices(estimator, data):
    X, y = data
    before = X.copy()
    expected = output(estimator.fit(X, y), X)  # X is read-only
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(output(clone(estimator).fit(X.tolist(), y.tolist()), X.tolist()), expected)
    np.testing.assert_array_equal(output(clone(estimator).fit(np.asfortranarray(X), y), X), expected)
    single = output(clone(estimator).fit(X.astype(np.float32), y), X.astype(np.float32))
    assert single.dtype == np.float64
    np.testing.assert_array_equal(np.isfinite(single), True)


def test_output_does_not_depend_on_the_type_of_labels(estimator, data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    expected = output(estimator.fit(X, y), X)
    names = np.array(["one", "three", "two"])
    labels = {
        "int": (y + 10, [10, 11, 12]),
        "str": (names[y], names),
        "object": (names[y].astype(object), names),
        "series": (pandas.Series(names[y], index=range(100, 142)), names),
        "category": (pandas.Series(names[y], dtype="category"), names),
    }
    for kind, (given, classes) in labels.items():
        fitted = clone(estimator).fit(X, given)
        np.testing.assert_array_equal(output(fitted, X), expected, err_msg=kind)
        np.testing.assert_array_equal(fitted.classes_, classes, err_msg=kind)
        assert fitted.n_features_in_ == 4
        if hasattr(fitted, "predict"):
            assert set(fitted.predict(X)) <= set(np.asarray(given))


def test_units_do_not_matter(estimator, data):
    """The matrices of data in volts are 1e-12 times the matrices of data in microvolts."""
    X, y = data
    microvolts, volts = clone(estimator).fit(X, y), clone(estimator).fit(1e-12 * X, y)
    if isinstance(microvolts, FixedDistanceClassifier):  # its probabilities count votes
        np.testing.assert_array_equal(volts.predict_proba(1e-12 * X), microvolts.predict_proba(X))
    elif hasattr(microvolts, "predict"):
        np.testing.assert_allclose(volts.predict_proba(1e-12 * X), microvolts.predict_proba(X), rtol=1e-9, atol=1e-12)
    else:
        np.testing.assert_allclose(volts.pairwise(1e-12 * X), microvolts.pairwise(X), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, y: (X[:, 0], y), r"X must hold real matrices, shape \(l, n, n\).*got shape \(42, 4\)"),
        (lambda X, y: (X + 0j, y), r"X must hold real matrices.*complex128"),
        (lambda X, y: (X[:, :, :3], y), r"X must hold square matrices.*\(42, 4, 3\)"),
        (lambda X, y: (np.where(np.arange(42)[:, None, None] == 5, np.nan, X), y), r"X\[5, 0, 0\] is nan"),
        (lambda X, y: (X + np.triu(np.ones((4, 4)), 1), y), r"X\[0\] is not symmetric"),
        (lambda X, y: (X, 0 * y), "y has only one class, 0"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X, y + 0.5), "Unknown label type"),
    ],
)
def test_fit_raises_for_invalid_data(estimator, data, spoil, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(*spoil(*data))


def test_singular_matrices_need_reg_or_are_accepted(estimator, data):
    X, y = data[0].copy(), data[1]
    X[3] = np.outer(X[3, 0], X[3, 0])
    settings = estimator.get_params()
    if {settings.get("vectors"), settings.get("distance")} & ACCEPT_SINGULAR:
        assert np.isfinite(output(estimator.fit(X, y), X)).all()
        return
    with pytest.raises(ValueError, match=r"X\[3\] is not positive definite.*set reg"):
        estimator.fit(X, y)
    assert np.isfinite(output(estimator.set_params(reg=1e-3).fit(X, y), X)).all()


def test_output_raises_before_fit_and_for_invalid_data(estimator, data):
    X, y = data
    with pytest.raises(NotFittedError):
        output(estimator, X)
    estimator.fit(X, y)
    with pytest.raises(ValueError, match=r"3 features, but .* is expecting 4"):
        output(estimator, X[:, :3, :3])
    infinite = X.copy()
    infinite[7, 1, 2] = np.inf
    with pytest.raises(ValueError, match=r"X\[7, 1, 2\] is inf"):
        output(estimator, infinite)
    with pytest.raises(ValueError, match=r"square matrices"):
        output(estimator, X[:, 0])


def test_output_has_the_same_bits_for_any_number_of_jobs(estimator):
    made = make_spd_classes(n_per_class=60, n=5)
    one, two = (clone(estimator).set_params(n_jobs=n_jobs).fit(made.X, made.y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(output(one, made.X), output(two, made.X))


def test_tags_say_that_matrices_and_classes_are_needed(estimator):
    tags = get_tags(estimator)
    assert tags.input_tags.three_d_array and not tags.input_tags.two_d_array
    assert tags.target_tags.required


def test_check_estimator_passes(estimator):
    with pytest.warns(SkipTestWarning, match="Can't test estimator"):  # scikit-learn has no 3-D data
        results = check_estimator(estimator, on_skip=None)
    assert {result["status"] for result in results} == {"passed"}


@pytest.mark.parametrize("check", DATA_FREE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", dict.fromkeys(map(type, [*LEARNERS, *CLASSIFIERS])), ids=lambda kind: kind.__name__)
def test_scikit_learn_checks_without_data_pass(kind, check):
    check(kind.__name__, kind())


@pytest.mark.parametrize("name", [*PEERS, *PEER_CLASSIFIERS])
def test_grid_holds_values_of_parameters(name, data):
    """Every value of the grid can be fitted, and the default is among the values."""
    cls = {**PEERS, **PEER_CLASSIFIERS}[name]
    defaults = cls().get_params()
    for parameter, values in cls.grid.items():
        assert defaults[parameter] in values
        for value in values:
            assert np.isfinite(output(cls(**{parameter: value}).fit(*data), data[0])).all()


@pytest.mark.parametrize("name", PEER_CLASSIFIERS)
def test_peer_classifier_returns_probabilities_of_its_classes(name, data):
    X, y = data
    fitted = PEER_CLASSIFIERS[name]().fit(X, y)
    probabilities = fitted.predict_proba(X)
    assert probabilities.shape == (42, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities >= 0.0).all()
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[probabilities.argmax(axis=1)])


def test_labels_of_test_cases_are_unique():
    labels = [label(estimator) for estimator in [*LEARNERS, *CLASSIFIERS]]
    assert len(set(labels)) == len(labels)

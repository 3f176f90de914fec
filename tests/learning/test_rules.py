"""Decision rules: a contract for all of `RULES`, and literal implementations."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from covmetric.learning.rules import RULES, LdaRule, LogisticRule, MeanRule, NeighborsRule, SvmRule, get_rule, neighbors
from covmetric.learning.rules.svm import couple_pairs
from covmetric.neighbors import BruteSearch
from tests import naive
from tests.data import quoted
from tests.learning.problems import recorder


def labelled_vectors(count=30, q=4, classes=(0, 1, 3), seed=0):
    rng = np.random.default_rng(seed)
    codes = np.array(classes)[np.arange(count) % len(classes)]
    return rng.standard_normal((count, q)) + 0.7 * codes[:, None], codes


@pytest.fixture(params=RULES)
def rule(request):
    """Each rule, fitted on three of five classes."""
    return get_rule(request.param, n_classes=5).fit(*labelled_vectors())


def test_probabilities_are_a_distribution_over_all_classes(rule):
    probabilities = rule.probabilities(labelled_vectors(count=11, seed=1)[0])
    assert probabilities.shape == (11, 5)
    assert np.isfinite(probabilities).all()
    assert (probabilities >= 0.0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)


def test_classes_without_a_training_vector_have_probability_zero(rule):
    probabilities = rule.probabilities(labelled_vectors(seed=1)[0])
    assert (probabilities[:, [2, 4]] == 0.0).all()
    assert (probabilities[:, [0, 1, 3]].sum(axis=0) > 0.0).all()


def test_prediction_is_the_most_probable_class(rule):
    vectors = labelled_vectors(seed=1)[0]
    predicted = rule.predict(vectors)
    assert predicted.dtype == np.int64
    np.testing.assert_array_equal(predicted, [list(row).index(max(row)) for row in rule.probabilities(vectors)])


@pytest.mark.parametrize("name", RULES)
def test_ties_go_to_the_first_class(name):
    rule = get_rule(name, n_classes=3, n_neighbors=2).fit(np.array([[-1.0], [1.0]]), np.array([2, 1]))
    probabilities = rule.probabilities(np.zeros((1, 1)))
    assert probabilities.tolist() == [[0.0, 0.5, 0.5]]
    assert rule.predict(np.zeros((1, 1))).tolist() == [1]


@pytest.mark.parametrize("name", RULES)
def test_separated_classes_are_recognised(name):
    vectors, codes = labelled_vectors()
    vectors = vectors + 100.0 * codes[:, None]
    rule = get_rule(name, n_classes=4)
    assert rule.fit(vectors, codes) is rule
    np.testing.assert_array_equal(rule.predict(vectors + 0.1), codes)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("k", [1, 3, 15])
def test_short_name_is_one_word(name, k):
    short = RULES[name].short_name(k)
    assert isinstance(short, str)
    assert short
    assert not any(c.isspace() for c in short)


def test_short_names_are_distinct_and_name_the_number_of_neighbours():
    assert len({cls.short_name(3) for cls in RULES.values()}) == len(RULES)
    assert NeighborsRule.short_name(3) == "3nn"
    assert NeighborsRule.short_name(11) == "11nn"
    assert MeanRule.short_name(3) == "mean"


@pytest.mark.parametrize("name", RULES)
def test_names_in_the_registry_are_those_of_the_classes(name):
    assert RULES[name].name == name
    rule = get_rule(name, 4, 7, 2, "brute")
    assert type(rule) is RULES[name]
    assert (rule.n_classes, rule.n_neighbors, rule.n_jobs, rule.algorithm) == (4, 7, 2, "brute")
    default = get_rule(name, 4)
    assert (default.n_neighbors, default.n_jobs, default.algorithm) == (3, None, "auto")
    plain = RULES[name](4)
    assert (plain.n_neighbors, plain.n_jobs, plain.algorithm) == (3, None, "auto")


@pytest.mark.parametrize("k", [1, 3, 8, 99])
def test_neighbours_vote_as_in_the_literal_implementation(k):
    vectors, codes = labelled_vectors()
    queries = labelled_vectors(count=9, seed=1)[0]
    rule = NeighborsRule(5, k).fit(vectors, codes)
    indices = naive.nearest(vectors, queries, k)[1]
    expected = np.array([[(codes[row] == c).mean() for c in range(5)] for row in indices])
    np.testing.assert_allclose(rule.probabilities(queries), expected, rtol=1e-12)


def test_neighbours_are_returned_with_their_distances():
    vectors, codes = labelled_vectors()
    rule = NeighborsRule(5).fit(vectors, codes)
    for queries in (labelled_vectors(count=9, seed=1)[0], None):
        for actual, expected in zip(rule.nearest(queries, 4), naive.nearest(vectors, queries, 4), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-9)


def test_search_is_chosen_by_the_shape_of_the_training_vectors(monkeypatch):
    calls = recorder(monkeypatch, neighbors, "get_search")
    NeighborsRule(5, n_jobs=2).fit(*labelled_vectors())
    assert calls == [(("auto", 2, (30, 4)), {})]


def test_search_object_of_the_user_is_not_changed():
    search = BruteSearch()
    NeighborsRule(5, n_jobs=2, algorithm=search).fit(*labelled_vectors())
    assert vars(search) == {"n_jobs": None}
    assert NeighborsRule(5, n_jobs=2, algorithm="brute").fit(*labelled_vectors())._search.n_jobs == 2


def literal_mean_probabilities(vectors, codes, queries, n_classes):
    """Return the softmax of minus the squared distances over their mean within classes, one query at a time."""
    means = {
        c: np.mean([v for v, d in zip(vectors, codes, strict=True) if d == c], axis=0) for c in set(codes.tolist())
    }
    within = np.mean([sum((v - means[int(c)]) ** 2) for v, c in zip(vectors, codes, strict=True)])
    rows = []
    for x in queries:
        terms = [np.exp(-sum((x - means[c]) ** 2) / within) if c in means else 0.0 for c in range(n_classes)]
        rows.append([term / sum(terms) for term in terms])
    return np.array(rows)


def test_mean_rule_is_the_softmax_of_scaled_squared_distances():
    vectors, codes = labelled_vectors(count=31)
    queries = labelled_vectors(count=9, seed=1)[0]
    probabilities = MeanRule(5).fit(vectors, codes).probabilities(queries)
    expected = literal_mean_probabilities(vectors, codes, queries, 5)
    np.testing.assert_allclose(probabilities, expected, rtol=1e-10)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)


def test_mean_rule_does_not_depend_on_the_unit_of_the_vectors():
    vectors, codes = labelled_vectors()
    expected = MeanRule(5).fit(vectors, codes).probabilities(vectors)
    for scale in (1e-6, 1e6):
        scaled = MeanRule(5).fit(scale * vectors, codes).probabilities(scale * vectors)
        np.testing.assert_allclose(scaled, expected, rtol=1e-9)


def test_mean_rule_uses_the_unit_one_if_classes_do_not_vary():
    rule = MeanRule(2).fit(np.array([[0.0], [0.0], [2.0]]), np.array([0, 0, 1]))
    np.testing.assert_allclose(rule.probabilities(np.array([[0.5]])), [[1 / (1 + np.exp(-2.0)), 1 / (1 + np.exp(2.0))]])


def test_mean_rule_raises_value_error_on_overflow():
    vectors, codes = labelled_vectors()
    with pytest.raises(
        ValueError, match="squared distances of the examples from their class means overflow: rescale X"
    ):
        MeanRule(5).fit(1e200 * vectors, codes)
    far = MeanRule(2).fit(np.array([[0.0], [1e154]]), np.array([0, 1]))
    with pytest.raises(ValueError, match=r"X\[1\] is too far from the class means"):
        far.probabilities(np.array([[0.0], [-5e153]]))  # from the second mean only
    queries = np.zeros((4, 4))
    queries[2:, 0] = 1e200
    with pytest.raises(ValueError, match=r"X\[2\] is too far from the class means: its squared distance overflows"):
        MeanRule(5).fit(vectors, codes).probabilities(queries)


@pytest.mark.parametrize(("count", "q"), [(31, 4), (31, 60), (6, 3)])
def test_lda_rule_is_the_nearest_mean_after_whitening(count, q):
    vectors, codes = labelled_vectors(count=count, q=q)
    vectors[:, 0] *= 10.0
    queries = labelled_vectors(count=9, q=q, seed=1)[0]
    expected = naive.lda_probabilities(vectors, codes, queries, 5)
    np.testing.assert_allclose(LdaRule(5).fit(vectors, codes).probabilities(queries), expected, rtol=1e-7)
    assert not np.allclose(expected, literal_mean_probabilities(vectors, codes, queries, 5), atol=0.1)


def test_lda_rule_predicts_as_scikit_learn_with_the_same_shrinkage():
    vectors, codes = labelled_vectors(count=60)
    queries = labelled_vectors(count=200, seed=1)[0]
    rows = np.concatenate([vectors[codes == c] - vectors[codes == c].mean(axis=0) for c in (0, 1, 3)])
    amount = ledoit_wolf_shrinkage(rows, assume_centered=True)
    other = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=amount, priors=np.ones(3) / 3).fit(vectors, codes)
    agreement = LdaRule(5).fit(vectors, codes).predict(queries) == other.predict(queries)
    assert agreement.mean() > 0.97  # scikit-learn shrinks towards the identity class by class


def test_lda_rule_is_the_nearest_mean_if_classes_do_not_vary():
    vectors, codes = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 0.0]]), np.array([0, 0, 1])
    query = np.array([[0.5, 0.5], [1.5, 0.5]])
    assert LdaRule(2).fit(vectors, codes).predict(query).tolist() == [0, 1]


def test_lda_rule_needs_no_variation_in_all_directions():
    rule = LdaRule(2).fit(np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 1.0]]), np.array([0, 0, 1, 1]))
    assert rule.predict(np.array([[10.0, 0.0], [-10.0, 1.0]])).tolist() == [0, 1]


@pytest.mark.parametrize("name", RULES)
def test_unknown_names_raise_value_error(name):
    for wrong in ("tree", None, ["mean"]):
        with pytest.raises(ValueError, match=f"rule must be one of {quoted(RULES)}, got "):
            get_rule(wrong, 2)
    with pytest.raises(ValueError, match="algorithm must be one of"):
        get_rule(name, 2, algorithm="kd_tree")


def test_neighbours_rule_raises_for_an_invalid_number_of_neighbours():
    with pytest.raises(ValueError, match="n_neighbors must be an integer >= 1, got 0"):
        NeighborsRule(2, 0).fit(*labelled_vectors())


def in_units_of_the_spread(vectors, queries):
    """Return centred vectors with a mean squared length of 1, one at a time, and queries in the same units."""
    centre = sum(vectors) / len(vectors)
    length = np.sqrt(np.mean([sum((v - centre) ** 2) for v in vectors]))
    return np.array([(v - centre) / length for v in vectors]), np.array([(q - centre) / length for q in queries])


@pytest.mark.parametrize("C", [0.3, 20.0])
@pytest.mark.parametrize("q", [4, 60])  # fewer entries than training vectors, and more
def test_logistic_rule_is_scikit_learns_in_units_of_the_spread(C, q):
    vectors, codes = labelled_vectors(q=q)
    queries = labelled_vectors(q=q, seed=1)[0]
    train, test = in_units_of_the_spread(vectors, queries)
    expected = LogisticRegression(C=C, max_iter=1000, tol=1e-8).fit(train, codes).predict_proba(test)
    probabilities = LogisticRule(5, C=C).fit(vectors, codes).probabilities(queries)
    np.testing.assert_allclose(probabilities[:, [0, 1, 3]], expected, atol=1e-2)  # L-BFGS stops early


@pytest.mark.parametrize("C", [0.3, 20.0])
@pytest.mark.parametrize("q", [4, 60])
@pytest.mark.parametrize("classes", [(0, 1, 2, 4), (0, 1, 3), (1, 3)])
def test_svm_rule_couples_one_machine_for_each_pair_of_classes(C, q, classes):
    vectors, codes = labelled_vectors(q=q, classes=classes)
    queries = labelled_vectors(q=q, seed=1)[0]
    train, test = in_units_of_the_spread(vectors, queries)

    def kernel(first, second):
        return np.array([[np.exp(-sum((a - b) ** 2)) for b in second] for a in first])

    products = np.ones((len(queries), len(classes)))
    for i, first in enumerate(classes):
        for j, second in enumerate(classes):
            if i < j:
                members = np.isin(codes, (first, second))
                machine = SVC(C=C, kernel="precomputed").fit(kernel(train[members], train[members]), codes[members])
                value = machine.decision_function(kernel(test, train[members]))  # positive for the second class
                products[:, i] *= 1.0 / (1.0 + np.exp(4.0 * value))
                products[:, j] *= 1.0 / (1.0 + np.exp(-4.0 * value))
    roots = products ** (2.0 / len(classes))
    expected = roots / roots.sum(axis=1, keepdims=True)
    rule = SvmRule(5, C=C).fit(vectors, codes)
    np.testing.assert_allclose(rule.probabilities(queries)[:, list(classes)], expected, atol=2e-3)  # libsvm's tolerance
    clear = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, -2] > 0.01
    assert clear.mean() > 0.8
    np.testing.assert_array_equal(rule.predict(queries)[clear], np.array(classes)[expected.argmax(axis=1)][clear])


@pytest.mark.parametrize("n_classes", [2, 3, 6, 7, 15])
def test_pairs_are_coupled_by_their_geometric_means_over_the_leading_classes(n_classes):
    log_odds = 2.0 * np.random.default_rng(0).standard_normal((20, n_classes * (n_classes - 1) // 2))
    expected = naive.coupled_probabilities(log_odds, n_classes)
    np.testing.assert_allclose(couple_pairs(log_odds, n_classes), expected, rtol=1e-12)


def test_classes_that_lose_all_comparisons_hardly_change_the_odds_of_the_others():
    def odds_of_the_first_two(n_classes):
        pairs = zip(*np.triu_indices(n_classes, 1), strict=True)
        p = couple_pairs(np.array([[1.0 if pair == (0, 1) else 4.0 for pair in pairs]]), n_classes)[0]
        return p[0] / p[1]

    few, many = odds_of_the_first_two(6), odds_of_the_first_two(100)
    assert few > 1.3
    assert many == pytest.approx(few, rel=0.05)


def test_svm_rule_couples_many_classes():
    vectors, codes = labelled_vectors(count=80, classes=tuple(range(8)))
    rule = SvmRule(8).fit(vectors, codes)
    log_odds = 4.0 * rule._model.decision_function(in_units_of_the_spread(vectors, vectors)[1])
    np.testing.assert_allclose(rule.probabilities(vectors), naive.coupled_probabilities(log_odds, 8), rtol=1e-9)


@pytest.mark.parametrize("name", ["lda", "logistic", "svm"])
@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_unit_of_c_is_that_of_the_data(name, scale):
    vectors, codes = labelled_vectors()
    queries = labelled_vectors(seed=1)[0]
    expected = get_rule(name, 5).fit(vectors, codes).probabilities(queries)
    moved = get_rule(name, 5).fit(scale * (vectors + 1.0), codes).probabilities(scale * (queries + 1.0))
    np.testing.assert_allclose(moved, expected, atol=1e-6)


@pytest.mark.parametrize("name", RULES)
def test_a_single_class_is_certain(name):
    vectors = labelled_vectors()[0]
    for examples in (vectors, np.zeros_like(vectors)):
        rule = get_rule(name, 3).fit(examples, np.ones(len(vectors), dtype=np.int64))
        assert rule.probabilities(vectors[:2]).tolist() == [[0.0, 1.0, 0.0]] * 2


@pytest.mark.parametrize("name", ["logistic", "svm"])
@pytest.mark.parametrize("C", [0.0, -1.0, np.nan, np.inf, "big", None])
def test_an_invalid_c_is_refused(name, C):
    with pytest.raises(ValueError, match=r"C must be a positive number, got "):
        get_rule(name, 5, C=C).fit(*labelled_vectors())


@pytest.mark.parametrize("name", ["lda", "logistic", "svm"])
def test_vectors_whose_squares_overflow_are_refused(name):
    vectors, codes = labelled_vectors()
    with pytest.raises(ValueError, match="squared distances of the examples from their mean overflow: rescale X"):
        get_rule(name, 5).fit(1e200 * vectors, codes)

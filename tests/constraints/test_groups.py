"""Pairs of examples that have groups."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, load_model, save_model
from covmetric.constraints import PAIRS, LabelledPairs, NeighborPairs, PairSelection, RandomPairs, get_pairs
from tests.constraints.examples import labelled_vectors
from tests.data import classes_of_matrices

VECTORS, CODES = labelled_vectors([30, 40, 50])
GROUPS = np.random.default_rng(5).integers(0, 6, 120)


@pytest.fixture(params=sorted(PAIRS))
def name(request):
    return request.param


def select(name, groups, mode, codes=CODES, old=0, **settings):
    selection = PAIRS[name](groups=mode, **settings)
    return selection.select(VECTORS[: len(codes)], codes, np.random.default_rng(0), old, groups)


def ends(chosen, values):
    return values[chosen.pairs[:, 0]], values[chosen.pairs[:, 1]]


@pytest.mark.parametrize("old", [0, 40])
def test_similar_pairs_are_from_different_groups(name, old):
    chosen = select(name, GROUPS, "across", old=old)
    one, other = ends(chosen, GROUPS)
    assert (one != other)[chosen.similar > 0].all()
    assert (one == other)[chosen.similar < 0].any()  # dissimilar pairs are free
    assert (chosen.pairs[:, 1] >= old).all()
    for sign in (1.0, -1.0):
        assert set(CODES[chosen.pairs[chosen.similar == sign]].ravel().tolist()) == {0, 1, 2}


def test_all_pairs_are_within_groups(name):
    chosen = select(name, GROUPS, "within")
    one, other = ends(chosen, GROUPS)
    assert (one == other).all()
    assert set(chosen.similar.tolist()) == {1.0, -1.0}


def test_groups_are_ignored(name):
    expected = select(name, None, "across").pairs
    np.testing.assert_array_equal(select(name, GROUPS, "ignore").pairs, expected)
    np.testing.assert_array_equal(select(name, None, "within").pairs, expected)


def test_a_class_with_one_group_keeps_its_pairs(name):
    groups = np.where(CODES == 1, 0, GROUPS)
    chosen = select(name, groups, "across")
    one, other = ends(chosen, groups)
    similar, first_class = chosen.similar > 0, CODES[chosen.pairs[:, 0]]
    assert (one == other)[similar & (first_class == 1)].all()
    assert (similar & (first_class == 1)).any()
    assert (one != other)[similar & (first_class != 1)].all()


def test_neighbours_are_the_nearest_that_the_groups_allow():
    """Against the definition, example by example."""
    for mode in ("across", "within"):
        expected = set()
        squared = ((VECTORS[:, None] - VECTORS) ** 2).sum(axis=2)
        for i in range(120):
            for same in (True, False):
                candidates = [
                    j
                    for j in range(120)
                    if j != i
                    and (CODES[j] == CODES[i]) == same
                    and ((GROUPS[j] == GROUPS[i]) if mode == "within" else (GROUPS[j] != GROUPS[i] or not same))
                ]
                nearest = sorted(candidates, key=lambda j: squared[i, j])[:4]
                expected |= {(min(i, j), max(i, j)) for j in nearest}
        assert {tuple(pair) for pair in select("neighbors", GROUPS, mode, budget=4).pairs.tolist()} == expected


@pytest.mark.parametrize("balance", [0.5, None])
def test_random_pairs_fill_their_budget_if_enough_are_allowed(balance):
    free = RandomPairs(40, balance).select(VECTORS, CODES, np.random.default_rng(0))
    chosen = RandomPairs(40, balance).select(VECTORS, CODES, np.random.default_rng(0), groups=GROUPS)
    assert len(chosen.pairs) == len(free.pairs) == 120
    assert len(np.unique(chosen.pairs, axis=0)) == 120
    everything = RandomPairs(10**6, balance).select(VECTORS, CODES, np.random.default_rng(0), groups=GROUPS)
    i, j = np.triu_indices(120, 1)
    assert len(everything.pairs) == ((CODES[i] != CODES[j]) | (GROUPS[i] != GROUPS[j])).sum()


def test_invalid_modes_are_refused(name):
    with pytest.raises(ValueError, match="groups must be one of 'across', 'within', 'ignore', got 'both'"):
        get_pairs(PAIRS[name](groups="both")).check()


X, Y = classes_of_matrices(count=60)
ROUNDS = np.arange(60) // 5 % 4


def shifted():
    """Return matrices whose first channel is scaled by a factor that differs between rounds."""
    scale = np.ones((60, 3))
    scale[:, 0] = np.array([0.3, 1.0, 3.0, 8.0])[ROUNDS]
    return X[:, :3, :3] * scale[:, :, None] * scale[:, None, :]


def test_the_metric_learns_to_ignore_what_differs_between_groups():
    """Against pairs of neighbours, which lie in the same round."""
    weights = [
        np.diag(CovMetric("log", lam=1e-3, random_state=0).fit(shifted(), Y, groups=groups).W_)
        for groups in (ROUNDS, None)
    ]
    across, ignored = (weight[0] / weight.sum() for weight in weights)
    assert across < 0.5 * ignored


def test_estimators_pass_the_groups_to_the_pairs():
    data = shifted()
    direct = CovMetric("log", random_state=0).fit(data, Y, groups=np.array(list("abcd"))[ROUNDS])
    np.testing.assert_array_equal(CovMetric("log", random_state=0).fit(data, Y, groups=ROUNDS).W_, direct.W_)
    classifier = CovMetricClassifier(CovMetric("log", random_state=0)).fit(data, Y, groups=ROUNDS)
    np.testing.assert_array_equal(classifier.metric_.W, direct.W_)
    search = CovMetricCV("log", pairs="neighbors", lambdas=[1e-2], random_state=0, n_std_errors=1e6).fit(
        data, Y, groups=ROUNDS
    )
    np.testing.assert_array_equal(search.W_, direct.W_)
    assert not np.allclose(direct.W_, CovMetric("log", random_state=0).fit(data, Y).W_)
    with pytest.raises(ValueError, match="groups must have one entry per example"):
        CovMetric("log").fit(data, Y, groups=ROUNDS[1:])
    for learner in (CovMetric("log"), CovMetricCV("log"), CovMetricClassifier(CovMetric("log"))):
        for missing in (None, np.nan):
            with pytest.raises(ValueError, match=rf"groups\[2\] is {missing}: every example needs a group"):
                learner.fit(data, Y, groups=[0, 1, missing, *ROUNDS[3:]])
    with pytest.raises(ValueError, match="groups has only one group, 'Monday'"):
        CovMetricCV("log").fit(data, Y, groups="Monday")
    of_one = CovMetric("log", random_state=0).fit(data, Y, groups="Monday")
    np.testing.assert_array_equal(of_one.W_, CovMetric("log", random_state=0).fit(data, Y, groups=[0] * len(Y)).W_)


def test_scores_of_a_search_are_those_of_fits_with_groups():
    data, train, test = shifted(), np.arange(0, 40), np.arange(40, 60)
    search = CovMetricCV("log", lambdas=[1e-1, 1e-3], cv=[(train, test)], search_tol=1e-8, random_state=0)
    results = search.fit(data, Y, groups=ROUNDS).cv_results_
    for params, score in zip(results["params"], results["split0_test_score"], strict=True):
        alone = CovMetricClassifier(CovMetric(**params, tol=1e-8)).fit(data[train], Y[train], groups=ROUNDS[train])
        assert alone.score(data[test], Y[test]) == score


def test_a_selection_without_groups_works_if_examples_have_groups():
    class FirstPairs(PairSelection):
        name, default_budget = "first", 1

        def select(self, vectors, codes, rng, old=0):
            return LabelledPairs.from_codes(np.array([[0, 1], [0, 2], [1, 3]]), codes)

    assert CovMetric("log", pairs=FirstPairs()).fit(X, Y, groups=ROUNDS).result_ is not None


@pytest.mark.parametrize("mode", ["across", "within"])
def test_the_mode_survives_a_file(mode, tmp_path):
    learner = CovMetric("log", pairs=NeighborPairs(groups=mode), random_state=0).fit(shifted(), Y, groups=ROUNDS)
    save_model(learner, tmp_path / "model")
    assert load_model(tmp_path / "model").pairs.groups == mode

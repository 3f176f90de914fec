"""The learner that a classifier fits."""

from __future__ import annotations

import pytest

from covmetric import CovMetric, CovMetricCV
from covmetric.estimators.learner_choice import choose_learner


def test_the_default_of_auto_is_a_search():
    matrices, vectors = (choose_learner(None, "auto", is_vector, random_state=4) for is_vector in (False, True))
    assert matrices.phi == ["relog", "tangent-pca"] and vectors.phi == "auto"
    for search in (matrices, vectors):
        assert (search.rule, search.C, search.n_neighbors) == (["svm", "lda", "neighbors"], (3.0, 30.0), 3)
        assert search.random_state == 4


def test_the_default_of_other_rules_is_a_single_metric():
    learner = choose_learner(None, "mean", False, random_state=4, n_jobs=2)
    assert type(learner) is CovMetric and (learner.random_state, learner.n_jobs) == (4, 2)


@pytest.mark.parametrize(("given", "used"), [("mean", ["svm", "lda", "neighbors"]), (["mean", "lda"], ["mean", "lda"])])
def test_learners_of_users_are_copied(given, used):
    learner = CovMetricCV(rule=given)
    chosen = choose_learner(learner, "auto", False)
    assert chosen is not learner and chosen.rule == used and learner.rule == given
    assert choose_learner(learner, "svm", False).rule == given

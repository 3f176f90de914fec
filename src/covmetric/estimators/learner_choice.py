"""The learner of a classifier: a copy of the user's, or a default, which has to suit the decision rule."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from covmetric.estimators.cov_metric import CovMetric
from covmetric.estimators.cov_metric_cv import CovMetricCV
from covmetric.estimators.default_search import COMBINED_RULES, default_search
from covmetric.estimators.grid import distance_scorer
from covmetric.learning.rules import RULES

#: The rule that combines several rules, which a search scores.
AUTO = "auto"


def choose_learner(
    learner: Any, rule: Any, vectors: bool, random_state: Any = None, n_jobs: int | None = None
) -> CovMetric | CovMetricCV:
    """Return the learner that a classifier fits.

    Parameters
    ----------
    learner : CovMetric, CovMetricCV or None
        The learner of the user. None means a default.
    rule : str
        The decision rule of the classifier.
    vectors : bool
        Whether the examples are vectors instead of matrices.
    random_state, n_jobs : object
        Parameters of the default learner.

    Returns
    -------
    CovMetric or CovMetricCV
        A learner that is not fitted. The learner of the user is copied.

    Raises
    ------
    ValueError
        If the learner or the rule is invalid, or if they do not go together.
    """
    if learner is not None and not isinstance(learner, CovMetric | CovMetricCV):
        raise ValueError(f"learner must be a CovMetric, a CovMetricCV or None, got {learner!r}")
    if not (isinstance(rule, str) and rule in (AUTO, *RULES)):
        raise ValueError(f"rule must be one of {', '.join(map(repr, (AUTO, *RULES)))}, got {rule!r}")
    if rule != AUTO:
        return CovMetric(random_state=random_state, n_jobs=n_jobs) if learner is None else clone(learner)
    if learner is None:
        return default_search(vectors, random_state=random_state, n_jobs=n_jobs)
    if isinstance(learner, CovMetric):
        raise ValueError(
            f"rule='auto' needs a CovMetricCV or None as learner, got {learner!r}; write "
            "CovMetricClassifier(rule='auto'), which chooses the metric as well"
        )
    if distance_scorer(learner) is not None:
        raise ValueError(
            "rule='auto' is scored on classes that were trained on, but the learner scores distances "
            f"(cv={learner.cv!r}, scoring={learner.scoring!r}); use another rule, or scoring=None and a number of "
            "folds as cv of the learner"
        )
    search: CovMetricCV = clone(learner)
    if isinstance(search.rule, str):  # a list of rules is a choice of the user
        search.set_params(rule=list(COMBINED_RULES))
    return search

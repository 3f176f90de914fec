"""Decision rules on the vectors of a learned metric. `RULES` lists them by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from covmetric.learning.rules.base import Rule
from covmetric.learning.rules.description import describe_rule
from covmetric.learning.rules.lda import LdaRule
from covmetric.learning.rules.logistic import LogisticRule
from covmetric.learning.rules.mean import MeanRule
from covmetric.learning.rules.neighbors import NeighborsRule
from covmetric.learning.rules.svm import SvmRule
from covmetric.neighbors import Search, get_search

__all__ = [
    "RULES",
    "LdaRule",
    "LogisticRule",
    "MeanRule",
    "NeighborsRule",
    "Rule",
    "SvmRule",
    "describe_rule",
    "get_rule",
    "note_on_probabilities",
]

RULES: dict[str, type[Rule]] = {
    "neighbors": NeighborsRule,
    "mean": MeanRule,
    "lda": LdaRule,
    "logistic": LogisticRule,
    "svm": SvmRule,
}


def get_rule(
    rule: str,
    n_classes: int,
    n_neighbors: int = 3,
    n_jobs: int | None = None,
    algorithm: str | Search = "auto",
    C: float = 1.0,
) -> Rule:
    """Return an unfitted rule.

    Parameters
    ----------
    rule : {'neighbors', 'mean', 'lda', 'logistic', 'svm'}
        The name of the rule.
    n_classes : int
        The number of classes.
    n_neighbors : int, default=3
        The number of neighbours.
    n_jobs : int or None, default=None
        The number of threads that search for neighbours.
    algorithm : {'auto', 'brute', 'pruned', 'faiss'} or Search, default='auto'
        The search for neighbours.
    C : float, default=1.0
        The inverse strength of the regularisation, for 'logistic' and 'svm'.

    Returns
    -------
    Rule
        The rule, to be fitted.

    Raises
    ------
    ValueError
        If the rule or the search is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> rule = get_rule("mean", n_classes=2).fit(np.array([[0.0], [1.0], [4.0]]), np.array([0, 0, 1]))
    >>> rule.predict(np.array([[2.0], [3.0]])).tolist()
    [0, 1]
    """
    if not (isinstance(rule, str) and rule in RULES):
        raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
    get_search(algorithm)  # raises ValueError for unknown names, even if the rule does not search
    return RULES[rule](n_classes, n_neighbors, n_jobs, algorithm, C)


def note_on_probabilities(rule: Mapping[str, Any]) -> str:
    """Return what to know about the probabilities of a rule.

    Parameters
    ----------
    rule : mapping
        The rule as in `CovMetricClassifier.rule_`. For a classifier of images by regions, it has the entry `decision`
        of `ImagePatchClassifier`.

    Returns
    -------
    str
        A sentence, or "" if there is nothing to say.

    Examples
    --------
    >>> note_on_probabilities({"rule": "mean"})
    'The probabilities of class means rank the examples, but are not calibrated.'
    """
    decision, name = rule.get("decision"), rule.get("rule")
    if decision == "nearest-set":
        return ""  # the probabilities are 0 and 1
    if decision == "vote":
        return "The probabilities of an image are means over its regions: they rank the images, but are not calibrated."
    return RULES[name].probability_note if isinstance(name, str) and name in RULES else ""

"""The candidates of a search: every metric with every decision rule, and their order of preference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import check_positive
from covmetric.learning.examples import DEFAULT_PHI, embedding_for
from covmetric.learning.prior import prior_uses_pairs
from covmetric.learning.rules import RULES, get_rule
from covmetric.learning.scoring import CandidatePath, PhiCandidates, Scoring, require_vote
from covmetric.learning.settings import check_lam
from covmetric.neighbors.votes import check_n_neighbors

#: The embeddings of matrices that a search chooses from by default, in the order of preference.
DEFAULT_PHIS = ("tangent-pca", DEFAULT_PHI, "log", "sqrt", "chol")
# The rules in the order of preference if the user names none. Rules that are not listed come last.
_PREFERRED_RULES = ("svm", "lda", "logistic", "mean", "neighbors")
#: The names of the parameters of decision rules.
RULE_PARAMS = ("rule", "n_neighbors", "C")


@dataclass(frozen=True)
class Grid:
    """The candidates of a search. A candidate is a metric with a decision rule.

    Attributes
    ----------
    metrics : list of PhiCandidates
        The settings of the metrics, grouped by Phi.
    scorings : list of Scoring
        The decision rules, each with its parameter.
    params : list of dict
        The parameters of each candidate: all the rules of the first metric, of the second metric, and so on.
    preference : list of int
        The rank of each candidate in the order of preference. Values that the user lists first are preferred: first by
        the rule and its parameter, then by Phi, the prior, the pairs, the slack, and lambda.
    """

    metrics: list[PhiCandidates]
    scorings: list[Scoring]
    params: list[dict[str, Any]]
    preference: list[int]


def make_grid(search: Any, X: npt.NDArray[Any]) -> Grid:
    """Return the candidates of a search; raise ValueError for invalid settings before anything is solved.

    Parameters
    ----------
    search : CovMetricCV
        The search.
    X : array of shape (l, n, n) or (l, d)
        The examples.

    Returns
    -------
    Grid
        The candidates.
    """
    scorings = make_scorings(search)
    lambdas = _lambdas(search.lambdas)
    decreasing = tuple(sorted((lam for lam in lambdas if lam != np.inf), reverse=True))
    default = ("vector",) if X.ndim == 2 else DEFAULT_PHIS
    phis = default if isinstance(search.phi, str) and search.phi == "auto" else as_list("phi", search.phi)
    all_pairs, slacks, priors = as_list("pairs", search.pairs), as_list("slack", search.slack), _priors(search.prior)
    metrics: list[PhiCandidates] = []
    params: list[dict[str, Any]] = []
    keys: list[tuple[int, ...]] = []

    def add(phi: int, prior: int, pairs: int | None, slack: int | None, lam: float) -> None:
        metric: dict[str, Any] = {"phi": phis[phi]}
        if priors[prior] is not search.prior:  # several priors were passed
            metric["prior"] = priors[prior]
        if pairs is not None:
            metric["pairs"] = all_pairs[pairs]
        if slack is not None:
            metric["slack"] = slacks[slack]
        metric["lam"] = lam
        for i, scoring in enumerate(scorings):
            params.append({**metric, **(scoring.params if len(scorings) > 1 else {})})
            keys.append((i, phi, prior, pairs or 0, slack or 0, lambdas.index(lam)))

    for i, phi in enumerate(phis):
        embedding_for(phi, X, search.reg)
        paths = []
        for j, prior in enumerate(priors):
            # The prior is one candidate, or one for each selection of pairs if it depends on them.
            for k in range(len(all_pairs)) if prior_uses_pairs(prior) else (None,):
                choice = {} if k is None else {"pairs": all_pairs[k]}
                settings = search._learner(search.search_tol, prior=prior, **choice)._settings()
                paths.append(CandidatePath(settings, (np.inf,)))
                add(i, j, k, None, np.inf)
            for k, pairs in enumerate(all_pairs):
                for m, slack in enumerate(slacks):
                    choice = {"prior": prior, "pairs": pairs, "slack": slack}
                    search._learner(search.tol, **choice)._settings().check()
                    paths.append(CandidatePath(search._learner(search.search_tol, **choice)._settings(), decreasing))
                    for lam in decreasing:
                        add(i, j, k, m, lam)
        metrics.append(PhiCandidates(phi, search.reg, tuple(paths)))
    ranks = {key: rank for rank, key in enumerate(sorted(keys))}
    return Grid(metrics, scorings, params, [ranks[key] for key in keys])


def make_scorings(search: Any) -> list[Scoring]:
    """Return the decision rules of a search, each with its parameter; raise ValueError for invalid ones.

    Parameters
    ----------
    search : CovMetricCV
        The search.

    Returns
    -------
    list of Scoring
        The rules, in the order of preference.
    """
    if isinstance(search.rule, str) and search.rule == "auto":
        rules = sorted(RULES, key=lambda name: [*_PREFERRED_RULES, name].index(name))
    else:
        rules = as_list("rule", search.rule)
    scorings = []
    for rule in rules:
        get_rule(rule, 1)
        tuned = RULES[rule].tuned
        if tuned is None:
            scorings.append(Scoring(rule))
        else:
            scorings += [Scoring(rule, **{tuned: value}) for value in as_list(tuned, getattr(search, tuned))]
    for scoring in scorings:
        check_n_neighbors(scoring.n_neighbors)
        check_positive("C", scoring.C)
        if isinstance(search.cv, str) and search.cv == "loo":
            require_vote(scoring.rule)
    return scorings


def as_list(name: str, value: Any) -> list[Any]:
    """Return the values of a parameter as a list; raise ValueError if there are none.

    Parameters
    ----------
    name : str
        The name of the parameter.
    value : object
        A list or tuple of values, or one value.

    Returns
    -------
    list
        At least one value.
    """
    values = list(value) if isinstance(value, tuple | list) else [value]
    if not values:
        raise ValueError(f"{name} is empty: at least one value is needed")
    return values


def _priors(prior: Any) -> list[Any]:
    """Return the priors to choose from. A nested list of numbers is one prior."""
    several = isinstance(prior, tuple | list) and all(isinstance(p, str | np.ndarray) for p in prior)
    return as_list("prior", prior) if several else [prior]


def _lambdas(values: Any) -> list[float]:
    """Return the distinct values of lambda in the order of preference, with inf at the end unless it is listed."""
    lambdas = list(dict.fromkeys(float(lam) for lam in np.asarray(values, dtype=float).ravel()))
    for lam in lambdas:
        check_lam(lam)
    return lambdas if np.inf in lambdas else [*lambdas, np.inf]

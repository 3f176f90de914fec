"""The candidates of a search: every metric with every decision rule, and their order of preference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import check_positive
from covmetric.constraints import NeighborPairs
from covmetric.learning.candidates import CandidatePath, PhiCandidates
from covmetric.learning.examples import DEFAULT_PHI, embedding_for
from covmetric.learning.prior import prior_uses_pairs, prior_uses_shrinkage
from covmetric.learning.rules import RULES, get_rule
from covmetric.learning.scoring import DistanceScoring, Score, Scoring, require_vote
from covmetric.learning.settings import check_lam
from covmetric.model_selection import SCORERS, ClassKFold, ClassShuffleSplit, DistanceScorer, get_scorer
from covmetric.neighbors.votes import check_n_neighbors

#: The embeddings of matrices that a search chooses from by default, in the order of preference.
DEFAULT_PHIS = ("tangent-pca", DEFAULT_PHI, "log", "sqrt", "chol")
# The rules in the order of preference if the user names none. Rules that are not listed come last.
_PREFERRED_RULES = ("svm", "lda", "logistic", "mean", "neighbors")
#: The names of the parameters of decision rules.
RULE_PARAMS = ("rule", "n_neighbors", "C")
_CLASS_SPLITTERS = (ClassKFold, ClassShuffleSplit)


@dataclass(frozen=True)
class _Defaults:
    """What 'auto' means in a search, in the order of preference.

    Attributes
    ----------
    phis : tuple of str
        The embeddings of matrices.
    pairs : str or PairSelection
        The selection of pairs.
    priors : tuple of str
        The priors.
    shrinkages : tuple
        The shrinkages of the priors.
    lambdas : tuple of floats
        The strengths of the prior.
    """

    phis: tuple[str, ...]
    pairs: Any
    priors: tuple[str, ...]
    shrinkages: tuple[Any, ...]
    lambdas: tuple[float, ...]


# Chosen on NATOPS, ERing and Epilepsy. Ten neighbours instead of five are worth a third of a point for 3-NN.
_FOR_CLASSIFICATION = _Defaults(DEFAULT_PHIS, NeighborPairs(10), ("identity",), ("auto",), (1e-2, 1e-1, 1e-3))
# Chosen on NATOPS and ERing, with every pair of classes held out. Weak learning comes first: with few classes to learn
# from, a small lambda, or 'within' with little shrinkage, fits these classes and no others.
_FOR_DISTANCES = _Defaults(
    ("tangent-pca", DEFAULT_PHI, "sqrt", "chol"), "neighbors", ("within", "identity"), (0.5,), (1e-1, np.inf, 1e-2)
)


@dataclass(frozen=True)
class Grid:
    """The candidates of a search. A candidate is a metric with a decision rule.

    Attributes
    ----------
    metrics : list of PhiCandidates
        The settings of the metrics, grouped by Phi.
    scorings : list of Scoring, or list of one DistanceScoring
        The decision rules, each with its parameter, or the score of the distances.
    params : list of dict
        The parameters of each candidate: all the rules of the first metric, of the second metric, and so on.
    preference : list of int
        The rank of each candidate in the order of preference. Values that the user lists first are preferred: first by
        the rule and its parameter, then by Phi, the prior, the pairs, the slack, and lambda.
    """

    metrics: list[PhiCandidates]
    scorings: Sequence[Score]
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
    scorings, defaults = make_scorings(search), _defaults(search)
    lambdas = _lambdas(defaults.lambdas if _is_auto(search.lambdas) else search.lambdas)
    decreasing = tuple(sorted((lam for lam in lambdas if lam != np.inf), reverse=True))
    default = ("vector",) if X.ndim == 2 else defaults.phis
    phis = default if _is_auto(search.phi) else as_list("phi", search.phi)
    all_pairs = [defaults.pairs] if _is_auto(search.pairs) else as_list("pairs", search.pairs)
    slacks, priors = as_list("slack", search.slack), prior_choices(search)
    shown = _varying(priors)
    metrics: list[PhiCandidates] = []
    params: list[dict[str, Any]] = []
    keys: list[tuple[int, ...]] = []
    used = {name for scoring in scorings for name in scoring.params}
    of_rules = [name for name in RULE_PARAMS if name in used] if len(scorings) > 1 else []

    def add(phi: int, prior: int, pairs: int | None, slack: int | None, lam: float) -> None:
        metric: dict[str, Any] = {"phi": phis[phi]}
        metric.update({name: value for name, value in priors[prior].items() if name in shown})
        # A fixed metric has no pairs and no slack. All candidates have the same keys, so that a user can rely on them.
        metric |= {"pairs": all_pairs[pairs or 0], "slack": slacks[slack or 0], "lam": lam}
        for i, scoring in enumerate(scorings):
            params.append({**metric, **{name: scoring.params.get(name) for name in of_rules}})
            keys.append((i, phi, prior, pairs or 0, slack or 0, lambdas.index(lam)))

    for i, phi in enumerate(phis):
        embedding_for(phi, X, search.reg)
        paths = []
        for j, prior in enumerate(priors):
            # The prior is one candidate, or one for each selection of pairs if it depends on them.
            for k in range(len(all_pairs)) if prior_uses_pairs(prior["prior"]) else (None,):
                choice = {} if k is None else {"pairs": all_pairs[k]}
                settings = search._learner(search.search_tol, **prior, **choice)._settings()
                paths.append(CandidatePath(settings, (np.inf,)))
                add(i, j, k, None, np.inf)
            for k, pairs in enumerate(all_pairs):
                for m, slack in enumerate(slacks):
                    choice = {**prior, "pairs": pairs, "slack": slack}
                    search._learner(search.tol, **choice)._settings().check()
                    paths.append(CandidatePath(search._learner(search.search_tol, **choice)._settings(), decreasing))
                    for lam in decreasing:
                        add(i, j, k, m, lam)
        metrics.append(PhiCandidates(phi, search.reg, tuple(paths)))
    ranks = {key: rank for rank, key in enumerate(sorted(keys))}
    return Grid(metrics, scorings, params, [ranks[key] for key in keys])


def distance_scorer(search: Any) -> DistanceScorer | None:
    """Return the scorer of a search that scores distances, or None if it scores a decision rule.

    Parameters
    ----------
    search : CovMetricCV
        The search.

    Returns
    -------
    DistanceScorer or None
        The scorer.

    Raises
    ------
    ValueError
        If `scoring` is invalid.
    """
    if search.scoring is not None:
        return get_scorer(search.scoring)
    holds_out_classes = isinstance(search.cv, _CLASS_SPLITTERS) or (
        isinstance(search.cv, str) and search.cv == "classes"
    )
    return get_scorer("mean_average_precision") if holds_out_classes else None


def scoring_to_save(search: Any) -> Any:
    """Return `scoring` for a model file, which holds neither splitters nor scorers.

    Parameters
    ----------
    search : CovMetricCV
        The search.

    Returns
    -------
    object
        The name of the scorer, if a scorer of `SCORERS` is given or follows from a splitter; `scoring` otherwise.
    """
    if isinstance(search.scoring, DistanceScorer) or (
        search.scoring is None and isinstance(search.cv, _CLASS_SPLITTERS)
    ):
        scorer = distance_scorer(search)
        if scorer is not None and SCORERS.get(scorer.name) == scorer:
            return scorer.name
    return search.scoring


def make_scorings(search: Any) -> Sequence[Score]:
    """Return the decision rules of a search, each with its parameter; raise ValueError for invalid ones.

    Parameters
    ----------
    search : CovMetricCV
        The search.

    Returns
    -------
    list of Scoring, or list of one DistanceScoring
        The rules, in the order of preference, or the score of the distances.
    """
    scorer = distance_scorer(search)
    if scorer is not None:
        if not (isinstance(search.rule, str) and search.rule == "neighbors"):
            raise ValueError(
                f"rule={search.rule!r} is scored on classes that were trained on, but scoring={scorer.name!r} scores "
                "distances, without a rule; leave out rule, or use scoring=None and a number of folds as cv"
            )
        if isinstance(search.cv, str) and search.cv == "loo":
            raise ValueError(
                f"cv='loo' scores the examples that the metric is learned from; scoring={scorer.name!r} needs "
                "cv='classes' or a number of folds"
            )
        return [DistanceScoring(scorer)]
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


def prior_choices(search: Any) -> list[dict[str, Any]]:
    """Return the priors to choose from, each with the shrinkages to choose from if it has one.

    Parameters
    ----------
    search : CovMetricCV
        The search.

    Returns
    -------
    list of dict
        The parameters 'prior' and 'shrinkage' of `CovMetric`, in the order of preference.
    """
    defaults = _defaults(search)
    priors = defaults.priors if _is_auto(search.prior) else _priors(search.prior)
    shrinkages = defaults.shrinkages if _is_auto(search.shrinkage) else as_list("shrinkage", search.shrinkage)
    return [
        {"prior": prior, "shrinkage": shrinkage}
        for prior in priors
        for shrinkage in (shrinkages if prior_uses_shrinkage(prior) else shrinkages[:1])
    ]


def _varying(choices: list[dict[str, Any]]) -> list[str]:
    """Return the names of the parameters that are not the same object in all choices."""
    return [name for name, first in choices[0].items() if any(choice[name] is not first for choice in choices)]


def _defaults(search: Any) -> _Defaults:
    return _FOR_CLASSIFICATION if distance_scorer(search) is None else _FOR_DISTANCES


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


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

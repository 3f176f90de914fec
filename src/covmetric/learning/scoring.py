"""The accuracy of candidate settings on a split."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from covmetric._utils.distances import cross_distances, distance_blocks, nearest_columns
from covmetric._utils.threads import limited_threads
from covmetric._utils.tuning import ONE_THREAD_BELOW, SEARCH_ENTRIES
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.embeddings import Embedding
from covmetric.learning.examples import embedding_for
from covmetric.learning.fit import FittedProblem, fit_path
from covmetric.learning.rules import get_rule
from covmetric.learning.settings import LearningSettings
from covmetric.learning.splits import Split
from covmetric.metric import LearnedMetric
from covmetric.neighbors.votes import count_votes

#: Why scores are missing after Ctrl-C.
INTERRUPTED = "Ctrl-C"


@dataclass(frozen=True)
class CandidatePath:
    """Candidates that differ in lambda only, and share a path of warm starts.

    Attributes
    ----------
    settings : LearningSettings
        What they have in common.
    lambdas : tuple of floats
        The lambda of each candidate; inf stands for the prior.
    """

    settings: LearningSettings
    lambdas: tuple[float, ...]


@dataclass(frozen=True)
class PhiCandidates:
    """All candidates with the same Phi.

    Attributes
    ----------
    phi : str or Embedding
        As in `CovMetric`.
    reg : float
        As in `CovMetric`.
    paths : tuple of CandidatePath
        The candidates.
    """

    phi: Any
    reg: float
    paths: tuple[CandidatePath, ...]

    def __len__(self) -> int:
        return sum(len(path.lambdas) for path in self.paths)


@dataclass(frozen=True)
class Scoring:
    """What is scored: a rule and its number of neighbours."""

    rule: str
    n_neighbors: int


@dataclass(frozen=True)
class EmbeddedExamples:
    """A fitted Phi, and Phi(X) of all the examples, shape (l, n, m)."""

    embedding: Embedding
    embedded: FloatArray


def embed_once(phi: Any, X: npt.NDArray[Any], reg: float) -> EmbeddedExamples | None:
    """Embed all the examples, for all folds.

    Parameters
    ----------
    phi : str or Embedding
        As in `CovMetric`.
    X : array of shape (l, ...)
        The examples.
    reg : float
        As in `CovMetric`.

    Returns
    -------
    EmbeddedExamples or None
        None if Phi has to be learned in each fold, or fails, for each fold to say why.
    """
    embedding = embedding_for(phi, X, reg)
    if embedding.learns:
        return None
    try:
        with limited_threads(threads_for(X)):
            return EmbeddedExamples(embedding, embedding.fit_transform(X))
    except (ValueError, np.linalg.LinAlgError):
        return None


def threads_for(X: npt.NDArray[Any]) -> int | None:
    """Return the number of threads for many solves on these examples.

    Small pieces of work are slower with several threads, which wait for each other, and more so if other processes use
    the machine.

    Parameters
    ----------
    X : array of shape (l, n, ...)
        The examples.

    Returns
    -------
    int or None
        None: as many as there are.
    """
    return 1 if X.shape[1] < ONE_THREAD_BELOW else None


def score_candidates(
    candidates: PhiCandidates,
    X: npt.NDArray[Any],
    codes: IntArray,
    split: Split,
    scoring: Scoring,
    rng: np.random.Generator,
    shared: EmbeddedExamples | None = None,
) -> tuple[FloatArray, str]:
    """Return the accuracies of candidates with the same Phi on one split.

    Parameters
    ----------
    candidates : PhiCandidates
        The candidates.
    X : array of shape (l, ...)
        The examples.
    codes : array of int, shape (l,)
        Their classes, 0..n_c-1.
    split : Split
        The training and test parts.
    scoring : Scoring
        What is scored.
    rng : Generator
        For random pairs and orders.
    shared : EmbeddedExamples or None, default=None
        Phi(X), if all folds share it.

    Returns
    -------
    scores : array of shape (n_candidates,)
        NaN where a candidate was not scored. After Ctrl-C, candidates that were scored keep their score.
    reason : str
        Why scores are missing; empty if none are.
    """
    scores = np.full(len(candidates), np.nan)
    try:
        with warnings.catch_warnings(), limited_threads(threads_for(X)):
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)  # a score needs no proof; the final solve warns
            embedding, train, test = _embedded_parts(candidates, X, split, shared)
            done = 0
            for path in candidates.paths:
                for fitted in _fit_path(path, train, codes[split.train], embedding, rng):
                    metric = LearnedMetric(embedding, fitted.metric())
                    scores[done] = _score(metric, train, test, codes, split, scoring)
                    done += 1
    except KeyboardInterrupt:
        return scores, INTERRUPTED
    except (ValueError, np.linalg.LinAlgError) as error:
        return scores, str(error)
    return scores, ""


def _embedded_parts(
    candidates: PhiCandidates, X: npt.NDArray[Any], split: Split, shared: EmbeddedExamples | None
) -> tuple[Embedding, FloatArray, FloatArray]:
    """Phi, and Phi(X) of the training and the test part."""
    if shared is not None:
        return shared.embedding, shared.embedded[split.train], shared.embedded[split.test]
    embedding = embedding_for(candidates.phi, X, candidates.reg)
    train = embedding.fit_transform(X[split.train])
    return embedding, train, train if split.leave_one_out else embedding.transform(X[split.test])


def _fit_path(
    path: CandidatePath, train: FloatArray, codes: IntArray, embedding: Embedding, rng: np.random.Generator
) -> Sequence[FittedProblem]:
    """The solved problems of a path; KeyboardInterrupt if it was interrupted."""
    start = FittedProblem.at_prior(path.settings, train, codes, embedding.copies_)
    solved = fit_path(start, path.lambdas, rng)
    if len(solved) < len(path.lambdas) or any(fitted.interrupted for fitted in solved):
        raise KeyboardInterrupt
    return solved


def _score(
    metric: LearnedMetric, train: FloatArray, test: FloatArray, codes: IntArray, split: Split, scoring: Scoring
) -> float:
    n_classes, rule, k = int(codes.max()) + 1, scoring.rule, scoring.n_neighbors
    references, seen = metric.map(train), codes[split.train]
    if split.leave_one_out:
        if rule != "neighbors":
            raise ValueError(f"cv='loo' goes with rule='neighbors', got rule={rule!r}")
        assert split.groups is not None
        predicted = leave_one_out(references, codes, split.groups, k, n_classes)
    elif rule == "neighbors" and train.shape[2] > 1 and _fits_at_once(references, len(test)):
        # As NeighborsRule, but without its proof that rounding has hidden no neighbour, which takes as long: distances
        # between matrices do not tie, those between vectors of few digits do.
        predicted = _vote(cross_distances(metric.map(test), references), seen, k, n_classes)
    else:
        predicted = get_rule(rule, n_classes, k).fit(references, seen).predict(metric.map(test))
    return float((predicted == codes[split.test]).mean())


def _fits_at_once(references: FloatArray, n_queries: int) -> bool:
    """Whether all squared distances fit into memory, and are far from overflow and underflow."""
    return len(references) * n_queries <= SEARCH_ENTRIES and bool(1e-100 < np.abs(references).max() < 1e100)


def leave_one_out(vectors: FloatArray, codes: IntArray, groups: npt.NDArray[Any], k: int, n_classes: int) -> IntArray:
    """Return the vote of the k nearest neighbours of each vector outside its own group.

    Parameters
    ----------
    vectors : array of shape (l, q)
        The vectors.
    codes : array of int, shape (l,)
        Their classes, 0..n_classes-1.
    groups : array of shape (l,)
        Their groups.
    k : int
        The number of neighbours.
    n_classes : int
        The number of classes.

    Returns
    -------
    array of int, shape (l,)
    """
    predicted = np.empty(len(codes), dtype=np.int64)
    for rows, squared in distance_blocks(vectors):
        squared[groups[rows, None] == groups] = np.inf
        predicted[rows] = _vote(squared, codes, k, n_classes)
    return predicted


def _vote(squared: FloatArray, codes: IntArray, k: int, n_classes: int) -> IntArray:
    """The vote of the k nearest at a finite distance, for rows of squared distances from examples of these classes."""
    if np.isnan(squared).any():
        raise ValueError("squared distances of the examples overflow: rescale X")
    nearest = nearest_columns(squared, k)
    finite = np.isfinite(np.take_along_axis(squared, nearest, axis=1))
    return np.asarray(count_votes(codes[nearest], n_classes, finite).argmax(axis=1), dtype=np.int64)

"""The scores of candidate settings on one split."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
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
from covmetric.learning.rules import RULES, Rule, get_rule
from covmetric.learning.settings import LearningSettings
from covmetric.learning.splits import Split
from covmetric.model_selection import DistanceScorer
from covmetric.neighbors.votes import count_votes

#: The reason that `score_candidates` gives for missing scores after Ctrl-C.
INTERRUPTED = "Ctrl-C"


@dataclass(frozen=True)
class CandidatePath:
    """Candidates that differ only in lambda, and are solved along one path of warm starts.

    Attributes
    ----------
    settings : LearningSettings
        The settings, which are the same for all candidates.
    lambdas : tuple of floats
        The lambda of each candidate. inf means the prior.
    """

    settings: LearningSettings
    lambdas: tuple[float, ...]


@dataclass(frozen=True)
class PhiCandidates:
    """All candidates with the same Phi.

    Attributes
    ----------
    phi : str or Embedding
        The embedding.
    reg : float
        The regularisation of the embedding.
    paths : tuple of CandidatePath
        The candidates.
    """

    phi: Any
    reg: float
    paths: tuple[CandidatePath, ...]

    @property
    def lambdas(self) -> tuple[float, ...]:
        """The lambda of each candidate, path by path."""
        return tuple(lam for path in self.paths for lam in path.lambdas)


class Score(ABC):
    """A score of the vectors of a candidate metric."""

    @property
    @abstractmethod
    def params(self) -> dict[str, Any]:
        """The parameters that the score depends on, by name."""

    @abstractmethod
    def score(
        self, references: FloatArray, queries: FloatArray, codes: IntArray, split: Split, n_columns: int
    ) -> float:
        """Return the score on the test part of a split.

        Parameters
        ----------
        references : array of shape (l_train, q)
            The vectors of the training part.
        queries : array of shape (l_test, q)
            The vectors of the test part.
        codes : array of int of shape (l,)
            The classes of all examples, 0..n_classes-1.
        split : Split
            The split.
        n_columns : int
            The number of columns m of Phi(X).

        Returns
        -------
        float
            The score. More is better.
        """


@dataclass(frozen=True)
class DistanceScoring(Score):
    """A score of the distances between the test examples, whose classes need not be in the training part.

    Attributes
    ----------
    scorer : DistanceScorer
        The scorer.
    """

    scorer: DistanceScorer

    @property
    def params(self) -> dict[str, Any]:
        """No parameters, because nothing is classified."""
        return {}

    def score(
        self, references: FloatArray, queries: FloatArray, codes: IntArray, split: Split, n_columns: int
    ) -> float:
        return self.scorer.score(queries, codes[split.test], split.test_groups)


@dataclass(frozen=True)
class Scoring(Score):
    """A classifier whose accuracy is a score.

    Attributes
    ----------
    rule : {'neighbors', 'mean', 'lda', 'logistic', 'svm'}
        The decision rule.
    n_neighbors : int, default=3
        The number of neighbours.
    C : float, default=1.0
        The inverse strength of the regularisation.
    """

    rule: str
    n_neighbors: int = 3
    C: float = 1.0

    @property
    def params(self) -> dict[str, Any]:
        """The rule and the parameter that it depends on, by name."""
        tuned = RULES[self.rule].tuned
        return {"rule": self.rule, **({} if tuned is None else {tuned: getattr(self, tuned)})}

    def create(self, n_classes: int) -> Rule:
        """Return the rule, to be fitted.

        Parameters
        ----------
        n_classes : int
            The number of classes.

        Returns
        -------
        Rule
            The rule.
        """
        return get_rule(self.rule, n_classes, self.n_neighbors, C=self.C)

    def score(
        self, references: FloatArray, queries: FloatArray, codes: IntArray, split: Split, n_columns: int
    ) -> float:
        n_classes, k = int(codes.max()) + 1, self.n_neighbors
        by_vote = RULES[self.rule].is_vote_of_neighbors
        train_codes = codes[split.train]
        if split.leave_one_out:
            require_vote(self.rule)
            groups = np.arange(len(codes)) if split.groups is None else split.groups
            predicted = leave_one_out(references, codes, groups, k, n_classes)
        elif by_vote and n_columns > 1 and _fit_into_memory(references, len(queries)):
            # NeighborsRule also proves that rounding has not hidden any neighbour, which doubles the time. Only vectors
            # with few digits need this proof, because distances between matrices do not tie.
            predicted = _vote(cross_distances(queries, references), train_codes, k, n_classes)
        else:
            predicted = self.create(n_classes).fit(references, train_codes).predict(queries)
        return float((predicted == codes[split.test]).mean())


@dataclass(frozen=True)
class EmbeddedExamples:
    """A fitted embedding and all the embedded examples.

    Attributes
    ----------
    embedding : Embedding
        The fitted embedding.
    embedded : array of shape (l, n, m)
        Phi(X) of all the examples.
    """

    embedding: Embedding
    embedded: FloatArray


def embed_once(phi: Any, X: npt.NDArray[Any], reg: float) -> EmbeddedExamples | None:
    """Embed all the examples, for all folds.

    Parameters
    ----------
    phi : str or Embedding
        The embedding.
    X : array of shape (l, n, n) or (l, d)
        The examples.
    reg : float
        The regularisation of the embedding.

    Returns
    -------
    EmbeddedExamples or None
        None if the embedding has to be learned in each fold. Also None if it fails, so that each fold reports the
        error.
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
    """Return the number of BLAS threads for many solves on these examples.

    Small operations are slower with several threads, because the threads wait for each other.

    Parameters
    ----------
    X : array of shape (l, n, ...)
        The examples.

    Returns
    -------
    int or None
        The number of threads, or None for no limit.
    """
    return 1 if X.shape[1] < ONE_THREAD_BELOW else None


def score_candidates(
    candidates: PhiCandidates,
    X: npt.NDArray[Any],
    codes: IntArray,
    split: Split,
    scorings: Sequence[Score],
    rng: np.random.Generator,
    shared: EmbeddedExamples | None = None,
) -> tuple[FloatArray, str]:
    """Return the scores of candidates with the same Phi on one split, for one or more rules.

    Every candidate is solved once, and all the rules use its vectors.

    Parameters
    ----------
    candidates : PhiCandidates
        The candidates.
    X : array of shape (l, n, n) or (l, d)
        The examples.
    codes : array of int of shape (l,)
        Their classes, 0..n_classes-1.
    split : Split
        The training and test parts.
    scorings : sequence of Scoring or DistanceScoring
        The rules.
    rng : Generator
        The source of random pairs and random orders.
    shared : EmbeddedExamples or None, default=None
        The embedded examples, if the folds use the same embedding.

    Returns
    -------
    scores : array of shape (n_candidates * n_rules,)
        The scores, candidate by candidate. NaN marks candidates that were not scored because of an error or Ctrl-C.
    reason : str
        Why scores are missing: the message of the error, or `INTERRUPTED`. It is empty if all scores are present.
    """
    scores = np.full(len(candidates.lambdas) * len(scorings), np.nan)
    try:
        with warnings.catch_warnings(), limited_threads(threads_for(X)):
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)  # scores need no proof, and the final solve warns
            embedding, train, test = _embed_parts(candidates, X, split, shared)
            n_scored = 0
            for path in candidates.paths:
                for fitted in _solve_candidates(path, train, codes, split, embedding, rng):
                    metric = fitted.learned_metric(embedding)
                    references = metric.map(train)
                    queries = references if split.leave_one_out else metric.map(test)
                    for scoring in scorings:
                        scores[n_scored] = scoring.score(references, queries, codes, split, train.shape[2])
                        n_scored += 1
    except KeyboardInterrupt:
        return scores, INTERRUPTED
    except (ValueError, np.linalg.LinAlgError) as error:
        return scores, str(error)
    return scores, ""


def out_of_fold(
    candidates: PhiCandidates,
    X: npt.NDArray[Any],
    codes: IntArray,
    splits: Sequence[Split],
    scorings: Sequence[Scoring],
    seed: int,
) -> tuple[list[FloatArray], IntArray]:
    """Return the probabilities that the last candidate predicts for the test parts, and the classes there.

    Parameters
    ----------
    candidates : PhiCandidates
        One path that ends with the candidate.
    X : array of shape (l, n, n) or (l, d)
        The examples.
    codes : array of int of shape (l,)
        Their classes, 0..n_classes-1.
    splits : sequence of Split
        The splits.
    scorings : sequence of Scoring
        The rules.
    seed : int
        The seed of the search.

    Returns
    -------
    probabilities : list of arrays of shape (l_test, n_classes)
        The probabilities of each rule, split by split.
    classes : array of int of shape (l_test,)
        The classes of the same examples.
    """
    n_classes = int(codes.max()) + 1
    probabilities: list[list[FloatArray]] = [[] for _ in scorings]
    for fold, split in enumerate(splits):
        rng = np.random.default_rng([seed, fold])
        with warnings.catch_warnings(), limited_threads(threads_for(X)):
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            embedding, train, test = _embed_parts(candidates, X, split, None)
            fitted = _solve_candidates(candidates.paths[-1], train, codes, split, embedding, rng)[-1]
            metric = fitted.learned_metric(embedding)
            references, queries = metric.map(train), metric.map(test)
            for scoring, parts in zip(scorings, probabilities, strict=True):
                rule = scoring.create(n_classes).fit(references, codes[split.train])
                parts.append(rule.probabilities(queries))
    return [np.concatenate(parts) for parts in probabilities], np.concatenate([codes[s.test] for s in splits])


def _embed_parts(
    candidates: PhiCandidates, X: npt.NDArray[Any], split: Split, shared: EmbeddedExamples | None
) -> tuple[Embedding, FloatArray, FloatArray]:
    """Return the fitted Phi, and Phi(X) of the training and the test part."""
    if shared is not None:
        return shared.embedding, shared.embedded[split.train], shared.embedded[split.test]
    embedding = embedding_for(candidates.phi, X, candidates.reg)
    train = embedding.fit_transform(X[split.train])
    return embedding, train, train if split.leave_one_out else embedding.transform(X[split.test])


def _solve_candidates(
    path: CandidatePath,
    train: FloatArray,
    codes: IntArray,
    split: Split,
    embedding: Embedding,
    rng: np.random.Generator,
) -> Sequence[FittedProblem]:
    """Return the solved problems of a path; raise KeyboardInterrupt if a solve was interrupted."""
    start = FittedProblem.at_prior(
        path.settings, train, codes[split.train], embedding.copies_, rng, groups=split.groups
    )
    solved = fit_path(start, path.lambdas, rng)
    if len(solved) < len(path.lambdas) or any(fitted.interrupted for fitted in solved):
        raise KeyboardInterrupt
    return solved


def require_vote(rule: str) -> None:
    """Raise ValueError if a rule is not the vote of neighbours, which leave-one-out needs.

    Parameters
    ----------
    rule : str
        The name of the rule.
    """
    if not RULES[rule].is_vote_of_neighbors:
        raise ValueError(f"cv='loo' needs rule='neighbors', got rule={rule!r}; use a number of folds as cv")


def _fit_into_memory(references: FloatArray, n_queries: int) -> bool:
    """Return whether all squared distances fit into memory and are far from overflow and underflow."""
    return len(references) * n_queries <= SEARCH_ENTRIES and bool(1e-100 < np.abs(references).max() < 1e100)


def leave_one_out(vectors: FloatArray, codes: IntArray, groups: npt.NDArray[Any], k: int, n_classes: int) -> IntArray:
    """Predict the class of each vector by the vote of its k nearest neighbours in the other groups.

    Parameters
    ----------
    vectors : array of shape (l, q)
        The vectors.
    codes : array of int of shape (l,)
        Their classes, 0..n_classes-1.
    groups : array of shape (l,)
        Their groups.
    k : int
        The number of neighbours.
    n_classes : int
        The number of classes.

    Returns
    -------
    array of int of shape (l,)
        The predicted classes. If votes tie, the first class is returned.
    """
    predicted = np.empty(len(codes), dtype=np.int64)
    for rows, squared in distance_blocks(vectors):
        squared[groups[rows, None] == groups] = np.inf
        predicted[rows] = _vote(squared, codes, k, n_classes)
    return predicted


def _vote(squared: FloatArray, codes: IntArray, k: int, n_classes: int) -> IntArray:
    """Return the vote of the k columns with the smallest finite squared distances, for each row."""
    if np.isnan(squared).any():
        raise ValueError("squared distances of the examples overflow: rescale X")
    nearest = nearest_columns(squared, k)
    finite = np.isfinite(np.take_along_axis(squared, nearest, axis=1))
    return np.asarray(count_votes(codes[nearest], n_classes, finite).argmax(axis=1), dtype=np.int64)

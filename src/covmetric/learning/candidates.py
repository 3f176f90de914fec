"""Candidate metrics of a search: they are solved on the training part of a split, and scored on its test part."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from covmetric._utils.threads import limited_threads, threads_for
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.embeddings import Embedding
from covmetric.learning.examples import embedding_for
from covmetric.learning.fit import FittedProblem, fit_path
from covmetric.learning.scoring import Score, Scoring
from covmetric.learning.settings import LearningSettings
from covmetric.learning.splits import Split

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
        with _quietly(X):
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


def predict_out_of_fold(
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
        with _quietly(X):
            embedding, train, test = _embed_parts(candidates, X, split, None)
            fitted = _solve_candidates(candidates.paths[-1], train, codes, split, embedding, rng)[-1]
            metric = fitted.learned_metric(embedding)
            references, queries = metric.map(train), metric.map(test)
            for scoring, parts in zip(scorings, probabilities, strict=True):
                rule = scoring.create(n_classes).fit(references, codes[split.train])
                parts.append(rule.probabilities(queries))
    return [np.concatenate(parts) for parts in probabilities], np.concatenate([codes[s.test] for s in splits])


@contextmanager
def _quietly(X: npt.NDArray[Any]) -> Iterator[None]:
    """Solve without warnings, and with the number of BLAS threads for many solves on these examples."""
    with warnings.catch_warnings(), limited_threads(threads_for(X)):
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)  # scores need no proof, and the final solve warns
        yield


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

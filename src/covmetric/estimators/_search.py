"""The parts of a search: candidates, splits, and the score of candidates on a split."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils.validation import check_consistent_length

from covmetric._distances import cross_distances, distance_blocks, nearest_columns
from covmetric._threads import limited_threads
from covmetric._validation import FloatArray, IntArray, is_count
from covmetric._warning import warn
from covmetric.embeddings import Embedding
from covmetric.estimators._input import embedding_for
from covmetric.estimators._learning import Lesson, learn, lesson
from covmetric.estimators._rules import count_votes, get_rule
from covmetric.estimators.cov_metric import CovMetric
from covmetric.metric import LearnedMetric
from covmetric.solvers import ONE_THREAD_BELOW, Status

INTERRUPTED = "Ctrl-C"
# Distances that are held at a time.
_AT_ONCE = 2**22

#: Settings of a CovMetric.
Candidate = dict[str, Any]


@dataclass(frozen=True)
class Split:
    """Training and test examples of a fold. With `groups` the fold is leave-one-out: all are both."""

    train: IntArray
    test: IntArray
    groups: IntArray | None = None


def splits_for(cv: Any, X: npt.NDArray[Any], codes: IntArray, groups: Any, seed: int) -> list[Split]:
    """The folds that `cv` stands for."""
    if groups is not None:
        check_consistent_length(X, groups)
        known, groups = np.unique(np.asarray(groups), return_inverse=True)
        if len(known) < 2:
            raise ValueError(f"groups has only one group, {known[0]!r}: at least two are needed; leave groups out")
    everyone = np.arange(len(codes))
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f"cv must be an integer >= 2, 'loo', a splitter or a list of splits, got {cv!r}")
        return [Split(everyone, everyone, everyone if groups is None else groups)]
    if is_count(cv):
        cv = _stratified(int(cv), codes, groups, seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        folds = list(check_cv(cv, codes, classifier=True).split(X, codes, groups))
    splits = [Split(np.asarray(train, dtype=np.int64), np.asarray(test, dtype=np.int64)) for train, test in folds]
    _check_splits(splits, codes)
    return splits


def _check_splits(splits: list[Split], codes: IntArray) -> None:
    """Folds that cannot be learned from are refused, and those that cannot be fair are named."""
    if not splits:
        raise ValueError("cv has no splits: at least one is needed")
    for fold, split in enumerate(splits):
        for name, part in (("training", split.train), ("test", split.test)):
            if len(part) == 0 or part.min() < 0 or part.max() >= len(codes):
                raise ValueError(f"the {name} part of split {fold} is empty, or has indices beyond the examples")
        if len(np.unique(codes[split.train])) < 2:
            raise ValueError(
                f"the training part of split {fold} has one class only; groups that hold all examples of a class "
                "cannot be split fairly: give finer groups, or splits of your own as cv"
            )
    unseen = {c for split in splits for c in np.setdiff1d(codes[split.test], codes[split.train]).tolist()}
    if unseen:
        warn(
            f"{len(unseen)} of {int(codes.max()) + 1} classes are tested in a fold that did not train on them (too few "
            "examples or groups): their examples count as errors for every candidate"
        )


def _stratified(folds: int, codes: IntArray, groups: IntArray | None, seed: int) -> Any:
    """As many stratified folds as asked for, or as the data has examples or groups for."""
    if folds < 2:
        raise ValueError(f"cv must be an integer >= 2, 'loo', a splitter or a list of splits, got {folds}")
    if groups is not None:
        per_class = [len(np.unique(groups[codes == c])) for c in range(int(codes.max()) + 1)]
        possible = max(2, min(folds, max(per_class)))
        return StratifiedGroupKFold(possible, shuffle=True, random_state=seed)
    possible = int(np.bincount(codes).max())
    if possible < 2:
        raise ValueError("every class has one example only: cross-validation needs at least two of some class")
    return StratifiedKFold(min(folds, possible), shuffle=True, random_state=seed)


@dataclass(frozen=True)
class Embedded:
    """Phi of all the examples, fitted."""

    embedding: Embedding
    vectors: FloatArray


def embedded_once(phi: Any, X: npt.NDArray[Any], reg: float) -> Embedded | None:
    """Phi of all the examples, for all folds; None where a fold has to learn it, or will have to say why it fails."""
    embedding = embedding_for(phi, X, reg)
    if embedding.learns:
        return None
    try:
        with limited_threads(threads_for(X)):
            return Embedded(embedding, embedding.fit_transform(X))
    except (ValueError, np.linalg.LinAlgError):
        return None


def threads_for(X: npt.NDArray[Any]) -> int | None:
    """Many small pieces of work: threads would wait for each other, and worse where others use the machine."""
    return 1 if X.shape[1] < ONE_THREAD_BELOW else None


def scores_of(
    template: CovMetric,
    candidates: list[Candidate],
    X: npt.NDArray[Any],
    codes: IntArray,
    split: Split,
    rule: str,
    n_neighbors: int,
    rng: np.random.Generator,
    known: Embedded | None = None,
) -> tuple[FloatArray, str]:
    """The accuracies of candidates with the same Phi on one split, and why they are NaN where they are.

    Candidates that differ in lambda only share a path. After Ctrl-C those that were scored keep their score. `known` is
    Phi of the examples, if it is known.
    """
    scores = np.full(len(candidates), np.nan)
    try:
        with warnings.catch_warnings(), limited_threads(threads_for(X)):
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)  # a score needs no proof; the final solve warns
            if known is not None:
                embedding, train, test = known.embedding, known.vectors[split.train], known.vectors[split.test]
            else:
                embedding = embedding_for(candidates[0]["phi"], X, template.reg)
                train = embedding.fit_transform(X[split.train])
                test = train if split.groups is not None else embedding.transform(X[split.test])
            for indices in _paths(candidates):
                learner = clone(template).set_params(**candidates[indices[0]])
                start = lesson(learner._recipe(), train, codes[split.train], embedding.copies_)
                lessons = learn(start, [candidates[i]["lam"] for i in indices], rng)
                if len(lessons) < len(indices) or any(map(_interrupted, lessons)):
                    raise KeyboardInterrupt
                for i, one in zip(indices, lessons, strict=True):
                    metric = LearnedMetric(embedding, one.metric())
                    scores[i] = _score(metric, train, test, codes, split, rule, n_neighbors)
    except KeyboardInterrupt:
        return scores, INTERRUPTED
    except (ValueError, np.linalg.LinAlgError) as error:
        return scores, str(error)
    return scores, ""


def _interrupted(known: Lesson) -> bool:
    return known.result is not None and known.result.status is Status.INTERRUPTED


def _paths(candidates: list[Candidate]) -> list[list[int]]:
    """The indices of candidates that differ in lambda only."""
    paths: dict[tuple[int, ...], list[int]] = {}
    for index, candidate in enumerate(candidates):
        key = tuple(id(value) for name, value in candidate.items() if name != "lam")
        paths.setdefault(key, []).append(index)
    return list(paths.values())


def _score(
    metric: LearnedMetric,
    train: FloatArray,
    test: FloatArray,
    codes: IntArray,
    split: Split,
    rule: str,
    n_neighbors: int,
) -> float:
    n_classes = int(codes.max()) + 1
    references, seen = metric.map(train), codes[split.train]
    if split.groups is not None:
        if rule != "neighbors":
            raise ValueError(f"cv='loo' goes with rule='neighbors', got rule={rule!r}")
        guesses = _leave_one_out(references, codes, split.groups, n_neighbors, n_classes)
    elif rule == "neighbors" and train.shape[2] > 1 and len(train) * len(test) <= _AT_ONCE and _ordinary(references):
        # As NeighborsRule does, without its proof that no neighbour was lost in the last digit, which takes as long:
        # distances of matrices do not tie; those of vectors of few digits do.
        guesses = _vote(cross_distances(metric.map(test), references), seen, n_neighbors, n_classes)
    else:
        guesses = get_rule(rule, n_classes, n_neighbors).fit(references, seen).predict(metric.map(test))
    return float((guesses == codes[split.test]).mean())


def _ordinary(vectors: FloatArray) -> bool:
    """Whether squares of these numbers are far from over- and underflowing."""
    return bool(1e-100 < np.abs(vectors).max() < 1e100)


def _leave_one_out(vectors: FloatArray, codes: IntArray, groups: IntArray, k: int, n_classes: int) -> IntArray:
    """The vote of each vector's k nearest outside its own group."""
    guesses = np.empty(len(codes), dtype=np.int64)
    for rows, squared in distance_blocks(vectors):
        squared[groups[rows, None] == groups] = np.inf
        guesses[rows] = _vote(squared, codes, k, n_classes)
    return guesses


def _vote(squared: FloatArray, codes: IntArray, k: int, n_classes: int) -> IntArray:
    """The vote of the k nearest at a finite distance, for rows of squared distances from examples of these classes."""
    if np.isnan(squared).any():
        raise ValueError("squared distances of the examples overflow: rescale X")
    nearest = nearest_columns(squared, k)
    finite = np.isfinite(np.take_along_axis(squared, nearest, axis=1))
    return np.asarray(count_votes(codes[nearest], n_classes, finite).argmax(axis=1), dtype=np.int64)

"""Candidates of a search on two classes of matrices, for the tests of candidates and of scores."""

from __future__ import annotations

import numpy as np

from covmetric.constraints import AbsoluteBounds, NeighborPairs
from covmetric.learning.candidates import CandidatePath, PhiCandidates, score_candidates
from covmetric.learning.scoring import Scoring
from covmetric.learning.settings import LearningSettings
from covmetric.learning.splits import Split
from tests.data import classes_of_matrices

X, CODES = classes_of_matrices(36, n=3)
TRAIN, TEST = np.arange(24), np.arange(24, 36)
SPLIT = Split(TRAIN, TEST)
EVERYTHING = np.arange(36)
LEAVE_ONE_OUT = Split(EVERYTHING, EVERYTHING, EVERYTHING // 2, leave_one_out=True)
SETTINGS = LearningSettings(NeighborPairs(3), AbsoluteBounds(), tol=1e-8)


def candidates(phi="log", reg=0.0, settings=SETTINGS, lambdas=(1e-1, 1e-2)):
    """Return the candidates with W = I and with each lambda."""
    return PhiCandidates(phi, reg, (CandidatePath(settings, (np.inf,)), CandidatePath(settings, lambdas)))


def score(grid, split=SPLIT, rule="neighbors", k=3, seed=0, **arguments):
    """Return the scores of the candidates on a split, and the reason why some are missing."""
    rng = np.random.default_rng(seed)
    return score_candidates(grid, arguments.pop("X", X), CODES, split, [Scoring(rule, k)], rng, **arguments)

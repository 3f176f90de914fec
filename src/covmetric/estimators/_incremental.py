"""More labelled examples for a fitted learner, at the price of what they add."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._validation import FloatArray, IntArray, generator
from covmetric.constraints import AbsoluteBounds, Constraints, bounded, squared_distances
from covmetric.estimators._learning import Lesson
from covmetric.metric import LearnedMetric
from covmetric.solvers import SolveResult, solve


def extend(
    learner: Any, known: Lesson, embedded: FloatArray, X: npt.NDArray[Any], codes: IntArray
) -> tuple[Lesson, FloatArray]:
    """Teach a fitted CovMetric (or the one that a CovMetricCV chose) new examples X of classes `codes`.

    The embedding, the prior and the scale stay as they are. Pairs that touch a new example are added, the weights
    follow the number of pairs, and the solver starts from the multipliers of the old ones. Returns the new lesson and
    all the embedded examples.
    """
    fresh = learner.metric_.embedding.transform(X, n_jobs=learner.n_jobs)
    old = len(embedded)
    everything = np.concatenate([embedded, fresh])
    examples = everything if known.root is None else np.concatenate([known.examples, known.root @ fresh])
    wider = dataclasses.replace(known, examples=examples, codes=np.concatenate([known.codes, codes]))
    if known.constraints is None or known.result is None:
        return wider, everything
    recipe, constraints = known.recipe, _with_new_pairs(wider, known.constraints, known.result, old, learner)
    result = solve(
        wider.problem(constraints, known.lam),
        recipe.solver,
        recipe.tol,
        recipe.max_iter,
        generator(learner.random_state),
        # More pairs have less weight each, and multipliers that were near their limit would be beyond it.
        len(known.constraints.pairs)
        / len(constraints.pairs)
        * known.result.carried(added=len(constraints.pairs) - len(known.constraints.pairs)),
    )
    wider = dataclasses.replace(wider, constraints=constraints, result=result)
    learner._take(LearnedMetric(learner.metric_.embedding, wider.metric()), wider)
    return wider, everything


def _with_new_pairs(wider: Lesson, before: Constraints, result: SolveResult, old: int, learner: Any) -> Constraints:
    """The constraints, and those of pairs with an example from `old` on."""
    selection, examples = wider.recipe.selection, wider.examples
    assert selection is not None
    seen = np.linalg.cholesky(result.W).T @ examples if selection.rounds > 1 else examples
    chosen = selection.select(seen.reshape(len(seen), -1), wider.codes, generator(learner.random_state), old)
    apart = squared_distances(examples, chosen.pairs) > 0.0
    if not apart.any():
        return before
    added = bounded(examples, chosen, AbsoluteBounds(*before.limits), before.scale)
    return dataclasses.replace(
        before,
        pairs=np.concatenate([before.pairs, added.pairs]),
        similar=np.concatenate([before.similar, added.similar]),
        bounds=np.concatenate([before.bounds, added.bounds]),
        weights=np.full(len(before.pairs) + len(added.pairs), 1.0 / (len(before.pairs) + len(added.pairs))),
    )

"""More labelled examples for a solved problem, at the cost of what they add."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, generator
from covmetric.constraints import AbsoluteBounds, Constraints, bounded, squared_distances
from covmetric.learning.fit import FittedProblem
from covmetric.solvers import SolveResult, solve


def extend(fitted: FittedProblem, embedded: FloatArray, codes: IntArray, random_state: Any) -> FittedProblem:
    """Add examples to a solved problem, and solve it again from the old multipliers.

    The embedding, the prior and the scale stay as they are. Pairs that touch a new example are added, and the weights
    follow the number of pairs.

    Parameters
    ----------
    fitted : FittedProblem
        The problem so far.
    embedded : array of shape (l, n, m)
        The new examples, embedded.
    codes : array of int, shape (l,)
        Their classes.
    random_state : int, RandomState, Generator or None
        For random pairs and orders.

    Returns
    -------
    FittedProblem
        Where nothing was learned before (lambda = inf), only the examples grow.
    """
    examples = embedded if fitted.root is None else np.asarray(fitted.root @ embedded)
    wider = dataclasses.replace(
        fitted,
        examples=np.concatenate([fitted.examples, examples]),
        codes=np.concatenate([fitted.codes, codes]),
    )
    if fitted.constraints is None or fitted.result is None:
        return wider
    settings, before = fitted.settings, fitted.constraints
    constraints = _with_new_pairs(wider, before, fitted.result, len(fitted.codes), random_state)
    n_before, n_after = len(before.pairs), len(constraints.pairs)
    result = solve(
        wider.problem(constraints, fitted.lam),
        settings.solver,
        settings.tol,
        settings.max_iter,
        generator(random_state),
        # With more pairs each has less weight, and multipliers that were near their limit would be beyond it.
        n_before / n_after * fitted.result.warm_start(added=n_after - n_before),
    )
    return dataclasses.replace(wider, constraints=constraints, result=result)


def _with_new_pairs(
    wider: FittedProblem, before: Constraints, result: SolveResult, old: int, random_state: Any
) -> Constraints:
    """The constraints, and those of pairs with an example from index `old` on."""
    selection, examples = wider.settings.selection, wider.examples
    assert selection is not None
    seen = np.linalg.cholesky(result.W).T @ examples if selection.rounds > 1 else examples
    chosen = selection.select(seen.reshape(len(seen), -1), wider.codes, generator(random_state), old)
    if not (squared_distances(examples, chosen.pairs) > 0.0).any():
        return before
    added = bounded(examples, chosen, AbsoluteBounds(*before.limits), before.scale)
    count = len(before.pairs) + len(added.pairs)
    return dataclasses.replace(
        before,
        pairs=np.concatenate([before.pairs, added.pairs]),
        similar=np.concatenate([before.similar, added.similar]),
        bounds=np.concatenate([before.bounds, added.bounds]),
        weights=np.full(count, 1.0 / count),
    )

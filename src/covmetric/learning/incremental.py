"""Incremental learning: more labelled examples for a problem that has been solved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, generator
from covmetric.constraints import AbsoluteBounds, Constraints, bounded, select_pairs, squared_distances
from covmetric.learning.fit import FittedProblem
from covmetric.learning.prior import apply_root
from covmetric.solvers import SolveResult, solve


def extend(
    fitted: FittedProblem, embedded: FloatArray, codes: IntArray, random_state: Any, groups: IntArray | None = None
) -> FittedProblem:
    """Add examples to a solved problem, and solve it again from the old multipliers.

    The embedding, the prior, the scale and the bounds do not change. Pairs with a new example are added, and all pairs
    have the same weight. If `settings.selection.rounds` is larger than 1, the new pairs are chosen under the learned
    metric.

    Parameters
    ----------
    fitted : FittedProblem
        The problem on the old examples.
    embedded : array of shape (l, n, m)
        The new examples, embedded.
    codes : array of int of shape (l,)
        The classes of the new examples.
    random_state : int, RandomState, Generator or None
        The source of random pairs and random orders.
    groups : array of int of shape (l_old + l,) or None, default=None
        The group of each old and each new example, for the selection of the new pairs. None means that the groups are
        unknown.

    Returns
    -------
    FittedProblem
        The problem on all examples, solved. If nothing was learned before (lambda = inf), only examples are added.
    """
    extended = replace(
        fitted,
        examples=np.concatenate([fitted.examples, apply_root(fitted.root, embedded)]),
        codes=np.concatenate([fitted.codes, codes]),
        groups=groups,
    )
    if fitted.constraints is None or fitted.result is None:
        return extended
    settings = fitted.settings
    constraints = _add_pairs(extended, fitted.constraints, fitted.result, len(fitted.codes), random_state)
    n_before, n_after = len(fitted.constraints.pairs), len(constraints.pairs)
    result = solve(
        extended.problem(constraints, fitted.lam),
        settings.solver,
        settings.tol,
        settings.max_iter,
        generator(random_state),
        # The weight of each pair falls by this factor. Without it, multipliers near their upper limit would exceed it.
        n_before / n_after * fitted.result.warm_start(added=n_after - n_before),
    )
    return replace(extended, constraints=constraints, result=result)


def _add_pairs(
    extended: FittedProblem, before: Constraints, result: SolveResult, n_old: int, random_state: Any
) -> Constraints:
    """Add pairs with at least one of the examples from index `n_old` on."""
    selection, examples = extended.settings.selection, extended.examples
    assert selection is not None
    mapped = result.transform(examples) if selection.rounds > 1 else examples
    vectors = mapped.reshape(len(mapped), -1)
    chosen = select_pairs(selection, vectors, extended.codes, generator(random_state), extended.groups, n_old)
    if not (squared_distances(examples, chosen.pairs) > 0.0).any():
        return before
    added = bounded(examples, chosen, AbsoluteBounds(*before.limits), before.scale)
    count = len(before.pairs) + len(added.pairs)
    return replace(
        before,
        pairs=np.concatenate([before.pairs, added.pairs]),
        similar=np.concatenate([before.similar, added.similar]),
        bounds=np.concatenate([before.bounds, added.bounds]),
        weights=np.full(count, 1.0 / count),
    )

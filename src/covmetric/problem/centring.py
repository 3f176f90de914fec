"""The examples that span the differences of a problem, minus references: one example per component of its pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.problem.metric_problem import MetricProblem


@dataclass(frozen=True)
class Centring:
    """The examples that span the differences, each with the example that is subtracted from it.

    Pairs only compare examples of one component of their graph. An example per component is the reference; it need not
    be subtracted from itself, nor from examples of other components.

    Attributes
    ----------
    rows : array of shape (l, m, n)
        All examples, each transposed.
    examples : array of int of shape (e,)
        The examples that occur in pairs, without references and duplicates.
    references : array of int of shape (e,)
        The reference of each of these.
    original : array of int of shape (l,)
        For each of all examples, the first of those that are equal to it.
    """

    rows: FloatArray
    examples: IntArray
    references: IntArray
    original: IntArray

    @property
    def n_columns(self) -> int:
        """The number of columns of the examples that span the differences, e m."""
        return int(self.rows.shape[1] * len(self.examples))

    def centred(self, part: slice | IntArray = slice(None)) -> FloatArray:
        """Return the rows of examples minus their references.

        Parameters
        ----------
        part : slice or array of int, default=slice(None)
            A part of `examples`.

        Returns
        -------
        array of shape (q m, n)
            For q examples.
        """
        difference = self.rows[self.examples[part]]
        difference -= self.rows[self.references[part]]
        return difference.reshape(-1, self.rows.shape[2])


def centre(problem: MetricProblem) -> Centring | None:
    """Choose a reference for each component of the graph of the pairs.

    Parameters
    ----------
    problem : MetricProblem
        The problem.

    Returns
    -------
    Centring or None
        None if squared distances underflow, or if all differences are zero.
    """
    rows, pairs = problem.sums.rows, problem.pairs
    count = len(rows)
    original = np.arange(count)
    zero = problem.squared_norms == 0.0
    if zero.any():
        if not all(np.array_equal(rows[i], rows[j]) for i, j in pairs[zero]):
            return None
        original = _first_of_component(pairs[zero], count)
    linked = original[pairs]
    component = _first_of_component(linked, count)
    # A reference with many pairs leaves their differences without a rounding error.
    degree = np.bincount(linked.ravel(), minlength=count)
    reference = np.arange(count)
    by_degree = np.argsort(degree, kind="stable")
    reference[component[by_degree]] = by_degree  # the last one, with the highest degree, remains
    reference = reference[component]
    examples = np.flatnonzero(reference != np.arange(count))
    if len(examples) == 0:
        return None
    return Centring(rows, examples, reference[examples], original)


def _first_of_component(edges: IntArray, count: int) -> IntArray:
    """Return the first vertex of the component of each vertex of a graph."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(count, count))
    labels = connected_components(graph, directed=False)[1]
    first = np.unique(labels, return_index=True)[1]
    return np.asarray(first[labels], dtype=np.int64)

"""Which pairs a step sums up to a matrix."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import MetricProblem
from covmetric.problem import BlockProblem
from covmetric.solvers.blocks.choice import matrix_spacing


def split(n, m, K, keeps_triangles):
    """Return a problem in blocks with K pairs of 400 examples."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 400, K)
    pairs = np.column_stack((first, (first + rng.integers(1, 400, K)) % 400))
    problem = MetricProblem(rng.standard_normal((400, n, m)), pairs, np.ones(K), np.ones(K), np.ones(K), "is")
    return BlockProblem.split(problem, memory=2.0**30 if keeps_triangles else 0.0)


@pytest.mark.parametrize(
    ("n", "m", "K", "keeps_triangles", "expected"),
    [
        (9, 9, 1_000_000, True, 1_000_000 // (64 * 45)),  # products with kept triangles are cheap
        (4, 4, 1_000_000, True, 1_000_000 // (64 * 10)),
        (2, 2, 6_000_000, True, 65_217 // 16),  # each block has some pairs of the sample
        (16, 1, 300_000, False, 0),  # there is no sample without triangles
        (9, 9, 1_000_000, False, 1),  # without them, a product takes half as long as the matrix
        (9, 9, 5_000, True, 0),  # too few pairs for a sample
        (22, 22, 100_000, True, 0),  # a sample takes longer than it saves
        (100, 1, 100_000, False, 0),  # here, too
    ],
)
def test_cheapest_way(n, m, K, keeps_triangles, expected):
    assert matrix_spacing(split(n, m, K, keeps_triangles), 2.0**30) == expected


def test_matrices_that_do_not_fit():
    problem = split(9, 9, 300_000, True)
    bytes_of_a_pass = 8 * 45**2 * problem.source.n_blocks
    assert matrix_spacing(problem, bytes_of_a_pass) > 1
    assert matrix_spacing(problem, bytes_of_a_pass - 1) == 0

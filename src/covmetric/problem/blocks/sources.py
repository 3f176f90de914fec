"""Where the pairs of a block come from: from arrays, or from a recipe that makes them again each time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from covmetric._utils.tuning import (
    BLOCK_BYTES,
    BLOCK_PAIRS,
    BLOCKS_MULTIPLE,
    EXAMPLE_ENTRY,
    MAX_RANGES,
    VECTOR_PRODUCT_UNCACHED,
)
from covmetric.constraints import LabelledPairs, PairRecipe
from covmetric.problem.blocks.keys import fingerprint
from covmetric.problem.blocks.tree import subtrees, tree_depth
from covmetric.problem.coordinates import CoordinateError
from covmetric.problem.examples import Examples
from covmetric.problem.metric_problem import MetricProblem
from covmetric.problem.sums import PairSums
from covmetric.slacks import Slack


def block_pairs(n: int, m: int) -> int:
    """Return the number of pairs of a block. It depends on the size of the examples only, not on what runs the blocks.

    Parameters
    ----------
    n, m : int
        The numbers of rows and columns of an embedded example.

    Returns
    -------
    int

    Examples
    --------
    >>> block_pairs(9, 9), block_pairs(1000, 1000)
    (51781, 1024)
    """
    low, high = BLOCK_PAIRS
    return min(max(BLOCK_BYTES // (8 * n * m), low), high)


def _even_block_pairs(n_pairs: int, size: int) -> int:
    """Return a size of blocks that splits the pairs evenly: at most `size`, and not below the smallest size."""
    count = -(-n_pairs // size)
    even = -(-n_pairs // (count + -count % BLOCKS_MULTIPLE))
    return even if even >= BLOCK_PAIRS[0] else size


def n_blocks_of(problem: MetricProblem) -> int:
    """Return the number of blocks that the pairs of a problem would be split into.

    Parameters
    ----------
    problem : MetricProblem
        The problem.

    Returns
    -------
    int
    """
    return -(-problem.n_pairs // block_pairs(problem.n, problem.m))


def pass_work(source: PairSource) -> float:
    """Return the operations per pair of a sum over pairs, without triangles.

    Parameters
    ----------
    source : PairSource
        The pairs.

    Returns
    -------
    float
    """
    n, m = source.n, source.m
    per_block = 8.0 * n * n * m * len(source.examples.rows) / min(source.n_pairs, source.block_pairs)
    return min(8.0 * n * n * m, EXAMPLE_ENTRY * n * m + per_block)


class PairBlock:
    """A block: a problem with consecutive pairs of a larger one, and the values that were computed for them last.

    Parameters
    ----------
    index : int
        The number of the block.
    start : int
        The number of its first pair.
    problem : MetricProblem
        The problem with the pairs of the block.
    """

    def __init__(self, index: int, start: int, problem: MetricProblem) -> None:
        self.index, self.start, self.problem = index, start, problem
        self._cached: dict[str, tuple[bytes, Any]] = {}

    def cached(self, name: str, key: bytes, compute: Callable[[], Any]) -> Any:
        """Return a value that depends on `key` only; it is computed if the last value of that name had another key.

        Parameters
        ----------
        name : str
            What the value is.
        key : bytes
            The fingerprint of everything that it depends on.
        compute : callable
            Called without arguments; returns the value.

        Returns
        -------
        Any
        """
        last = self._cached.get(name)
        if last is not None and last[0] == key:
            return last[1]
        value = compute()
        self._cached[name] = key, value
        return value


class PairSource(ABC):
    """The pairs of a problem in blocks. What a block computes depends on its source only, not on who computes it.

    Parameters
    ----------
    examples : Examples
        The embedded examples.
    n_pairs : int
        The number of pairs, K.
    slack : Slack
        The divergence d.
    coordinates : CoordinateError or None, default=None
        If the examples are coordinates in a basis, how far they are from the examples themselves.
    """

    def __init__(
        self, examples: Examples, n_pairs: int, slack: Slack, coordinates: CoordinateError | None = None
    ) -> None:
        self.examples, self.n_pairs, self.slack, self.coordinates = examples, n_pairs, slack, coordinates
        self.block_pairs = block_pairs(self.n, self.m)
        self.keeps_triangles = False
        self.keeps_blocks = False

    @property
    def n(self) -> int:
        """The number of rows and columns of W."""
        return int(self.examples.rows.shape[2])

    @property
    def m(self) -> int:
        """The number of columns of an embedded example."""
        return int(self.examples.rows.shape[1])

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return -(-self.n_pairs // self.block_pairs)

    def bounds_of(self, index: int) -> tuple[int, int]:
        """Return the numbers of the first pair of a block, and of the first pair after it.

        Parameters
        ----------
        index : int
            The number of the block.

        Returns
        -------
        start : int
            The first pair.
        stop : int
            The first pair after the block.
        """
        return index * self.block_pairs, min((index + 1) * self.block_pairs, self.n_pairs)

    @property
    def depth(self) -> int:
        """The number of additions, at most, that the value of a block goes through until it is in the sum of all."""
        return tree_depth(self.n_blocks)

    def ranges(self, most: int | None = None) -> list[tuple[int, int]]:
        """Return ranges of consecutive blocks, the subtrees of the binary tree in which blocks are added up.

        Parameters
        ----------
        most : int or None, default=None
            The largest number of ranges. None means `tuning.MAX_RANGES`, which is never exceeded.

        Returns
        -------
        list of (first, last)
            The first block of each range, and the first block after it.
        """
        return subtrees(self.n_blocks, MAX_RANGES if most is None else min(most, MAX_RANGES))

    @abstractmethod
    def block(self, index: int) -> PairBlock:
        """Return a block.

        Parameters
        ----------
        index : int
            Its number.

        Returns
        -------
        PairBlock
        """

    @abstractmethod
    def part(self, first: int, last: int) -> PairSource:
        """Return a source that has at least the blocks of a range, to be sent to a worker.

        Parameters
        ----------
        first, last : int
            The first block, and the first block after the range.

        Returns
        -------
        PairSource
            It may lack the examples, which are sent separately; see `with_examples`.
        """

    @abstractmethod
    def fingerprint(self) -> bytes:
        """Return a short key of the whole problem: examples, pairs, bounds, weights and slack.

        Returns
        -------
        bytes
        """

    def with_examples(self, examples: Examples) -> PairSource:
        """Give the examples to a source that was sent without them.

        Parameters
        ----------
        examples : Examples
            The examples.

        Returns
        -------
        PairSource
            The same object.
        """
        self.examples = examples
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("examples", "_blocks")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    @abstractmethod
    def release(self) -> None:
        """Free what was kept for later passes."""


class ArrayPairs(PairSource):
    """Pairs that are in memory. Their blocks are views, and keep what they have computed.

    Parameters
    ----------
    problem : MetricProblem
        The whole problem.
    memory : float, default=2**30
        The bytes that the lower triangles of all A_k may take. They are kept if they fit and if they save time.
    """

    def __init__(self, problem: MetricProblem, memory: float = 2**30) -> None:
        sums = problem.sums
        super().__init__(sums.examples, problem.n_pairs, problem.slack, sums.coordinates)
        self.block_pairs = _even_block_pairs(problem.n_pairs, self.block_pairs)
        self.keeps_blocks = True
        size = sums.half.size
        fits = problem.m > 1 and 8.0 * problem.n_pairs * size <= memory
        self.keeps_triangles = fits and VECTOR_PRODUCT_UNCACHED * size < pass_work(self)
        self._pairs = problem.pairs
        self._similar, self._bounds, self._weights = problem.similar, problem.bounds, problem.weights
        self._norms = problem.squared_norms
        self._offset = 0
        self._blocks: dict[int, PairBlock] = {}

    def block(self, index: int) -> PairBlock:
        kept = self._blocks.get(index)
        if kept is None:
            start, stop = self.bounds_of(index)
            part = slice(start - self._offset, stop - self._offset)
            sums = PairSums(
                self.examples.rows, self._pairs[part], self.coordinates, 0, self.examples, self._norms[part]
            )
            if self.keeps_triangles:
                sums.lower_triangles(float("inf"))
            values = self._similar[part], self._bounds[part], self._weights[part]
            kept = PairBlock(index, start, MetricProblem.from_checked(sums, *values, self.slack))
            self._blocks[index] = kept
        return kept

    def fingerprint(self) -> bytes:
        arrays = self._pairs, self._similar, self._bounds, self._weights
        return fingerprint(self.slack.name, self.examples.rows, *arrays)

    def part(self, first: int, last: int) -> ArrayPairs:
        source = ArrayPairs.__new__(ArrayPairs)
        vars(source).update(vars(self))
        start, stop = self.bounds_of(first)[0], self.bounds_of(last - 1)[1]
        source._offset, source._blocks = start, {}
        source._pairs, source._similar = self._pairs[start:stop], self._similar[start:stop]
        source._bounds, source._weights = self._bounds[start:stop], self._weights[start:stop]
        source._norms = self._norms[start:stop]
        return source

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._blocks = {}
        # The order of sums depends on the alignment, and arrays that were sent to a worker need not be aligned.
        self._pairs, self._similar = np.require(self._pairs, None, "A"), np.require(self._similar, None, "A")
        self._bounds, self._weights = np.require(self._bounds, None, "A"), np.require(self._weights, None, "A")
        self._norms = np.require(self._norms, None, "A")

    def release(self) -> None:
        self._blocks.clear()


class RecipePairs(PairSource):
    """Pairs from a recipe. A block is made anew for every pass, so that memory does not grow with the number of pairs.

    Parameters
    ----------
    examples : Examples
        The embedded examples.
    recipe : PairRecipe
        The recipe.
    bounds : tuple of float
        The bounds on the squared distances of similar and of dissimilar pairs.
    weight : float
        The weight of each pair.
    slack : Slack
        The divergence d.
    """

    def __init__(
        self, examples: Examples, recipe: PairRecipe, bounds: tuple[float, float], weight: float, slack: Slack
    ) -> None:
        super().__init__(examples, recipe.n_pairs, slack)
        self.recipe, self.bounds, self.weight = recipe, bounds, weight

    def block(self, index: int) -> PairBlock:
        start, stop = self.bounds_of(index)
        made = self.recipe.make(index, stop - start)
        self._check(made, index, stop - start)
        similar = made.similar
        bounds = np.where(similar > 0.0, *self.bounds)
        weights = np.full(len(similar), self.weight)
        sums = PairSums(self.examples.rows, made.pairs, kept_bytes=0, examples=self.examples)
        return PairBlock(index, start, MetricProblem.from_checked(sums, similar, bounds, weights, self.slack))

    def _check(self, made: LabelledPairs, index: int, count: int) -> None:
        """Refuse what a faulty recipe makes, because compiled code trusts the indices."""
        pairs, similar = made.pairs, made.similar
        if pairs.shape != (count, 2) or pairs.dtype != np.int64 or similar.shape != (count,):
            raise ValueError(
                f"recipe.make({index}, {count}) must return int64 pairs of shape ({count}, 2) and as many labels; got "
                f"{pairs.dtype} pairs of shape {pairs.shape} and labels of shape {similar.shape}"
            )
        if pairs.min() < 0 or pairs.max() >= len(self.examples.rows):
            raise ValueError(
                f"recipe.make({index}, {count}) returned indices from {pairs.min()} to {pairs.max()}; they must be in "
                f"0..{len(self.examples.rows) - 1}"
            )
        if not (np.abs(similar) == 1.0).all():
            raise ValueError(f"recipe.make({index}, {count}) returned labels other than 1 and -1")

    def fingerprint(self) -> bytes:
        values: list[Any] = [self.slack.name, self.examples.rows, *self.bounds, self.weight, float(self.n_pairs)]
        for index in {0, self.n_blocks - 1}:  # a recipe is known by its first and its last block
            start, stop = self.bounds_of(index)
            made = self.recipe.make(index, stop - start)
            values += [made.pairs, made.similar]
        return fingerprint(*values)

    def part(self, first: int, last: int) -> RecipePairs:
        return self

    def release(self) -> None:
        """Nothing is kept."""

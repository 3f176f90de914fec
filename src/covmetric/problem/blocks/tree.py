"""Sums in a binary tree of blocks. A subtree has the same value wherever it is summed up, and whoever adds the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

_NOTHING = object()


def folded(combine: Callable[[Any, Any], Any], values: Iterable[Any], count: int) -> Any:
    """Combine values in a balanced binary tree: the first half of them, the second half, and then both results.

    The values are taken one by one, so that no more than one per level of the tree are held.

    Parameters
    ----------
    combine : callable
        Returns the value of two parts together.
    values : iterable
        The values, in their order.
    count : int
        Their number, at least 1.

    Returns
    -------
    Any
        The value of all parts.

    Raises
    ------
    ValueError
        If there are more or fewer values than `count`.

    Examples
    --------
    >>> folded("({}+{})".format, "abcde", 5)
    '((a+b)+(c+(d+e)))'
    """
    iterator = iter(values)
    total = _folded(combine, iterator, count)
    if next(iterator, _NOTHING) is not _NOTHING:
        raise ValueError(f"there are more than {count} values")
    return total


def _folded(combine: Callable[[Any, Any], Any], values: Iterator[Any], count: int) -> Any:
    if count == 1:
        value = next(values, _NOTHING)
        if value is _NOTHING:
            raise ValueError("there are fewer values than were announced")
        return value
    first = _folded(combine, values, count // 2)
    return combine(first, _folded(combine, values, count - count // 2))


def subtrees(count: int, most: int) -> list[tuple[int, int]]:
    """Cut the tree of `folded` into subtrees of nearly equal sizes. `folded` combines their values as in the whole.

    Parameters
    ----------
    count : int
        The number of values, at least 1.
    most : int
        The largest number of subtrees, at least 1.

    Returns
    -------
    list of (first, last)
        The first value of each subtree, and the first value after it. There is a subtree for each value if there are
        at most `most` of them. Otherwise, the number of subtrees is the largest power of two up to `most`.

    Examples
    --------
    >>> subtrees(5, 4)
    [(0, 1), (1, 2), (2, 3), (3, 5)]
    """
    if count <= most:
        return [(k, k + 1) for k in range(count)]
    cut = [(0, count)]
    for _ in range(most.bit_length() - 1):
        middles = [(first + last) // 2 for first, last in cut]
        cut = [
            half
            for (first, last), middle in zip(cut, middles, strict=True)
            for half in ((first, middle), (middle, last))
        ]
    return cut


def tree_depth(count: int) -> int:
    """Return how often, at most, a value is combined with others by `folded`.

    Parameters
    ----------
    count : int
        The number of values, at least 1.

    Returns
    -------
    int
        The logarithm to base 2, rounded up.

    Examples
    --------
    >>> [tree_depth(count) for count in (1, 2, 5, 8, 9)]
    [0, 1, 3, 3, 4]
    """
    return (count - 1).bit_length()

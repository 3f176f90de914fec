"""The examples of pairs that are given as arrays, or as indices for a preprocessor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import IntArray, as_numbers, first_index


def examples_of_pairs(pairs: Any, preprocessor: Any = None) -> tuple[npt.NDArray[Any], IntArray]:
    """Return the examples of all pairs, and the pairs as indices into the examples.

    Parameters
    ----------
    pairs : array of shape (K, 2, n, n), (K, 2, d) or (K, 2)
        Pairs of matrices, of vectors, or of indices for the preprocessor.
    preprocessor : array of shape (l, n, n) or (l, d), callable or None, default=None
        The examples that indices refer to, or a function from an array of distinct indices to their examples.

    Returns
    -------
    examples : array of shape (l, n, n) or (l, d)
        The examples. If the pairs are indices, each example occurs once.
    index : array of int of shape (K, 2)
        The pairs.

    Raises
    ------
    ValueError
        If the pairs have the wrong shape, an entry that is not finite or an index out of range, or if the preprocessor
        is missing or does not return one example per index.
    """
    array = np.asarray(pairs)
    if array.ndim == 2 and array.shape[1] == 2:
        if preprocessor is None:
            raise ValueError(
                f"pairs of shape {array.shape} are indices, which need a preprocessor; without one, pairs must have "
                "shape (K, 2, n, n), or (K, 2, d) for vectors"
            )
        return _examples_of_indices(array, preprocessor)
    if array.ndim not in (3, 4) or array.shape[1] != 2 or array.shape[0] == 0:
        indices = "" if preprocessor is None else ", or (K, 2) for indices into preprocessor"
        raise ValueError(f"pairs must have shape (K, 2, n, n), or (K, 2, d) for vectors{indices}; got {array.shape}")
    if array.ndim == 4 and array.shape[2] != array.shape[3]:
        raise ValueError(
            f"pairs must have shape (K, 2, n, n), or (K, 2, d) for vectors; got {array.shape}. "
            "If these are series of shape (K, 2, channels, times), compute the covariance matrices of "
            "all series first, with SeriesCovariances from covmetric.descriptors"
        )
    as_numbers("pairs", array)  # before the reshape, so that a message contains the index into the pairs
    return array.reshape(-1, *array.shape[2:]), np.arange(2 * len(array)).reshape(-1, 2)


def _examples_of_indices(indices: npt.NDArray[Any], preprocessor: Any) -> tuple[npt.NDArray[Any], IntArray]:
    """Return the distinct examples of pairs of indices, and the pairs as indices into these examples."""
    if len(indices) == 0:
        raise ValueError("pairs is empty: at least one pair is needed")
    distinct, index = np.unique(indices, return_inverse=True)
    index = index.reshape(indices.shape)
    if callable(preprocessor):
        examples = np.asarray(preprocessor(distinct))
        if examples.ndim not in (2, 3) or len(examples) != len(distinct):
            raise ValueError(
                f"preprocessor must return one example for each of the {len(distinct)} indices that it is given; it "
                f"returned an array of shape {examples.shape}"
            )
        return examples, index
    examples = np.asarray(preprocessor)
    if not np.issubdtype(distinct.dtype, np.integer):
        raise ValueError(f"pairs must be integers (indices into preprocessor), got dtype {indices.dtype}")
    outside = (indices < 0) | (indices >= len(examples))
    if outside.any():
        where = first_index(outside)
        raise ValueError(f"pairs{where} is {indices[tuple(where)]}: it must be in 0..{len(examples) - 1}")
    if examples.ndim == 3 and examples.shape[1] != examples.shape[2]:
        raise ValueError(
            "preprocessor must hold square matrices, shape (l, n, n), or vectors, shape (l, d); got "
            f"{examples.shape}. If these are series of shape (l, channels, times), compute their covariance matrices: "
            "preprocessor=SeriesCovariances().fit_transform(series), from covmetric.descriptors"
        )
    return examples[distinct], index


@contextmanager
def errors_name_the_pairs(pairs: Any) -> Iterator[None]:
    """Let errors about the examples of pairs name an argument of the user.

    Parameters
    ----------
    pairs : array of shape (K, 2, n, n), (K, 2, d) or (K, 2)
        The pairs that `examples_of_pairs` has been given.

    Yields
    ------
    None
        Nothing. An error about ``X[5]``, an example that `examples_of_pairs` returned, becomes one about
        ``preprocessor[index]`` or ``pairs[2, 1]``.

    Raises
    ------
    ValueError
        The error, with the name of the argument.
    """
    try:
        yield
    except ValueError as error:
        array = np.asarray(pairs)

        def name(found: re.Match[str]) -> str:
            number = int(found[1])
            if array.ndim > 2:
                return f"pairs[{number // 2}, {number % 2}"
            return f"preprocessor[{np.unique(array)[number]}"

        message = re.sub(r"^X\[(\d+)", name, str(error))
        if message == str(error):
            raise
        raise ValueError(message) from error

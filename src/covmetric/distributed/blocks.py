"""What all computations by block share: how a block runs on a worker, and how its errors are reported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.threads import one_thread

_ALIGNMENT = 16  # bytes, as of the arrays that NumPy allocates


class BlockError(ValueError):
    """An error in one block of a lazy computation. The message names the block and, if there is one, the file.

    Examples
    --------
    >>> with in_block(7):
    ...     raise ValueError("images[2] ('views/cup.png'): the file is empty")
    Traceback (most recent call last):
    covmetric.distributed.blocks.BlockError: block 7: images[2] ('views/cup.png'): the file is empty
    """


@contextmanager
def in_block(number: int) -> Iterator[None]:
    """Run the work of a block: one thread of BLAS and OpenMP, and errors that name the block.

    Parameters
    ----------
    number : int
        The number of the block.

    Yields
    ------
    None
        Control returns to the `with` block.

    Raises
    ------
    BlockError
        If the work raises ValueError or OSError.
    """
    with one_thread():
        try:
            yield
        except (ValueError, OSError) as error:
            # OSError has its type in the message, because "[Errno 2]" alone says little.
            reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            raise BlockError(f"block {number}: {reason}") from error


def aligned(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array at an address such as NumPy allocates.

    Dask's messages may put arrays at odd addresses, where NumPy sums in another order: the last bits would depend on
    the worker.

    Parameters
    ----------
    array : array
        The array.

    Returns
    -------
    array
        The array itself or a copy.
    """
    return array if array.ctypes.data % _ALIGNMENT == 0 else array.copy(order="K")


def import_dask(module: str) -> Any:
    """Import a module of Dask.

    Parameters
    ----------
    module : str
        The name of the module.

    Returns
    -------
    module
        The module.

    Raises
    ------
    ImportError
        If Dask is not installed; the message says how to install it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f'{module} is not installed: pip install "dask[array]" distributed') from error


def is_dask_array(value: Any) -> bool:
    """Return whether a value is an array of Dask.

    Parameters
    ----------
    value : object
        The value.

    Returns
    -------
    bool
        True for arrays of Dask.
    """
    return isinstance(value, import_dask("dask.array").Array)


def one_block_per_row_range(array: Any) -> Any:
    """Return an array of Dask in blocks that are cut along the first axis only.

    Parameters
    ----------
    array : dask.array.Array
        The array.

    Returns
    -------
    dask.array.Array
        The array, with the blocks along all other axes joined.
    """
    return array.rechunk(dict.fromkeys(range(1, array.ndim), -1)) if max(array.numblocks[1:], default=1) > 1 else array


def empty_rows(tail: tuple[Any, ...]) -> npt.NDArray[np.float64]:
    """Return an array without rows.

    Parameters
    ----------
    tail : tuple of int
        The shape of a row.

    Returns
    -------
    array of shape (0, *tail)
        The empty array.
    """
    return np.empty((0, *tail))

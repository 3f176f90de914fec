"""Checks of what users hand in: every message names the argument, the offending index and value, and the remedy."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def is_number(value: Any) -> bool:
    """Whether `value` is a finite real number, and not a truth value."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return False
    return bool(np.isfinite(float(value)))


def is_count(value: Any) -> bool:
    """Whether `value` is an integer >= 0, and not a truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 0


def check_tolerance(tol: Any) -> None:
    """A tolerance is a number >= 0."""
    if not (is_number(tol) and tol >= 0):
        raise ValueError(f"tol must be a number >= 0, got {tol!r}")


def generator(random_state: Any) -> np.random.Generator:
    """A random generator from what users call a random state."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state must be None, an integer >= 0, a Generator or a RandomState, got {random_state!r}: {error}"
        ) from None


def as_floats(name: str, value: Any) -> FloatArray:
    """A C-contiguous float64 copy of `value`, with finite entries."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of numbers, all of one shape: {error}") from None
    if np.iscomplexobj(array):
        raise ValueError(f"{name} must be real, got {array.dtype}")
    if value is None or array.dtype.kind not in "iufO":
        raise ValueError(f"{name} must be an array of numbers, got {'None' if value is None else array.dtype}")
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{name} has masked entries; fill them or leave them out")
    try:
        floats = np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, got dtype {array.dtype}") from None
    if not np.isfinite(floats).all():
        where = first(~np.isfinite(floats))
        raise ValueError(f"{name}{where or ''} is {floats[tuple(where)]}: NaN and infinity are not allowed")
    return floats


def first(mask: npt.NDArray[np.bool_]) -> list[int]:
    """The index of the first true entry, as a list, which prints like an index."""
    return [int(i) for i in np.argwhere(mask)[0]]


def positive_vector(name: str, value: Any, size: int) -> FloatArray:
    """`value`, a positive scalar or a vector of `size` positive entries, as a vector."""
    array = as_floats(name, value)
    if array.ndim == 0:
        if not array > 0.0:
            raise ValueError(f"{name} must be positive, got {float(array)}")
        return np.full(size, float(array))
    if array.shape != (size,):
        raise ValueError(f"{name} must be a scalar or have one entry per pair, shape ({size},); got {array.shape}")
    if not (array > 0.0).all():
        where = first(~(array > 0.0))
        raise ValueError(f"{name}{where} is {array[tuple(where)]}: every entry must be positive")
    return array


def signs(name: str, value: Any, size: int) -> FloatArray:
    """`value`, a vector of `size` entries +1 or -1, as floats."""
    array = as_floats(name, value)
    if array.shape != (size,):
        raise ValueError(f"{name} must have one entry per pair, shape ({size},); got {array.shape}")
    wrong = np.abs(array) != 1.0
    if wrong.any():
        where = first(wrong)
        raise ValueError(f"{name}{where} is {array[tuple(where)]}: every entry must be +1 (near) or -1 (far)")
    return array


def symmetric(name: str, value: FloatArray, rtol: float = 1e-8) -> FloatArray:
    """Square matrices (..., n, n), symmetric relative to their own largest entry, made exactly so."""
    if value.ndim < 2 or value.shape[-1] != value.shape[-2] or value.shape[-1] == 0:
        raise ValueError(f"{name} must hold square matrices, shape (..., n, n) with n >= 1; got {value.shape}")
    transposed = np.swapaxes(value, -1, -2)
    difference = np.abs(value - transposed).max(axis=(-2, -1))
    bad = difference > rtol * np.abs(value).max(axis=(-2, -1))
    if bad.any():
        where = first(bad) if value.ndim > 2 else ""
        worst = float(np.max(difference[bad]))
        raise ValueError(f"{name}{where} is not symmetric: it differs from its transpose by up to {worst:.3g}")
    return 0.5 * (value + transposed)


def read_only(array: npt.NDArray[Any]) -> Any:
    """A view that cannot be written through; the array itself keeps its flags."""
    view = array.view()
    view.flags.writeable = False
    return view

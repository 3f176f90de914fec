"""Checks of what users hand in: every message names the argument, the offending index and value, and the remedy."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
#: Matrices of float64, or of complex128 where they are Hermitian.
Matrices = npt.NDArray[Any]


def is_number(value: Any) -> bool:
    """Whether `value` is a finite real number, and not a truth value."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return False
    return bool(np.isfinite(float(value)))


def is_count(value: Any) -> bool:
    """Whether `value` is an integer >= 0, and not a truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 0


def check_counts(**values: Any) -> None:
    """Each is an integer >= 1."""
    for name, value in values.items():
        if not (is_count(value) and value >= 1):
            raise ValueError(f"{name} must be an integer >= 1, got {value!r}")


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
    array = _as_array(name, value)
    if np.iscomplexobj(array):
        raise ValueError(f"{name} must be real, got {array.dtype}")
    floats: FloatArray = _finite_copy(name, array, np.float64)
    return floats


def as_numbers(name: str, value: Any) -> Matrices:
    """A C-contiguous copy of `value` with finite entries: complex128 where it is complex, else float64."""
    array = _as_array(name, value)
    return _finite_copy(name, array, np.complex128 if np.iscomplexobj(array) else np.float64)


def _as_array(name: str, value: Any) -> npt.NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of numbers, all of one shape: {error}") from None
    if value is None or array.dtype.kind not in "iufcO":
        raise ValueError(f"{name} must be an array of numbers, got {'None' if value is None else array.dtype}")
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{name} has masked entries; fill them or leave them out")
    return array


def _finite_copy(name: str, array: npt.NDArray[Any], dtype: Any) -> npt.NDArray[Any]:
    try:
        numbers = np.array(array, dtype=dtype, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, got dtype {array.dtype}") from None
    if not np.isfinite(numbers).all():
        where = first_index(~np.isfinite(numbers))
        raise ValueError(f"{name}{where or ''} is {numbers[tuple(where)]}: NaN and infinity are not allowed")
    return numbers


def first_index(mask: npt.NDArray[np.bool_]) -> list[int]:
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
        where = first_index(~(array > 0.0))
        raise ValueError(f"{name}{where} is {array[tuple(where)]}: every entry must be positive")
    return array


def signs(name: str, value: Any, size: int) -> FloatArray:
    """`value`, a vector of `size` entries +1 or -1, as floats."""
    array = as_floats(name, value)
    if array.shape != (size,):
        raise ValueError(f"{name} must have one entry per pair, shape ({size},); got {array.shape}")
    wrong = np.abs(array) != 1.0
    if wrong.any():
        where = first_index(wrong)
        raise ValueError(f"{name}{where} is {array[tuple(where)]}: every entry must be +1 (near) or -1 (far)")
    return array


def symmetric(name: str, value: Matrices, rtol: float = 1e-8) -> Matrices:
    """Square matrices (..., n, n), symmetric or Hermitian relative to their own largest entry, made exactly so."""
    if value.ndim < 2 or value.shape[-1] != value.shape[-2] or value.shape[-1] == 0:
        raise ValueError(f"{name} must hold square matrices, shape (..., n, n) with n >= 1; got {value.shape}")
    transposed = np.swapaxes(value.conj(), -1, -2)
    difference = np.abs(value - transposed).max(axis=(-2, -1))
    bad = difference > rtol * np.abs(value).max(axis=(-2, -1))
    if bad.any():
        where = first_index(bad) if value.ndim > 2 else ""
        worst = float(np.max(difference[bad]))
        kind, other = ("Hermitian", "conjugate transpose") if np.iscomplexobj(value) else ("symmetric", "transpose")
        raise ValueError(f"{name}{where} is not {kind}: it differs from its {other} by up to {worst:.3g}")
    return 0.5 * (value + transposed)


def precision_of(dtype: np.dtype[Any]) -> float:
    """The unit of rounding that numbers of this type were computed with: that of float64, or of a coarser type."""
    coarse = dtype in (np.float32, np.float16, np.complex64)
    return float(np.finfo(dtype if coarse else np.float64).eps)


def symmetry_tolerance(eps: float) -> float:
    """How far, relatively, matrices computed with this unit of rounding may be from symmetric."""
    return 100.0 * eps if eps > 1e-10 else 1e-8


def read_only(array: npt.NDArray[Any]) -> Any:
    """A view that cannot be written through; the array itself keeps its flags."""
    view = array.view()
    view.flags.writeable = False
    return view

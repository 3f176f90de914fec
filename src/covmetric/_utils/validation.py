"""Validation of user input. Every message names the argument, the index and value at fault, and the remedy."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TextArray = npt.NDArray[np.str_]
#: Matrices of dtype float64, or complex128 if they are Hermitian.
Matrices = npt.NDArray[Any]
# More jobs than any machine has cores, and fewer than would exhaust its threads and processes.
_LARGEST_N_JOBS = 4096


def is_number(value: Any) -> bool:
    """Return whether a value is a finite real number.

    Parameters
    ----------
    value : object
        The value. Booleans do not count as numbers.

    Returns
    -------
    bool
        True for a finite real number in the range of float64.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return False
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:  # an integer or a fraction that is too large for a float
        return False


def is_count(value: Any) -> bool:
    """Return whether a value is an integer >= 0.

    Parameters
    ----------
    value : object
        The value. Booleans do not count as integers.

    Returns
    -------
    bool
        True for an integer >= 0.
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 0


def check_counts(**values: Any) -> None:
    """Raise ValueError unless every value is an integer >= 1.

    Parameters
    ----------
    **values : object
        The values, by the names of the arguments that they were given as.
    """
    for name, value in values.items():
        if not (is_count(value) and value >= 1):
            raise ValueError(f"{name} must be an integer >= 1, got {value!r}")


def check_n_jobs(n_jobs: Any) -> None:
    """Raise ValueError unless a number of jobs is one that joblib understands.

    Parameters
    ----------
    n_jobs : object
        None, or an integer other than 0. Negative numbers count from the number of cores, as in joblib.
    """
    is_integer = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if not (n_jobs is None or (is_integer and n_jobs != 0)):
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}")
    if n_jobs is not None and abs(int(n_jobs)) > _LARGEST_N_JOBS:
        raise ValueError(f"n_jobs must be at most {_LARGEST_N_JOBS}, got {n_jobs!r}: use -1 for one job per core")


def check_tolerance(tol: Any) -> None:
    """Raise ValueError unless a tolerance is a number >= 0.

    Parameters
    ----------
    tol : object
        The tolerance.
    """
    if not (is_number(tol) and tol >= 0):
        raise ValueError(f"tol must be a number >= 0, got {tol!r}")


def check_positive(name: str, value: Any) -> None:
    """Raise ValueError if a value is not a positive, finite number.

    Parameters
    ----------
    name : str
        The name of the argument.
    value : Any
        The value.
    """
    if not (is_number(value) and 0.0 < value < np.inf):
        raise ValueError(f"{name} must be a positive number, got {value!r}")


def check_nonnegative(name: str, value: Any) -> None:
    """Raise ValueError if a value is not a finite number that is at least 0.

    Parameters
    ----------
    name : str
        The name of the argument.
    value : Any
        The value.
    """
    if not (is_number(value) and 0.0 <= value < np.inf):
        raise ValueError(f"{name} must be a number >= 0, got {value!r}")


def generator(random_state: Any) -> np.random.Generator:
    """Return the random generator for a `random_state`.

    Parameters
    ----------
    random_state : None, int, Generator or RandomState
        Any argument of `numpy.random.default_rng`.

    Returns
    -------
    numpy.random.Generator
        The generator itself if one is given.

    Raises
    ------
    ValueError
        If `random_state` has a different type.
    """
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state must be None, an integer >= 0, a Generator or a RandomState, got {random_state!r}: {error}"
        ) from None


def as_floats(name: str, value: Any) -> FloatArray:
    """Return a C-contiguous copy of real numbers as float64.

    Parameters
    ----------
    name : str
        The name of the argument, for error messages.
    value : array-like
        Finite real numbers.

    Returns
    -------
    array of float64
        The copy, with the shape of `value`.

    Raises
    ------
    ValueError
        If `value` is not an array of finite real numbers.
    """
    array = _as_array(name, value)
    if np.iscomplexobj(array):
        raise ValueError(f"{name} must be real, got {array.dtype}")
    floats: FloatArray = _finite_copy(name, array, np.float64)
    return floats


def as_numbers(name: str, value: Any) -> Matrices:
    """Return a C-contiguous copy of numbers as complex128 if they are complex, and as float64 otherwise.

    Parameters
    ----------
    name : str
        The name of the argument, for error messages.
    value : array-like
        Finite real or complex numbers.

    Returns
    -------
    array of float64 or complex128
        The copy, with the shape of `value`.

    Raises
    ------
    ValueError
        If `value` is not an array of finite numbers.
    """
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
    except OverflowError:
        raise ValueError(f"{name} has an integer that is too large for {np.dtype(dtype)}: rescale it") from None
    if not np.isfinite(numbers).all():
        where = first_index(~np.isfinite(numbers))
        raise ValueError(f"{name}{where or ''} is {numbers[tuple(where)]}: NaN and infinity are not allowed")
    return numbers


def first_index(mask: npt.NDArray[np.bool_]) -> list[int]:
    """Return the index of the first true entry.

    Parameters
    ----------
    mask : array of bool
        At least one entry is true.

    Returns
    -------
    list of int
        One integer per axis. The list prints like an index, "[1, 2]".
    """
    return [int(i) for i in np.argwhere(mask)[0]]


def positive_vector(name: str, value: Any, size: int) -> FloatArray:
    """Return a positive scalar, repeated, or a vector of positive entries.

    Parameters
    ----------
    name : str
        The name of the argument, for error messages.
    value : float or array-like of shape (size,)
        The scalar or the vector.
    size : int
        The length of the vector.

    Returns
    -------
    array of shape (size,)
        The vector.

    Raises
    ------
    ValueError
        If the shape is wrong or an entry is not positive.
    """
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
    """Return a vector of the labels +1 (similar) and -1 (dissimilar) as floats.

    Parameters
    ----------
    name : str
        The name of the argument, for error messages.
    value : array-like of shape (size,)
        The labels.
    size : int
        The length of the vector.

    Returns
    -------
    array of shape (size,)
        The labels.

    Raises
    ------
    ValueError
        If the shape is wrong or an entry is neither +1 nor -1.
    """
    entries = np.asarray(value)
    if entries.dtype.kind in "bUSO" and entries.size and isinstance(entries.flat[0], str | bytes | bool | np.bool_):
        raise ValueError(
            f"{name} must be +1 for similar and -1 for dissimilar pairs, but {name}{[0] * entries.ndim} is "
            f"{entries.item(0)!r}; convert the labels, for example np.where(is_similar, 1, -1)"
        )
    array = as_floats(name, value)
    if array.shape != (size,):
        raise ValueError(f"{name} must have one entry per pair, shape ({size},); got {array.shape}")
    wrong = np.abs(array) != 1.0
    if wrong.any():
        where = first_index(wrong)
        remedy = (
            f"; convert labels 0 and 1 with {_from_zero_and_one(name, value)}" if np.isin(array, (0, 1)).all() else ""
        )
        raise ValueError(f"{name}{where} is {array[tuple(where)]}: every entry must be +1 (near) or -1 (far){remedy}")
    return array


def _from_zero_and_one(name: str, value: Any) -> str:
    """Return the expression that converts labels 0 and 1; lists and unsigned integers need another type."""
    is_signed = hasattr(value, "dtype") and np.asarray(value).dtype.kind in "if"
    return f"2 * {name} - 1" if is_signed else f"2 * np.asarray({name}, dtype=int) - 1"


def symmetric(name: str, value: Matrices, rtol: float = 1e-8) -> Matrices:
    """Return nearly symmetric or Hermitian matrices, made exactly symmetric or Hermitian.

    Parameters
    ----------
    name : str
        The name of the argument, for error messages.
    value : array of shape (..., n, n)
        The matrices.
    rtol : float, default=1e-8
        The largest allowed asymmetry, relative to the largest entry of the same matrix.

    Returns
    -------
    array of shape (..., n, n)
        The mean of each matrix and its (conjugate) transpose.

    Raises
    ------
    ValueError
        If the matrices are not square, or one of them is not symmetric or Hermitian.
    """
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
    """Return the machine epsilon of the numbers that a user computed.

    Parameters
    ----------
    dtype : numpy.dtype
        The type of the user's array.

    Returns
    -------
    float
        The machine epsilon of float16, float32 or complex64, or the epsilon of float64 for every other type.
    """
    coarse = dtype in (np.float32, np.float16, np.complex64)
    return float(np.finfo(dtype if coarse else np.float64).eps)


def symmetry_tolerance(eps: float) -> float:
    """Return the largest allowed asymmetry of matrices, relative to their largest entry.

    Parameters
    ----------
    eps : float
        The machine epsilon that the matrices were computed with.

    Returns
    -------
    float
        1e-8 in double precision, and 100 eps in lower precision.
    """
    return 100.0 * eps if eps > 1e-10 else 1e-8


def read_only(array: npt.NDArray[Any]) -> Any:
    """Return a read-only view of an array.

    Parameters
    ----------
    array : array
        The array, which itself stays writeable.

    Returns
    -------
    array
        The view.
    """
    view = array.view()
    view.flags.writeable = False
    return view

"""The contract of descriptors: sample inputs of every kind, and checks that take a descriptor.

`CHECKS` lists the checks. ``test_contract.py`` applies them to every entry of `DESCRIPTORS`, and to descriptors that
break the contract on purpose.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone

from covmetric.descriptors import Descriptor

# Rounding errors of eigenvalues are below n eps times the largest one; 1e-12 covers the largest n of the samples, 400.
EIGENVALUE_RTOL = 1e-12
# pyRiemann's "scm" computes both triangles, which differ in the last bits.
SYMMETRY_RTOL = 1e-14

# --- Sample inputs: lists of examples, which are float64 arrays of integers from 0 to 255, or lists of such arrays ----


def random_images(count: int = 4) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.integers(256, size=(7 + k % 5, 9 + k % 3)).astype(float) for k in range(count)]


def random_series(count: int = 4) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.integers(256, size=(3, 20 + 5 * (k % 4))).astype(float) for k in range(count)]


def random_image_sets(count: int = 4) -> list[Any]:
    rng = np.random.default_rng(0)
    return [list(rng.integers(256, size=(2 + k % 3, 6 + k % 2, 8)).astype(float)) for k in range(count)]


EXAMPLES: dict[str, Callable[..., list[Any]]] = {
    "images": random_images,
    "image sets": random_image_sets,
    "series": random_series,
}


def map_arrays(function: Callable[[Any], Any], example: Any) -> Any:
    """Apply a function to the arrays of an example, which is an array or a list of arrays."""
    return [function(array) for array in example] if isinstance(example, list) else function(example)


def examples_for(descriptor: Descriptor, count: int = 4) -> list[Any]:
    """Return examples of the kind that the descriptor accepts."""
    kind = descriptor.input_kind
    assert kind in EXAMPLES, f"there are no samples of the kind {kind!r}: add them to EXAMPLES in {__file__}"
    return EXAMPLES[kind](count)


def read_only(array: Any) -> Any:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


#: Other containers and dtypes of the same numbers, which must give the same bits.
SAME_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "float32": lambda array: array.astype(np.float32),
    "uint8": lambda array: array.astype(np.uint8),
    "big endian": lambda array: array.astype(">f8"),
    "Fortran order": np.asfortranarray,
    "nested lists": lambda array: array.tolist(),
    "read only": read_only,
}

#: Other numbers. EEG is measured in volts, with covariances near 1e-12.
OTHER_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "unchanged": lambda array: array,
    "microvolts": lambda array: 1e-8 * array,
    "large": lambda array: 1e50 * array,
    "positive offset": lambda array: array + 1e9,
    "negative offset": lambda array: array - 1e9,
}

# --- Checks -----------------------------------------------------------------------------------------------------------


def check_class(descriptor: Descriptor) -> None:
    """Check that it is a scikit-learn transformer that declares its kind of examples and needs no fit."""
    assert isinstance(descriptor, Descriptor)
    assert isinstance(descriptor, TransformerMixin) and isinstance(descriptor, BaseEstimator)
    assert isinstance(type(descriptor).input_kind, str)
    tags = descriptor.__sklearn_tags__()
    assert not tags.requires_fit and not tags.input_tags.two_d_array


def check_parameters(descriptor: Descriptor) -> None:
    """Check that get_params, set_params and clone round-trip, and that fit does not change the parameters."""
    before = descriptor.get_params()
    assert type(descriptor)(**before).get_params() == before
    assert clone(descriptor).set_params(**before).get_params() == before
    assert descriptor.fit(examples_for(descriptor)) is descriptor
    assert descriptor.get_params() == before


def check_matrices(descriptor: Descriptor) -> None:
    """Check that matrices are finite, symmetric, positive semi-definite, of the promised size, and not constant."""
    for name, change in OTHER_NUMBERS.items():
        X = [map_arrays(change, example) for example in examples_for(descriptor)]
        matrices = clone(descriptor).fit(X).transform(X)
        n = clone(descriptor).fit(X).matrix_size_
        assert isinstance(matrices, np.ndarray) and matrices.dtype == np.float64, name
        assert matrices.shape == (len(X), n, n), name
        assert np.isfinite(matrices).all(), name
        assert (np.abs(matrices - np.swapaxes(matrices, 1, 2)) <= SYMMETRY_RTOL * np.abs(matrices).max()).all(), name
        eigenvalues = np.linalg.eigvalsh(matrices)
        assert (eigenvalues[:, -1] > 0.0).all(), name
        assert (eigenvalues[:, 0] >= -EIGENVALUE_RTOL * eigenvalues[:, -1]).all(), name
        assert not any(np.array_equal(matrices[0], other) for other in matrices[1:]), name


def check_order(descriptor: Descriptor) -> None:
    """Check that each example gives the same matrix alone, among others, and in any order."""
    X = examples_for(descriptor, 5)
    matrices = descriptor.fit_transform(X)
    for k, example in enumerate(X):
        np.testing.assert_array_equal(descriptor.transform([example])[0], matrices[k])
    order = [3, 0, 4, 2, 1]
    np.testing.assert_array_equal(descriptor.transform([X[k] for k in order]), matrices[order])


def check_repeated_calls(descriptor: Descriptor) -> None:
    """Check that calls of transform, with or without fit, on the descriptor or a pickled copy, give the same bits."""
    X = examples_for(descriptor)
    expected = clone(descriptor).fit_transform(X)
    np.testing.assert_array_equal(clone(descriptor).transform(X), expected)
    fitted = clone(descriptor).fit(X)
    for copy in (fitted, fitted, pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(copy.transform(X), expected)
        assert copy.matrix_size_ == expected.shape[1]


def check_jobs(descriptor: Descriptor) -> None:
    """Check that the result has the same bits for any number of jobs; there are enough examples for several batches."""
    if "n_jobs" in descriptor.get_params():
        X = examples_for(descriptor, 70)
        one, two = (clone(descriptor).set_params(n_jobs=n).fit_transform(X) for n in (1, 2))
        np.testing.assert_array_equal(one, two)


def check_containers(descriptor: Descriptor) -> None:
    """Check that the same numbers in other dtypes and containers, or in a single array, give the same bits."""
    X = examples_for(descriptor)
    expected = descriptor.fit_transform(X)
    for name, change in SAME_NUMBERS.items():
        converted = [map_arrays(change, example) for example in X]
        np.testing.assert_array_equal(descriptor.fit_transform(converted), expected, err_msg=name)
    np.testing.assert_array_equal(descriptor.fit_transform(tuple(X)), expected)
    same_shape = [X[0], map_arrays(lambda array: array[::-1], X[0])]
    np.testing.assert_array_equal(descriptor.fit_transform(np.array(same_shape)), descriptor.fit_transform(same_shape))


def check_input_is_kept(descriptor: Descriptor) -> None:
    """Check that fit and transform do not change the examples, and that the result does not share their memory."""
    X = examples_for(descriptor)
    before = pickle.dumps(X)
    matrices = descriptor.fit_transform(X)
    assert pickle.dumps(X) == before
    matrices[:] = 0.0
    assert pickle.dumps(X) == before


def check_not_finite_is_refused(descriptor: Descriptor) -> None:
    """Check that NaN and infinity raise a ValueError that names the example."""
    for value in (np.nan, np.inf, -np.inf):
        X = examples_for(descriptor)
        array = X[2][1] if isinstance(X[2], list) else X[2]
        array[1, 3] = value
        with pytest.raises(ValueError, match=r"\[2[,\]].*(nan|inf)"):
            clone(descriptor).fit_transform(X)
        with pytest.raises(ValueError, match=r"\[2[,\]].*(nan|inf)"):
            clone(descriptor).transform(X)


def check_empty_is_refused(descriptor: Descriptor) -> None:
    """Check that no examples, and objects that are not lists of examples, raise ValueError."""
    no_examples = np.array([examples_for(descriptor)[0]])[:0]
    for X in ([], (), no_examples, None, 3, "name"):
        with pytest.raises(ValueError, match="empty" if X is not None and np.ndim(X) else "must"):
            clone(descriptor).fit(X)
        with pytest.raises(ValueError, match="empty" if X is not None and np.ndim(X) else "must"):
            clone(descriptor).transform(X)


def check_constant_examples(descriptor: Descriptor) -> None:
    """Check that constant examples give finite matrices, or a ValueError that names the example."""
    X = examples_for(descriptor)
    X[1] = map_arrays(np.zeros_like, X[1])
    try:
        matrices = descriptor.fit_transform(X)
    except ValueError:
        with pytest.raises(ValueError, match=r"\[1[,\]]"):
            descriptor.fit_transform(X)
    else:
        assert np.isfinite(matrices).all()


CHECKS: tuple[Callable[[Descriptor], None], ...] = (
    check_class,
    check_parameters,
    check_matrices,
    check_order,
    check_repeated_calls,
    check_jobs,
    check_containers,
    check_input_is_kept,
    check_not_finite_is_refused,
    check_empty_is_refused,
    check_constant_examples,
)

"""The number of threads of BLAS and OpenMP."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from covmetric._utils.threads import limited_threads


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_threads_are_limited_inside_and_restored_outside():
    with threadpool_limits(2):
        with limited_threads(1, "blas"):
            assert blas_threads() == {1}
            with limited_threads(2):
                assert blas_threads() == {2}
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_threads_are_restored_after_an_error():
    with threadpool_limits(2):
        with pytest.raises(ZeroDivisionError), limited_threads(1):
            1 / 0  # noqa: B018
        assert blas_threads() == {2}


def test_none_leaves_the_libraries_alone():
    with threadpool_limits(2), limited_threads(None):
        assert blas_threads() == {2}


def test_another_api_is_left_alone():
    with threadpool_limits(2), limited_threads(1, "openmp"):
        assert blas_threads() == {2}

"""The number of threads of BLAS and OpenMP, with fake libraries that record it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from covmetric._utils import threads, tuning
from covmetric._utils.threads import limited_threads, one_thread, threads_for


class Library:
    """A library that remembers its number of threads, and how often that was set."""

    def __init__(self, user_api):
        self.user_api, self.count, self.calls = user_api, 2, 0

    def get_num_threads(self):
        return self.count

    def set_num_threads(self, count):
        self.count, self.calls = count, self.calls + 1


@pytest.fixture
def libraries(monkeypatch):
    """A BLAS and an OpenMP library that replace the loaded libraries."""
    both = [Library("blas"), Library("openmp")]
    monkeypatch.setattr(threads, "ThreadpoolController", lambda: SimpleNamespace(lib_controllers=both))
    threads._libraries.cache_clear()
    yield both
    threads._libraries.cache_clear()


def counts(libraries):
    return [library.count for library in libraries]


def test_threads_are_limited_inside_and_restored_outside(libraries):
    with limited_threads(1):
        assert counts(libraries) == [1, 1]
        with limited_threads(3):
            assert counts(libraries) == [3, 3]
        assert counts(libraries) == [1, 1]
    assert counts(libraries) == [2, 2]


@pytest.mark.parametrize(("api", "expected"), [("blas", [1, 2]), ("openmp", [2, 1])])
def test_only_the_named_api_is_limited(libraries, api, expected):
    with limited_threads(1, api):
        assert counts(libraries) == expected
    assert counts(libraries) == [2, 2]


def test_threads_are_restored_after_an_error(libraries):
    with pytest.raises(ZeroDivisionError), limited_threads(1):
        1 / 0  # noqa: B018
    assert counts(libraries) == [2, 2]


@pytest.mark.parametrize("count", [None, 2])
def test_libraries_that_need_no_change_are_not_touched(libraries, count):
    with limited_threads(count):
        assert counts(libraries) == [2, 2]
    assert [library.calls for library in libraries] == [0, 0]


def test_libraries_of_this_process_are_found():
    threads._libraries.cache_clear()
    loaded = ThreadpoolController().lib_controllers
    assert {library.filepath for library in threads._libraries(None)} == {library.filepath for library in loaded}
    assert all(library.user_api == "blas" for library in threads._libraries("blas"))
    with limited_threads(1, "blas"):
        assert all(library.get_num_threads() == 1 for library in loaded if library.user_api == "blas")


def test_the_last_of_overlapping_blocks_restores_the_threads(libraries):
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert counts(libraries) == [1, 1]
    second.__exit__(None, None, None)
    assert counts(libraries) == [2, 2]


def test_overlapping_blocks_restore_the_threads_after_an_error(libraries):
    with pytest.raises(ZeroDivisionError), one_thread():
        1 / 0  # noqa: B018
    assert counts(libraries) == [2, 2]


def test_blocks_with_and_without_an_api_do_not_restore_each_others_limit(libraries):
    """One solve ends while the blocks of another one run."""
    outer, inner = limited_threads(1, "blas"), one_thread()
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert counts(libraries) == [1, 1]
    inner.__exit__(None, None, None)
    assert counts(libraries) == [2, 2]


@pytest.mark.parametrize(("n", "count"), [(1, 1), (tuning.ONE_THREAD_BELOW - 1, 1), (tuning.ONE_THREAD_BELOW, None)])
def test_small_examples_use_one_thread(n, count):
    assert threads_for(np.zeros((2, n))) == count

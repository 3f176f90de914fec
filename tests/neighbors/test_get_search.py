"""The choice of a search by name, by object or by the shape of the vectors."""

from __future__ import annotations

import pytest

from covmetric.neighbors import SEARCHES, BruteSearch, get_search
from tests.data import quoted


@pytest.mark.parametrize(
    ("shape", "name"),
    [(None, "brute"), ((1000, 484), "brute"), ((100_000, 25), "brute"), ((20_000, 400), "pruned")],
)
def test_auto_depends_on_the_shape(shape, name):
    assert type(get_search("auto", shape=shape)) is SEARCHES[name]


@pytest.mark.parametrize("name", SEARCHES)
def test_name_gives_a_search_with_the_number_of_jobs(name):
    search = get_search(name, n_jobs=2)
    assert type(search) is SEARCHES[name] and search.n_jobs == 2
    assert SEARCHES[name].name == name
    assert repr(search) == f"{SEARCHES[name].__name__}(n_jobs=2)"


def test_object_is_returned_unchanged():
    search = BruteSearch()
    assert get_search(search) is search
    with pytest.raises(ValueError, match="n_jobs"):
        get_search(search, n_jobs=2)


@pytest.mark.parametrize("algorithm", ["kd_tree", None, 3])
def test_unknown_algorithm_is_refused(algorithm):
    with pytest.raises(ValueError, match=f"algorithm must be one of 'auto', {quoted(SEARCHES)}"):
        get_search(algorithm)

"""Exact searches for nearest neighbours, and their votes. `SEARCHES` lists the searches by name."""

from __future__ import annotations

from covmetric._utils.registry import resolve
from covmetric._utils.tuning import PRUNED_DIMENSIONS, PRUNED_ENTRIES
from covmetric.model_file import register_components
from covmetric.neighbors.base import Search
from covmetric.neighbors.brute import BruteSearch
from covmetric.neighbors.faiss import FaissSearch
from covmetric.neighbors.pruned import PrunedSearch

SEARCHES: dict[str, type[Search]] = {
    "brute": BruteSearch,
    "pruned": PrunedSearch,
    "faiss": FaissSearch,
}
register_components(SEARCHES.values())

__all__ = ["SEARCHES", "BruteSearch", "FaissSearch", "PrunedSearch", "Search", "get_search"]


def get_search(
    algorithm: str | Search = "auto", n_jobs: int | None = None, shape: tuple[int, int] | None = None
) -> Search:
    """Return the search with the given name, or the object itself.

    Parameters
    ----------
    algorithm : {'auto', 'brute', 'pruned', 'faiss'} or Search, default='auto'
        The name of a search, or an object. "auto" chooses "pruned" for many long vectors, and "brute" otherwise.
    n_jobs : int or None, default=None
        The number of threads of a named search. It must be None if `algorithm` is an object.
    shape : tuple (l, q) or None, default=None
        The shape of the vectors to be fitted, which "auto" uses. If None, "auto" chooses "brute".

    Returns
    -------
    Search
        The search. It is not fitted, unless a fitted object is given.

    Raises
    ------
    ValueError
        If `algorithm` is neither a name nor a search.

    Examples
    --------
    >>> get_search("auto", shape=(20_000, 400))
    PrunedSearch(n_jobs=None)
    """
    if isinstance(algorithm, str) and algorithm == "auto":
        count, q = shape or (0, 0)
        algorithm = "pruned" if q >= PRUNED_DIMENSIONS and count * q >= PRUNED_ENTRIES else "brute"
    settings = {} if n_jobs is None else {"n_jobs": n_jobs}
    return resolve("algorithm", algorithm, SEARCHES, Search, settings=settings, also="auto")

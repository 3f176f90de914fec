"""The exact nearest neighbours of vectors. `SEARCHES` lists the ways to find them by name."""

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
    """The search of that name, or the object itself.

    Parameters
    ----------
    algorithm : {"auto", "brute", "pruned", "faiss"} or Search
        "auto": "pruned" where the vectors are many and long, otherwise "brute".
    n_jobs : int or None, default=None
        For the search of a name.
    shape : (l, q) or None, default=None
        That of the vectors to be fitted, for "auto"; None: not known, and "brute".

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

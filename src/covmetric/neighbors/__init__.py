"""The exact nearest neighbours of vectors. `SEARCHES` lists the ways to find them by name."""

from __future__ import annotations

from covmetric._registry import resolve
from covmetric.neighbors.base import Search
from covmetric.neighbors.brute import BruteSearch
from covmetric.neighbors.faiss import FaissSearch
from covmetric.neighbors.pruned import PrunedSearch

SEARCHES: dict[str, type[Search]] = {
    "brute": BruteSearch,
    "pruned": PrunedSearch,
    "faiss": FaissSearch,
}

# From here on pruning 1,000 queries gained, fit included, if the spectrum decays: 1.3 to 1.7 times at l q = 2e6, 3.5
# at 8e6. Where it does not decay, fit loses 0.05 s by trying: a third of the whole at l q = 2e6, nothing at 8e6.
_PRUNED_ENTRIES, _PRUNED_DIMENSIONS = 2**21, 64

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
        algorithm = "pruned" if q >= _PRUNED_DIMENSIONS and count * q >= _PRUNED_ENTRIES else "brute"
    settings = {} if n_jobs is None else {"n_jobs": n_jobs}
    return resolve("algorithm", algorithm, SEARCHES, Search, settings=settings, also="auto")

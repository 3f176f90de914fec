"""Brute force by FAISS: candidates in float32, distances in float64."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.neighbors.brute import BruteSearch, relative_rounding


class FaissSearch(BruteSearch):
    """Exact search by FAISS's brute force in float32, with the proof of `BruteSearch`.

    The lists of candidates are as long as the proof requires, given the rounding errors of float32. The search needs
    the package faiss-cpu: ``pip install faiss-cpu``.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Ignored. FAISS uses the threads of OpenMP.

    Examples
    --------
    >>> FaissSearch()
    FaissSearch(n_jobs=None)
    """

    name = "faiss"

    def _fit(self) -> None:
        faiss = _import_faiss()
        q = self._vectors.shape[1]
        self._index = faiss.IndexFlatL2(q)
        self._index.add((self._vectors - self._centre).astype(np.float32))
        self._allowance = relative_rounding(q, np.float32)

    def _candidates(self, centred: FloatArray, count: int) -> tuple[FloatArray, IntArray]:
        squared, indices = self._index.search(centred.astype(np.float32), count)
        # FAISS finds nothing for a query beyond the range of float32 and returns -1. NaN makes the proof fail.
        return np.where(indices < 0, np.nan, squared), np.maximum(indices, 0)


def _import_faiss() -> Any:
    try:
        return import_module("faiss")
    except ImportError as error:
        raise ImportError('algorithm "faiss" needs the package faiss-cpu: pip install faiss-cpu') from error

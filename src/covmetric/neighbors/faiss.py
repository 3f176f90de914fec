"""All distances by FAISS in float32, proved in float64."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.neighbors.brute import BruteSearch, rounding


class FaissSearch(BruteSearch):
    """The nearest by FAISS's brute force in float32, with lists as long as the proof of `BruteSearch` needs.

    Needs the package faiss-cpu: ``pip install "covmetric[faiss]"``. FAISS takes the threads of OpenMP, not `n_jobs`.
    """

    name = "faiss"

    def _fit(self) -> None:
        faiss = _faiss()
        q = self._vectors.shape[1]
        self._index = faiss.IndexFlatL2(q)
        self._index.add((self._vectors - self._centre).astype(np.float32))
        self._allowance = rounding(q, np.float32)

    def _list(self, centred: FloatArray, count: int) -> tuple[FloatArray, IntArray]:
        squared, indices = self._index.search(centred.astype(np.float32), count)
        # A query too large for float32 finds nothing, which FAISS marks by -1, and which proves nothing.
        return np.where(indices < 0, np.nan, squared), np.maximum(indices, 0)


def _faiss() -> Any:
    try:
        return import_module("faiss")
    except ImportError as error:
        raise ImportError('algorithm "faiss" needs the package faiss-cpu: pip install "covmetric[faiss]"') from error

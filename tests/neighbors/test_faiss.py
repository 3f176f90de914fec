"""The search by FAISS, an optional dependency."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from covmetric.neighbors import FaissSearch


def test_error_without_faiss_names_the_package_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"pip install faiss-cpu"):
        FaissSearch().fit(np.eye(3))

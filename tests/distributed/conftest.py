from __future__ import annotations

import pytest

from tests.distributed.clusters import two_workers


@pytest.fixture(scope="package")
def client():
    """A client of two worker processes, for all tests of this folder; a worker that dies is replaced."""
    pytest.importorskip("distributed", reason='Dask is not installed: pip install "dask[array]" distributed')
    with two_workers() as client:
        yield client

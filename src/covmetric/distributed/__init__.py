"""Descriptors, learned metrics and exact neighbours on the collections of Dask.

They require Dask: ``pip install "dask[array]" distributed``.
"""

from __future__ import annotations

from covmetric.distributed.blocks import BlockError
from covmetric.distributed.neighbors import kneighbors
from covmetric.distributed.transforms import transform_blocks

__all__ = ["BlockError", "kneighbors", "transform_blocks"]

"""The methods to compare with.

`PEERS` lists metric learners, `PEER_CLASSIFIERS` classifiers, and `FIXED_DISTANCES` fixed distances.
"""

from __future__ import annotations

from typing import Any

from covmetric.peers.base import PeerMetric
from covmetric.peers.distances import FIXED_DISTANCES, FixedDistance
from covmetric.peers.fixed_classifier import FixedDistanceClassifier
from covmetric.peers.gmml import GMML
from covmetric.peers.itml import VectorITML
from covmetric.peers.leml import LEML, LemlResult, leml
from covmetric.peers.tangent_lda import TangentLDA
from covmetric.peers.vemulapalli import VemulapalliMetric
from covmetric.peers.yger import KernelTargetAlignment

PEERS: dict[str, type[PeerMetric]] = {
    "vemulapalli": VemulapalliMetric,
    "leml": LEML,
    "yger": KernelTargetAlignment,
    "itml": VectorITML,
    "gmml": GMML,
}

PEER_CLASSIFIERS: dict[str, type[Any]] = {
    "tangent-lda": TangentLDA,
}

__all__ = [
    "FIXED_DISTANCES",
    "GMML",
    "LEML",
    "PEERS",
    "PEER_CLASSIFIERS",
    "FixedDistance",
    "FixedDistanceClassifier",
    "KernelTargetAlignment",
    "LemlResult",
    "PeerMetric",
    "TangentLDA",
    "VectorITML",
    "VemulapalliMetric",
    "leml",
]

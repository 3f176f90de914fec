"""The methods that the paper compares with: `PEERS` lists metric learners, `FIXED_DISTANCES` fixed distances."""

from __future__ import annotations

from covmetric.peers.base import PeerMetric
from covmetric.peers.distances import FIXED_DISTANCES, FixedDistance
from covmetric.peers.fixed_classifier import FixedDistanceClassifier
from covmetric.peers.itml import VectorITML
from covmetric.peers.leml import LEML, LemlResult, leml
from covmetric.peers.vemulapalli import VemulapalliMetric
from covmetric.peers.yger import KernelTargetAlignment

PEERS: dict[str, type[PeerMetric]] = {
    "vemulapalli": VemulapalliMetric,
    "leml": LEML,
    "yger": KernelTargetAlignment,
    "itml": VectorITML,
}

__all__ = [
    "FIXED_DISTANCES",
    "LEML",
    "PEERS",
    "FixedDistance",
    "FixedDistanceClassifier",
    "KernelTargetAlignment",
    "LemlResult",
    "PeerMetric",
    "VectorITML",
    "VemulapalliMetric",
    "leml",
]

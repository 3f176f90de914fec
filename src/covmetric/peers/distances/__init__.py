"""The fixed distances that the paper compares with. `FIXED_DISTANCES` lists them by name."""

from __future__ import annotations

from covmetric.peers.distances.base import FixedDistance
from covmetric.peers.distances.embedded import CholeskyDistance, Euclid, LogEuclid, PowerEuclid
from covmetric.peers.distances.invariant import JDivergence, Riemann, Stein

FIXED_DISTANCES: dict[str, type[FixedDistance]] = {
    "riemann": Riemann,
    "stein": Stein,
    "jdiv": JDivergence,
    "euclid": Euclid,
    "logeuclid": LogEuclid,
    "power": PowerEuclid,
    "cholesky": CholeskyDistance,
}

__all__ = ["FIXED_DISTANCES", "FixedDistance"]

"""The linear system of a second-order step, (I + sum_k h_k vec(B_k) vec(B_k)^T) x = r, and four ways to solve it."""

from __future__ import annotations

from covmetric.solvers.systems.base import System
from covmetric.solvers.systems.choice import choose_system
from covmetric.solvers.systems.direct import DenseSystem, PairSystem, ThinSystem, cholesky, dense_sums
from covmetric.solvers.systems.iterative import IterativeSystem, conjugate_gradients
from covmetric.solvers.systems.terms import ActiveTerms, rates_along

__all__ = [
    "ActiveTerms",
    "DenseSystem",
    "IterativeSystem",
    "PairSystem",
    "System",
    "ThinSystem",
    "cholesky",
    "choose_system",
    "conjugate_gradients",
    "dense_sums",
    "rates_along",
]

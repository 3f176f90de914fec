"""How near is near, and how far is far: bounds on squared distances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from covmetric._utils.registry import resolve
from covmetric._utils.validation import FloatArray, is_number
from covmetric._utils.warning import warn


class Bounds(ABC):
    """A bound from above for similar pairs, and one from below for dissimilar pairs, in squared units."""

    name: ClassVar[str]

    @abstractmethod
    def limits(self, squared: FloatArray) -> tuple[float, float]:
        """The two bounds, given the squared distances of the pairs, shape (K,)."""

    def of(self, squared: FloatArray) -> tuple[float, float]:
        """Deprecated alias of `limits`.

        Parameters
        ----------
        squared : array of shape (K,)
            As in `limits`.

        Returns
        -------
        (float, float)
        """
        warn("Bounds.of is deprecated, use Bounds.limits", FutureWarning)
        return self.limits(squared)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class AbsoluteBounds(Bounds):
    """The same two numbers always; 0.05 and 0.95 are the paper's, for squared distances divided by their median."""

    name = "absolute"

    def __init__(self, near: float = 0.05, far: float = 0.95) -> None:
        self.near = near
        self.far = far

    def limits(self, squared: FloatArray) -> tuple[float, float]:  # noqa: ARG002
        for name, value in (("near", self.near), ("far", self.far)):
            if not (is_number(value) and value > 0):
                raise ValueError(f"bounds: {name} must be a positive number, got {value!r}")
        return _ordered(float(self.near), float(self.far))


class QuantileBounds(Bounds):
    """Two quantiles of the squared distances of the pairs, as in ITML (there the 5th and the 95th percentile)."""

    name = "quantile"

    def __init__(self, near: float = 0.05, far: float = 0.95) -> None:
        self.near = near
        self.far = far

    def limits(self, squared: FloatArray) -> tuple[float, float]:
        for name, value in (("near", self.near), ("far", self.far)):
            if not (is_number(value) and 0 <= value <= 1):
                raise ValueError(f"bounds: the quantile {name} must be a number from 0 to 1, got {value!r}")
        _ordered(self.near, self.far)
        # Equal examples are at distance 0, and a bound has to be positive.
        near, far = np.quantile(squared[squared > 0.0], [self.near, self.far])
        return float(near), float(far)


def _ordered(near: float, far: float) -> tuple[float, float]:
    if near > far:
        raise ValueError(f"bounds: near must not be larger than far, got {near:g} and {far:g}")
    return near, far


BOUNDS: dict[str, type[Bounds]] = {
    "absolute": AbsoluteBounds,
    "quantile": QuantileBounds,
}


def get_bounds(bounds: Any) -> Bounds:
    """The bounds of that name, two numbers (near, far) as absolute bounds, or the object itself."""
    if isinstance(bounds, tuple | list | np.ndarray):
        if len(bounds) != 2:
            raise ValueError(f"bounds must be two numbers (near, far), got {bounds!r}")
        return AbsoluteBounds(*bounds)
    return resolve("bounds", bounds, BOUNDS, Bounds)

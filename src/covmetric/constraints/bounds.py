"""Bounds on squared distances: how near similar pairs should be, and how far apart dissimilar pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from covmetric._utils.registry import resolve
from covmetric._utils.validation import FloatArray, is_number
from covmetric._utils.warning import warn


class Bounds(ABC):
    """An upper bound for similar pairs and a lower bound for dissimilar pairs, in squared units.

    New bounds are a subclass and one line in `covmetric.constraints.BOUNDS`.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.constraints import get_bounds
    >>> get_bounds((0.1, 2.0)).limits(np.array([1.0, 3.0]))
    (0.1, 2.0)
    """

    #: The name of the bounds in `BOUNDS`.
    name: ClassVar[str]

    @abstractmethod
    def limits(self, squared: FloatArray) -> tuple[float, float]:
        """Return the two bounds.

        Parameters
        ----------
        squared : array of shape (K,)
            The squared distances of the pairs, divided by their scale. At least one is positive.

        Returns
        -------
        near : float
            The upper bound for similar pairs, > 0.
        far : float
            The lower bound for dissimilar pairs, >= `near`.

        Raises
        ------
        ValueError
            If a setting is invalid.
        """

    def of(self, squared: FloatArray) -> tuple[float, float]:
        """Return the two bounds; deprecated alias of `limits`.

        Parameters
        ----------
        squared : array of shape (K,)
            As in `limits`.

        Returns
        -------
        near : float
            As in `limits`.
        far : float
            As in `limits`.
        """
        warn("Bounds.of is deprecated, use Bounds.limits", FutureWarning)
        return self.limits(squared)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class AbsoluteBounds(Bounds):
    """Two fixed numbers.

    The defaults are the paper's numbers. The paper does not give their unit; the estimators divide squared distances by
    their median.

    Parameters
    ----------
    near : float, default=0.05
        The upper bound for similar pairs, > 0.
    far : float, default=0.95
        The lower bound for dissimilar pairs, >= `near`.

    Examples
    --------
    >>> import numpy as np
    >>> AbsoluteBounds().limits(np.array([0.5, 1.0, 2.0]))
    (0.05, 0.95)
    """

    name = "absolute"

    def __init__(self, near: float = 0.05, far: float = 0.95) -> None:
        self.near = near
        self.far = far

    def limits(self, squared: FloatArray) -> tuple[float, float]:
        for name, value in (("near", self.near), ("far", self.far)):
            if not (is_number(value) and value > 0):
                raise ValueError(f"bounds: {name} must be a positive number, got {value!r}")
        _check_order(self.near, self.far)
        return float(self.near), float(self.far)


class QuantileBounds(Bounds):
    """Two quantiles of the positive squared distances of the pairs, as in ITML.

    Parameters
    ----------
    near : float, default=0.05
        The quantile that bounds similar pairs from above, from 0 to 1.
    far : float, default=0.95
        The quantile that bounds dissimilar pairs from below, from `near` to 1.

    Examples
    --------
    >>> import numpy as np
    >>> QuantileBounds(0.25, 0.75).limits(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]))
    (2.0, 4.0)
    """

    name = "quantile"

    def __init__(self, near: float = 0.05, far: float = 0.95) -> None:
        self.near = near
        self.far = far

    def limits(self, squared: FloatArray) -> tuple[float, float]:
        for name, value in (("near", self.near), ("far", self.far)):
            if not (is_number(value) and 0 <= value <= 1):
                raise ValueError(f"bounds: the quantile {name} must be a number from 0 to 1, got {value!r}")
        _check_order(self.near, self.far)
        # Equal examples are at distance 0, and a bound has to be positive.
        near, far = np.quantile(squared[squared > 0.0], [self.near, self.far])
        return float(near), float(far)


def _check_order(near: float, far: float) -> None:
    if near > far:
        raise ValueError(f"bounds: near must not be larger than far, got {near:g} and {far:g}")


BOUNDS: dict[str, type[Bounds]] = {
    "absolute": AbsoluteBounds,
    "quantile": QuantileBounds,
}


def get_bounds(bounds: Any) -> Bounds:
    """Return the bounds with the given name.

    Parameters
    ----------
    bounds : {'absolute', 'quantile'}, (float, float) or Bounds
        A name from `BOUNDS`, the two numbers (near, far) of `AbsoluteBounds`, or an object, which is returned
        unchanged.

    Returns
    -------
    Bounds
        The bounds.

    Raises
    ------
    ValueError
        If the name is unknown, or if the number of bounds is not two.

    Examples
    --------
    >>> get_bounds([0.1, 2.0])
    AbsoluteBounds(near=0.1, far=2.0)
    """
    if isinstance(bounds, tuple | list | np.ndarray):
        if len(bounds) != 2:
            raise ValueError(f"bounds must be two numbers (near, far), got {bounds!r}")
        return AbsoluteBounds(*bounds)
    return resolve("bounds", bounds, BOUNDS, Bounds)

"""Selection orders of Dykstra's algorithm, one per file. `ORDERS` lists them by name."""

from __future__ import annotations

from covmetric._utils.registry import resolve
from covmetric.model_file import register_components
from covmetric.orders.base import Order
from covmetric.orders.cyclic import Cyclic
from covmetric.orders.permuted import Permuted
from covmetric.orders.random import Random

ORDERS: dict[str, type[Order]] = {
    "cyclic": Cyclic,
    "perm": Permuted,
    "rand": Random,
}
register_components(ORDERS.values())

__all__ = ["ORDERS", "Order", "get_order"]


def get_order(order: str | Order) -> Order:
    """Return the selection order with the given name.

    Parameters
    ----------
    order : {'cyclic', 'perm', 'rand'} or Order
        A name from `ORDERS`, or an object, which is returned unchanged.

    Returns
    -------
    Order
        The selection order.

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> get_order("cyclic").epoch(3, np.random.default_rng(0))
    array([0, 1, 2])
    """
    return resolve("order", order, ORDERS, Order)

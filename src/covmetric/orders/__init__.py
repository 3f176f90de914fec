"""Selection orders of Dykstra's algorithm. One a file; `ORDERS` lists them by name."""

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
    """The order of that name, or the object itself."""
    return resolve("order", order, ORDERS, Order)

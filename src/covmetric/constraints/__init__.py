"""Pairs, bounds and weights from labels. `PAIRS` lists the pair selections by name, `BOUNDS` the bounds."""

from __future__ import annotations

from covmetric._utils.registry import resolve
from covmetric.constraints.base import LabelledPairs, PairSelection, select_pairs
from covmetric.constraints.bounds import BOUNDS, AbsoluteBounds, Bounds, QuantileBounds, get_bounds
from covmetric.constraints.constraints import Constraints, bounded, check_scale, constrain, squared_distances
from covmetric.constraints.neighbors import NeighborPairs
from covmetric.constraints.random import RandomPairs
from covmetric.constraints.recipes import PairRecipe, RandomPairRecipe
from covmetric.model_file import register_components

PAIRS: dict[str, type[PairSelection]] = {
    "random": RandomPairs,
    "neighbors": NeighborPairs,
}
register_components(PAIRS.values(), new=("groups",))
register_components(BOUNDS.values())

__all__ = [
    "BOUNDS",
    "PAIRS",
    "AbsoluteBounds",
    "Bounds",
    "Constraints",
    "LabelledPairs",
    "NeighborPairs",
    "PairRecipe",
    "PairSelection",
    "QuantileBounds",
    "RandomPairRecipe",
    "RandomPairs",
    "bounded",
    "check_scale",
    "constrain",
    "get_bounds",
    "get_pairs",
    "select_pairs",
    "squared_distances",
]


def get_pairs(pairs: str | PairSelection, budget: int | None = None) -> PairSelection:
    """Return the pair selection with the given name.

    Parameters
    ----------
    pairs : {'random', 'neighbors'} or PairSelection
        A name from `PAIRS`, or an object, which is returned unchanged.
    budget : int or None, default=None
        The budget of a named selection; see the classes for what it counts. None means the default of the class.

    Returns
    -------
    PairSelection
        The pair selection.

    Raises
    ------
    ValueError
        If the name is unknown, or a budget is given together with an object.

    Examples
    --------
    >>> get_pairs("neighbors", budget=3)
    NeighborPairs(budget=3, groups='across', rounds=1)
    """
    settings = {} if budget is None else {"budget": budget}
    return resolve("pairs", pairs, PAIRS, PairSelection, settings=settings)

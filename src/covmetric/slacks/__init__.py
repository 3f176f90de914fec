"""Slack divergences, the cost of violating a bound, one per file. `SLACKS` lists them by name."""

from __future__ import annotations

from covmetric._utils.registry import resolve
from covmetric.model_file import register_components
from covmetric.slacks.base import Slack
from covmetric.slacks.itakura_saito import ItakuraSaito
from covmetric.slacks.relative_entropy import RelativeEntropy
from covmetric.slacks.squared import Squared

SLACKS: dict[str, type[Slack]] = {
    "is": ItakuraSaito,
    "l2": Squared,
    "re": RelativeEntropy,
}
register_components(SLACKS.values())

__all__ = ["SLACKS", "Slack", "get_slack"]


def get_slack(slack: str | Slack) -> Slack:
    """Return the slack divergence with the given name.

    Parameters
    ----------
    slack : {'is', 'l2', 're'} or Slack
        A name from `SLACKS`, or an object, which is returned unchanged.

    Returns
    -------
    Slack
        The slack divergence.

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> get_slack("l2").divergence(np.array([0.0, 1.0, 3.0]))
    array([0.5, 0. , 2. ])
    """
    return resolve("slack", slack, SLACKS, Slack)

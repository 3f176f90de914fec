"""Slack divergences: what missing a bound costs. One a file; `SLACKS` lists them by name."""

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
    """The slack of that name, or the object itself."""
    return resolve("slack", slack, SLACKS, Slack)

"""Whether a file holds all rows that the verdicts need, or belongs to an experiment that was stopped."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from covmetric.experiments.convergence import ORDERS
from covmetric.experiments.projection import SIZES
from covmetric.experiments.protocols import PROTOCOLS
from covmetric.experiments.rank_one import LAMBDAS
from covmetric.experiments.reading_definitions import READINGS
from covmetric.experiments.readings import BRODATZ, ETH80, SLACK
from covmetric.experiments.recognition import BALANCED, EYE, PHIS, SLACKS


@dataclass(frozen=True)
class Requirement:
    """The rows that the verdicts need from an experiment.

    Attributes
    ----------
    setting : function
        Returns the setting of a row, without its split, seed or repeat.
    split : function
        Returns the split, seed or repeat of a row.
    settings : function
        Returns the settings that must be there, each with the same splits, given all rows.
    """

    setting: Callable[[Any], Hashable]
    split: Callable[[Any], int]
    settings: Callable[[Sequence[Any]], list[Hashable]]


def _recognition_settings(data_set: str) -> list[Hashable]:
    return [
        (protocol, variant, phi, W)
        for protocol, (name, _) in PROTOCOLS.items()
        if name == data_set
        for phi in PHIS
        for variant, W in [("", EYE), *((BALANCED, slack) for slack in SLACKS)]
    ]


def _log_settings() -> list[Hashable]:
    """Return the settings of the remark on the logarithm."""
    return [
        (ETH80, variant, phi, W)
        for phi in ("log", "relog")
        for variant, W in [("", EYE), (BALANCED, SLACK), ("neighbour pairs", SLACK)]
    ]


def _convergence_settings(points: Sequence[Any]) -> list[Hashable]:
    return [(n, lam, order) for n, lam in dict.fromkeys((p.n, p.lam) for p in points) for order in ORDERS]


def _reading_settings() -> list[Hashable]:
    return [
        (reading, protocol, phi, W)
        for reading in READINGS
        for protocol in (BRODATZ, ETH80)
        for phi in PHIS
        for W in (EYE, SLACK)
    ]


_recognition_setting = attrgetter("protocol", "variant", "phi", "W")
REQUIREMENTS: dict[str, Requirement] = {
    "projection": Requirement(attrgetter("n"), attrgetter("round"), lambda rows: list(SIZES)),
    "convergence": Requirement(attrgetter("n", "lam", "order"), attrgetter("seed"), _convergence_settings),
    "leml": Requirement(attrgetter("lam"), attrgetter("seed"), lambda rows: list(LAMBDAS)),
    "eth80": Requirement(
        _recognition_setting, attrgetter("seed"), lambda rows: _recognition_settings("eth80") + _log_settings()
    ),
    "brodatz": Requirement(_recognition_setting, attrgetter("seed"), lambda rows: _recognition_settings("brodatz")),
    "eth80-sets": Requirement(attrgetter("lam"), attrgetter("repeat"), lambda rows: [np.inf]),
    "readings": Requirement(
        attrgetter("reading", "protocol", "phi", "W"), attrgetter("seed"), lambda rows: _reading_settings()
    ),
}


def missing_rows(experiment: str, rows: Sequence[Any]) -> str:
    """Say which rows an experiment lacks for the verdicts.

    Parameters
    ----------
    experiment : str
        A key of `REQUIREMENTS`.
    rows : sequence of dataclass instances
        Its rows.

    Returns
    -------
    str
        A few words on the first setting that lacks rows, or "" if none does.

    Examples
    --------
    >>> from covmetric.experiments.projection import projection
    >>> missing_rows("projection", projection(sizes=[25], K=5, rounds=2))
    '50 lacks 2 of 2 repeats'
    """
    requirement = REQUIREMENTS[experiment]
    splits: dict[Hashable, set[int]] = {setting: set() for setting in requirement.settings(rows)}
    for row in rows:
        splits.setdefault(requirement.setting(row), set()).add(requirement.split(row))
    everything = set().union(*splits.values())
    for setting, present in splits.items():
        if present != everything:
            return f"{setting} lacks {len(everything - present)} of {len(everything)} repeats"
    return ""

"""The steps of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

#: What a pipeline may have in place of a step.
_WITHOUT_STEP = (None, "passthrough")


def without_empty_steps(steps: Iterable[Any]) -> list[Any]:
    """Return the steps of a pipeline that do something.

    Parameters
    ----------
    steps : iterable of object
        Estimators, with None or "passthrough" in place of steps that were left out.

    Returns
    -------
    list of estimators
        The other steps, in the same order.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> without_empty_steps(["passthrough", StandardScaler(), None])
    [StandardScaler()]
    """
    return [step for step in steps if step not in _WITHOUT_STEP]

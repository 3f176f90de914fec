"""Which groups are sessions, so that each of them can be moved to its own mean."""

from __future__ import annotations

from covmetric.datasets.inputs import Inputs


def check_sessions(inputs: Inputs) -> None:
    """Raise ValueError if the groups cannot be moved to their means, or if that would remove the classes.

    Parameters
    ----------
    inputs : Inputs
        Examples with labels.

    Raises
    ------
    ValueError
        If the examples are vectors or have no groups, or if every group has examples of one class only.
    """
    if inputs.kind == "vectors":
        raise ValueError(
            "--recentre moves covariance matrices, but the examples are vectors; in Python, covmetric.Recentre takes "
            "vectors as well"
        )
    if inputs.groups is None:
        raise ValueError(
            "--recentre needs sessions: an array 'groups' in the .npz file, a column 'group' in the CSV file of "
            "--labels, or several files, each of which is then a session"
        )
    if not groups_mix_classes(inputs):
        raise ValueError(
            "--recentre would remove what tells the classes apart, because every group has examples of one class only: "
            "groups must be sessions or people, each with examples of several classes"
        )


def groups_mix_classes(inputs: Inputs) -> bool:
    """Return whether a group has examples of several classes, as a session has, but not the views of one object.

    Parameters
    ----------
    inputs : Inputs
        The examples.

    Returns
    -------
    bool
        False if there are no groups or no labels.

    Examples
    --------
    >>> import numpy as np
    >>> names, labels = np.array(["a", "b"]), np.array([0, 1])
    >>> groups_mix_classes(Inputs("matrices", np.ones((2, 3, 3)), names, labels, np.array(["Monday", "Monday"])))
    True
    """
    if inputs.groups is None or inputs.y is None:
        return False
    found = set(zip(inputs.groups.tolist(), inputs.y.tolist(), strict=True))
    return len(found) > len({group for group, _ in found})

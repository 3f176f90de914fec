"""Which groups are sessions."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.datasets.inputs import Inputs
from covmetric.tasks import groups_mix_classes

NAMES = np.array(list("abcd"))
X = np.stack([np.eye(2)] * 4)


@pytest.mark.parametrize(
    ("y", "groups", "expected"),
    [
        ([0, 1, 0, 1], ["Monday", "Monday", "Friday", "Friday"], True),
        ([0, 1, 0, 1], ["Monday", "Monday", "Friday", "Saturday"], True),  # one session is enough
        ([0, 0, 1, 1], ["cup", "cup", "dog", "dog"], False),
        ([0, 1, 0, 1], [1, 2, 3, 4], False),
        ([0, 1, 0, 1], None, False),
        (None, [1, 1, 2, 2], False),
    ],
)
def test_sessions_have_several_classes(y, groups, expected):
    y, groups = (None if one is None else np.array(one) for one in (y, groups))
    assert groups_mix_classes(Inputs("matrices", X, NAMES, y, groups)) is expected

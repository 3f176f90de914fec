"""Groups as users pass them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from covmetric.learning.group_labels import group_labels


@pytest.mark.parametrize(
    "groups",
    [
        pd.Series(["a", None] * 3, dtype="string"),
        pd.Series([1, None] * 3, dtype="Int64"),
        pd.Series(pd.to_datetime(["2026-01-01", None] * 3)),
        ["a", None] * 3,
        [1.0, np.nan] * 3,
    ],
    ids=["string", "Int64", "dates", "list", "floats"],
)
def test_missing_groups_are_refused_with_the_index(groups):
    with pytest.raises(ValueError, match=r"groups\[1\] is .*: every example needs a group, a text or a number"):
        group_labels(groups, 6)


def test_groups_are_python_scalars():
    assert group_labels(pd.Series(["a", "b"] * 3, dtype="string"), 6) == ["a", "b"] * 3
    assert [type(label) for label in group_labels(np.arange(2), 2)] == [int, int]
    assert group_labels("a", 2) == ["a", "a"]

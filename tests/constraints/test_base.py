"""Labelled pairs."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.constraints import LabelledPairs

PAIRS, CODES = np.array([[3, 0], [0, 1], [0, 3], [2, 1], [0, 1]]), np.array([0, 0, 1, 1])


def test_from_codes_sorts_removes_repetitions_and_labels():
    found = LabelledPairs.from_codes(PAIRS, CODES)
    np.testing.assert_array_equal(found.pairs, [[0, 1], [0, 3], [1, 2]])
    np.testing.assert_array_equal(found.similar, [1.0, -1.0, -1.0])


def test_from_codes_without_pairs():
    found = LabelledPairs.from_codes(np.empty((0, 2), dtype=np.int64), CODES)
    assert found.pairs.shape == (0, 2) and found.similar.shape == (0,)


def test_deprecated_alias_warns_at_the_line_of_the_user():
    with pytest.warns(FutureWarning) as caught:
        LabelledPairs.of(PAIRS, CODES)
    assert caught[0].filename == __file__


def test_old_name_of_from_codes_gives_the_same_pairs():
    with pytest.warns(FutureWarning, match="^LabelledPairs.of is deprecated, use LabelledPairs.from_codes$"):
        found = LabelledPairs.of(PAIRS, CODES)
    expected = LabelledPairs.from_codes(PAIRS, CODES)
    np.testing.assert_array_equal(found.pairs, expected.pairs)
    np.testing.assert_array_equal(found.similar, expected.similar)

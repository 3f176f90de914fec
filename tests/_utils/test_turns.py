"""Examples are chosen in turn by class."""

from __future__ import annotations

import numpy as np

from covmetric._utils.turns import choose_in_turn


def test_queries_are_chosen_in_turn_by_class_after_the_first_ones():
    labels = ["a"] * 5 + ["b"] * 2 + ["c"]
    assert choose_in_turn(labels, 48).tolist() == [0, 5, 7, 1, 6, 2, 3, 4]
    assert choose_in_turn(labels, 4, np.array([4, 6])).tolist() == [4, 6, 0, 5]
    assert choose_in_turn([], 4).tolist() == []

"""The tree in which blocks are added up has the same value wherever it is cut."""

from __future__ import annotations

import weakref

import pytest

from covmetric.problem.blocks.tree import folded, subtrees, tree_depth

joined = "({}+{})".format


def literal(values):
    """The tree, written down as the sum of its halves."""
    middle = len(values) // 2
    return str(values[0]) if len(values) == 1 else f"({literal(values[:middle])}+{literal(values[middle:])})"


@pytest.mark.parametrize("count", range(1, 71))
def test_every_cut_has_the_value_of_the_whole(count):
    expected = literal(range(count))
    assert folded(joined, map(str, range(count)), count) == expected
    for most in range(1, 2 * count + 2):
        cut = subtrees(count, most)
        parts = [folded(joined, map(str, range(first, last)), last - first) for first, last in cut]
        assert folded(joined, parts, len(parts)) == expected, most


@pytest.mark.parametrize("count", range(1, 71))
def test_cuts_are_even_and_nested(count):
    for most in range(1, 2 * count + 2):
        cut = subtrees(count, most)
        assert len(cut) == (count if count <= most else 2 ** (most.bit_length() - 1))
        assert [first for first, _ in cut] == [0, *(last for _, last in cut[:-1])] and cut[-1][1] == count
        sizes = [last - first for first, last in cut]
        assert max(sizes) - min(sizes) <= 1
        finer = subtrees(count, 2 * most)
        assert all(any(first <= a and b <= last for first, last in cut) for a, b in finer)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9, 64, 65])
def test_depth_is_the_longest_way_through_the_tree(count):
    assert folded(lambda first, second: max(first, second) + 1, [0] * count, count) == tree_depth(count)


def test_no_more_than_a_value_per_level_is_held():
    class Value:
        pass

    held = weakref.WeakSet()
    most = 0

    def made():
        value = Value()
        held.add(value)
        return value

    def values():
        nonlocal most
        for _ in range(256):
            value = made()
            most = max(most, len(held))
            yield value
            del value

    folded(lambda first, second: made(), values(), 256)
    assert most <= tree_depth(256) + 1


@pytest.mark.parametrize(("count", "message"), [(2, "there are more than 2 values"), (4, "fewer values than were ann")])
def test_another_number_of_values_is_refused(count, message):
    with pytest.raises(ValueError, match=message):
        folded(joined, "abc", count)

"""Which pairs the groups of the examples allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import IntArray

#: What a selection of pairs can do with groups.
GROUPS = ("across", "within", "ignore")


@dataclass(frozen=True)
class GroupFilter:
    """Which pairs of examples may be selected.

    Attributes
    ----------
    within : bool
        Whether all pairs must be within a group. Otherwise, similar pairs must be from different groups.
    codes : array of int of shape (l,)
        The class of each example.
    groups : array of int of shape (l,)
        The group of each example.
    has_other_groups : array of bool of shape (l,)
        Whether the class of each example has several groups. If not, its similar pairs may be within the group.
    """

    within: bool
    codes: IntArray
    groups: IntArray
    has_other_groups: npt.NDArray[np.bool_]

    @classmethod
    def create(cls, mode: str, codes: IntArray, groups: IntArray | None) -> Self | None:
        """Return the filter for examples, or None if all pairs are allowed.

        Parameters
        ----------
        mode : {'across', 'within', 'ignore'}
            What to do with groups; see `PairSelection`.
        codes : array of int of shape (l,)
            The class of each example, from 0 to n_c - 1.
        groups : array of int of shape (l,) or None
            The group of each example, or None if there are no groups.

        Returns
        -------
        GroupFilter or None
            The filter.
        """
        if groups is None or mode == "ignore":
            return None
        n_groups = np.array([len(np.unique(groups[codes == c])) for c in range(int(codes.max(initial=-1)) + 1)])
        return cls(mode == "within", codes, groups, n_groups[codes] > 1)

    def allows(self, i: IntArray, j: IntArray) -> npt.NDArray[np.bool_]:
        """Return whether the examples i and j may be a pair.

        Parameters
        ----------
        i, j : arrays of int
            The indices of the examples, of shapes that broadcast.

        Returns
        -------
        array of bool
            Whether each pair is allowed.

        Examples
        --------
        >>> codes, groups = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 0])
        >>> GroupFilter.create("across", codes, groups).allows(0, np.arange(1, 4)).tolist()
        [False, True, True]
        >>> GroupFilter.create("within", codes, groups).allows(0, np.arange(1, 4)).tolist()
        [True, False, True]
        """
        same_group = self.groups[i] == self.groups[j]
        if self.within:
            return np.asarray(same_group)
        return np.asarray(~same_group | (self.codes[i] != self.codes[j]) | ~self.has_other_groups[i])

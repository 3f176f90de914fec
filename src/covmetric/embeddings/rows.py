"""The meaning of the rows of Phi, and therefore of the rows of W."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covmetric._utils.validation import IntArray, Matrices


class RowDescription:
    """The part of an embedding that relates the rows of Phi to the channels or features of an example.

    By default, row i of Phi belongs to channel i. An embedding whose rows are not channels overrides these methods. If
    the rows of Phi are coordinates in a basis, such as principal directions, `row_names` and `row_channels` describe
    the vectors that `to_named_rows` expands them to.
    """

    #: The shape of an example.
    shape_in_: tuple[int, ...]

    def channel_names(self, names: Sequence[str] | None = None) -> list[str]:
        """Return the names of the channels or features of an example.

        Parameters
        ----------
        names : sequence of str or None, default=None
            The names. None means x0, x1, ...

        Returns
        -------
        list of str
            One name per channel.

        Raises
        ------
        ValueError
            If there is not one name per channel.
        """
        n = self.shape_in_[0]
        if names is None:
            return [f"x{i}" for i in range(n)]
        labels = [str(name) for name in names]
        if len(labels) != n:
            raise ValueError(f"names must have one entry per channel, {n}; got {len(labels)}")
        return labels

    def row_names(self, names: Sequence[str] | None = None) -> list[str]:
        """Return the names of the rows of Phi, which are also the rows of W.

        Parameters
        ----------
        names : sequence of str or None, default=None
            The names of the channels. None means x0, x1, ...

        Returns
        -------
        list of str
            One name per row. For Hermitian matrices, one name per row of the complex Phi. If the rows of Phi are
            coordinates in a basis, one name per row of the result of `to_named_rows`.
        """
        return self.channel_names(names)

    def row_channels(self) -> IntArray:
        """Return the channels to which each row of Phi belongs, in the order of `row_names`.

        Returns
        -------
        array of int of shape (n_names, k)
            The indices of the k channels of each row. The contribution of a row is divided equally among them.
        """
        return np.arange(self.shape_in_[0])[:, None]

    def to_named_rows(self, columns: Matrices) -> Matrices:
        """Return columns over the rows of Phi as columns over the rows that `row_names` describes.

        The map preserves inner products.

        Parameters
        ----------
        columns : array of shape (n_rows, k)
            Columns, such as those of Phi(X).

        Returns
        -------
        array of shape (n_names, k)
            The expanded columns; `columns` itself, unless the rows of Phi are coordinates in a basis.
        """
        return columns

    def filters(self, vectors: Matrices) -> Matrices:
        """Return the weights with which the channels are combined into directions of the rows of Phi.

        Parameters
        ----------
        vectors : array of shape (n_rows, k)
            Directions in the coordinates on which W acts, as columns.

        Returns
        -------
        array of shape (n_names, k)
            The weights, as columns; `vectors` itself, unless Phi mixes the channels.
        """
        return vectors

    def patterns(self, vectors: Matrices) -> Matrices:
        """Return the patterns over the channels that belong to directions of the rows of Phi.

        Parameters
        ----------
        vectors : array of shape (n_rows, k)
            Directions in the coordinates on which W acts, as columns.

        Returns
        -------
        array of shape (n_names, k)
            The patterns, as columns; `vectors` itself, unless Phi mixes the channels.
        """
        return vectors

"""The embedded examples that problems share, and what is derived from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.tuning import KEPT_BYTES
from covmetric._utils.validation import FloatArray, read_only


class Examples:
    """Embedded examples, and what is derived from them. Problems on the same examples share one object.

    Parameters
    ----------
    rows : array of shape (l, m, n)
        The embedded examples, each transposed, C-contiguous.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.problem.examples import Examples
    >>> Examples(np.array([[[0.0, 0.0]], [[2.0, 4.0]]])).centred().tolist()
    [[[-1.0, -2.0]], [[1.0, 2.0]]]
    """

    def __init__(self, rows: FloatArray) -> None:
        self.rows = rows
        self._kept_centred: FloatArray | None = None
        self._sizes: FloatArray | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes that cannot be computed from others."""
        return {"rows": self.rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # The order of sums depends on the alignment, and arrays that were sent to a worker need not be aligned.
        self.__init__(np.require(state["rows"], None, "A"))  # type: ignore[misc]

    def centred(self) -> FloatArray:
        """Return the transposed examples minus their mean.

        Returns
        -------
        array of shape (l, m, n)
        """
        if self._kept_centred is not None:
            return self._kept_centred
        centred: FloatArray = read_only(self.rows - self.rows.mean(axis=0))
        if centred.nbytes <= KEPT_BYTES:
            self._kept_centred = centred
        return centred

    def sizes(self) -> FloatArray:
        """Return the squared norms of the examples minus their mean.

        Returns
        -------
        array of shape (l,)
        """
        if self._sizes is None:
            rows = self.centred()
            self._sizes = np.einsum("lan,lan->l", rows, rows)
        return self._sizes

"""Errors about examples, with the names that users know instead of indices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# "X[3]", or an entry of an example: "X[3][0, 1]" of a matrix, "X[3, 1]" of a vector. The error begins with it, or it
# follows a comma: "group 'a' has only one example, X[3], which ...".
_EXAMPLE = re.compile(r"(?:^|(?<=, ))X\[(\d+)(?:, ([\d, ]+))?\](?!\w)")


@contextmanager
def example_names(names: Any) -> Iterator[None]:
    """Let errors about an example X[i] within a `with` block have the name of the example in its place.

    Parameters
    ----------
    names : sequence of str
        The names of the examples.

    Yields
    ------
    None
        Control returns to the `with` block.

    Raises
    ------
    ValueError
        If the block raises it; with the name if it is about an example.

    Examples
    --------
    >>> with example_names(["a.npz[0]", "a.npz[1]"]):
    ...     raise ValueError("X[1][0, 2] is nan: NaN and infinity are not allowed")
    Traceback (most recent call last):
    ValueError: a.npz[1][0, 2] is nan: NaN and infinity are not allowed
    """
    try:
        yield
    except ValueError as error:
        found = _EXAMPLE.search(str(error))
        if found is None or int(found[1]) >= len(names):
            raise
        entry = f"[{found[2]}]" if found[2] else ""
        before, after = str(error)[: found.start()], str(error)[found.end() :]
        raise ValueError(f"{before}{names[int(found[1])]}{entry}{after}") from error

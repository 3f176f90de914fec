"""Calls that leave an estimator as it was if they fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def restored_on_failure(*estimators: Any) -> Iterator[None]:
    """Give estimators back their attributes if an error, or Ctrl-C, ends the ``with`` block.

    Parameters
    ----------
    *estimators : object
        The estimators. The block may assign their attributes, but must not change the objects that these hold.

    Yields
    ------
    None

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> estimator = SimpleNamespace(W_=1)
    >>> try:
    ...     with restored_on_failure(estimator):
    ...         estimator.W_, estimator.n_iter_ = 2, 5
    ...         raise ValueError
    ... except ValueError:
    ...     print(estimator)
    namespace(W_=1)
    """
    before = [(one, dict(vars(one))) for one in estimators]
    try:
        yield
    except BaseException:
        for one, attributes in before:
            vars(one).clear()
            vars(one).update(attributes)
        raise

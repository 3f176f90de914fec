"""The base class of objects that can be saved to a file."""

from __future__ import annotations

import os
from typing import Self

from covmetric.model_file.files import read_model, write_model


class Savable:
    """Base class with the methods `save` and `load`, for registered classes.

    Examples
    --------
    >>> from covmetric import CovMetric
    >>> issubclass(CovMetric, Savable)
    True
    """

    def is_fitted(self) -> bool:
        """Return whether the object is fitted. Only fitted objects can be saved.

        Returns
        -------
        bool
            Always True, unless a subclass overrides this method.
        """
        return True

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted object to a file; see `covmetric.save_model`.

        Parameters
        ----------
        path : path-like
            The file. An existing file is replaced.
        """
        write_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load an object of this class from a file; see `covmetric.load_model`.

        Parameters
        ----------
        path : path-like
            A file that `save` wrote.

        Returns
        -------
        object
            A fitted object of this class.

        Raises
        ------
        ValueError
            If the file is not a model, or holds an object of another class.
        """
        model = read_model(path, cls)
        assert isinstance(model, cls)
        return model

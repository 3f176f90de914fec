"""The base class of everything that can be saved to a file of its own."""

from __future__ import annotations

import os
from typing import Self

from covmetric.model_file.files import read_model, write_model


class Savable:
    """Adds `save` and `load` to a class that is registered with the codec."""

    def is_fitted(self) -> bool:
        """Return whether there is anything to save.

        Returns
        -------
        bool
        """
        return True

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, without pickle; see `covmetric.save_model`.

        Parameters
        ----------
        path : path-like
            An existing file is replaced.
        """
        write_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load from a file; see `covmetric.load_model`.

        Parameters
        ----------
        path : path-like
            A file that `save` wrote.

        Returns
        -------
        object
            An object of this class.

        Raises
        ------
        ValueError
            If the file is not a model, or holds an object of another class.
        """
        model = read_model(path, cls)
        assert isinstance(model, cls)
        return model

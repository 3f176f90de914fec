"""`save` and `load` of everything that has been learned."""

from __future__ import annotations

import os
from typing import Self


class Savable:
    """Methods of what a model file can hold."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to a file, without pickle; see `covmetric.save_model`."""
        from covmetric.model_file import save_model

        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load from a file; see `covmetric.load_model`. ValueError where it holds something else."""
        from covmetric.model_file import load_model

        model = load_model(path)
        if not isinstance(model, cls):
            raise ValueError(f"{path} holds a {type(model).__name__}, not a {cls.__name__}")
        return model

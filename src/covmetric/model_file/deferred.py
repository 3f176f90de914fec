"""Classes of other libraries that model files may hold, imported when they first occur."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from covmetric.model_file.kinds import Kind


@dataclass(frozen=True)
class DeferredClass:
    """A class that is imported when a model holds an object of it, or when a file names it.

    Attributes
    ----------
    module : str
        The public module of the class, such as "sklearn.linear_model".
    class_name : str
        The name of the class in this module.
    name : str
        The name of the class in files.
    make_kind : callable
        A function that takes the name and the class, and returns its kind.
    """

    module: str
    class_name: str
    name: str
    make_kind: Callable[[str, type], Kind]

    def loaded_class(self) -> Any:
        """Return the class if its module has been imported.

        Returns
        -------
        type or None
            The class. Without its module there cannot be an object of it.
        """
        return getattr(sys.modules.get(self.module), self.class_name, None)

    def kind(self) -> Kind:
        """Import the class.

        Returns
        -------
        Kind
            The class with its conversions.

        Raises
        ------
        ValueError
            If the library is not installed.
        """
        try:
            cls = getattr(importlib.import_module(self.module), self.class_name)
        except (ImportError, AttributeError) as error:
            raise ValueError(
                f"it holds a {self.class_name} of {self.module}, which cannot be imported: {error}"
            ) from None
        return self.make_kind(self.name, cls)

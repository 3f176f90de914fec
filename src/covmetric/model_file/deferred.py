"""Finding the kind of an object, or of a name in a file.

The classes of covmetric register themselves when they are imported. The classes of other libraries, which take long to
import, are registered when they first occur.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from covmetric.model_file.kinds import KINDS, KINDS_BY_CLASS, Kind, register


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


#: The classes of other libraries, by their name in files.
DEFERRED: dict[str, DeferredClass] = {}


def defer(*classes: DeferredClass) -> None:
    """Allow the objects of classes of other libraries in model files.

    Parameters
    ----------
    *classes : DeferredClass
        The classes.
    """
    DEFERRED.update({cls.name: cls for cls in classes})


def kind_of(value: Any) -> Kind | None:
    """Return the kind of an object.

    Parameters
    ----------
    value : object
        The object.

    Returns
    -------
    Kind or None
        None if a file cannot hold objects of its class.
    """
    if type(value) not in KINDS_BY_CLASS:
        for deferred in DEFERRED.values():
            if deferred.loaded_class() is type(value):
                register(deferred.kind())
    return KINDS_BY_CLASS.get(type(value))


def find_kind(name: Any) -> Kind | None:
    """Return the kind with a name, which may come from a hostile file.

    Parameters
    ----------
    name : object
        The name.

    Returns
    -------
    Kind or None
        None if no class that files may hold has this name.
    """
    if not isinstance(name, str):
        return None
    if name not in KINDS and name in DEFERRED:
        register(DEFERRED[name].kind())
    return KINDS.get(name)

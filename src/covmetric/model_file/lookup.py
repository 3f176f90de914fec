"""Finding the kind of an object, or of a name in a file.

The classes of covmetric register themselves when they are imported. The classes of other libraries, which take long to
import, are registered when they first occur.
"""

from __future__ import annotations

from typing import Any

from covmetric.model_file.kinds import KINDS, KINDS_BY_CLASS, Kind, register
from covmetric.model_file.other_libraries import OTHER_CLASSES
from covmetric.model_file.pipelines import PIPELINE

_DEFERRED = {known.name: known for known in (PIPELINE, *OTHER_CLASSES)}


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
        for known in _DEFERRED.values():
            if known.loaded_class() is type(value):
                register(known.kind())
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
    if name not in KINDS and name in _DEFERRED:
        register(_DEFERRED[name].kind())
    return KINDS.get(name)

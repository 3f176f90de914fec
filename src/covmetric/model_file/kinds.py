"""The classes whose objects a model file may hold, and how each is taken apart and put together again.

This package lies below all others: a class that can be saved registers itself here, so that nothing has to be imported
to save it. Only registered classes can be named by a file.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self

import numpy as np

from covmetric._utils.validation import is_count


@dataclasses.dataclass(frozen=True)
class Kind:
    """How the objects of a class are taken apart into named parts, and put together again.

    Attributes
    ----------
    name : str
        The name of the class in files.
    cls : type
        The class.
    take_apart : callable
        From an object to a dict of its parts.
    put_together : callable
        From such a dict, which may come from a hostile file, to an object; raises ValueError if the parts make none.
    replaceable : dict
        Parts that are saved with the value given here if a file cannot hold them.
    """

    name: str
    cls: type
    take_apart: Callable[[Any], dict[str, Any]]
    put_together: Callable[[dict[str, Any]], Any]
    replaceable: dict[str, Any] = dataclasses.field(default_factory=dict)


class Stateful(Protocol):
    """An object that knows its own state for a file."""

    def get_state(self) -> dict[str, Any]:
        """Return the parts of the object."""
        ...

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Make an object of its parts, which may come from a hostile file."""
        ...


#: The registered kinds, by their name in files.
KINDS: dict[str, Kind] = {}
#: The same, by class.
KINDS_BY_CLASS: dict[type, Kind] = {}
#: The registered enumerations, by their tag in files.
ENUMS: dict[str, type[enum.Enum]] = {}


def register(kind: Kind) -> None:
    """Allow the objects of a class in model files.

    Parameters
    ----------
    kind : Kind
        The class and how to store it.

    Raises
    ------
    ValueError
        If another class is registered under the same name.
    """
    known = KINDS.get(kind.name)
    if known is not None and known.cls is not kind.cls:
        raise ValueError(f"two classes are called {kind.name!r} in model files: {known.cls} and {kind.cls}")
    KINDS[kind.name] = KINDS_BY_CLASS[kind.cls] = kind


def register_enum(tag: str, cls: type[enum.Enum]) -> None:
    """Allow the members of an enumeration in model files.

    Parameters
    ----------
    tag : str
        The entry of the manifest that marks a member, with a leading dollar sign.
    cls : type
        The enumeration.
    """
    ENUMS[tag] = cls


def register_components(classes: Iterable[type]) -> None:
    """Register classes whose objects keep the arguments of their constructor under the same names, and nothing else.

    Parameters
    ----------
    classes : iterable of types
        The classes, for example the values of a registry.
    """
    for cls in classes:
        names = list(constructor_defaults(cls))
        register(Kind(cls.__name__, cls, _getter(names), _constructor(cls)))


def register_record(cls: Any, name: str | None = None) -> None:
    """Register a dataclass; the parts in a file must have the types that the fields are declared with.

    Parameters
    ----------
    cls : type
        The dataclass.
    name : str or None, default=None
        The name of the class in files; None: its own.
    """
    declared = {field.name: field.type for field in dataclasses.fields(cls)}

    def put_together(state: dict[str, Any]) -> Any:
        hints = typing.get_type_hints(cls)
        for part, words in declared.items():
            if not fits(hints[part], state[part]):
                raise ValueError(f"{cls.__name__}.{part} must be {words}, got {state[part]!r:.60}")
        return cls(**state)

    register(Kind(name or cls.__name__, cls, _getter(list(declared)), put_together))


def register_stateful(cls: type[Stateful], replaceable: dict[str, Any] | None = None) -> None:
    """Register a class whose objects know their own state.

    Parameters
    ----------
    cls : type
        A class with `get_state` and `from_state`.
    replaceable : dict or None, default=None
        Parts that are saved with the value given here if a file cannot hold them.
    """
    register(Kind(cls.__name__, cls, cls.get_state, cls.from_state, replaceable or {}))


def constructor_defaults(cls: type) -> dict[str, Any]:
    """Return the names of the arguments of a constructor, with their defaults.

    Parameters
    ----------
    cls : type
        The class.

    Returns
    -------
    dict
    """
    parameters = inspect.signature(cls).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is not p.VAR_KEYWORD}


def for_any_machine(state: dict[str, Any]) -> dict[str, Any]:
    """Return settings without the number of jobs, which belongs to the machine and not to the model.

    Parameters
    ----------
    state : dict
        Settings by name.

    Returns
    -------
    dict
    """
    return {**state, "n_jobs": None} if "n_jobs" in state else state


def fits(hint: Any, value: Any) -> bool:
    """Return whether a value that came from a file has the declared type.

    Parameters
    ----------
    hint : type
        As of `typing.get_type_hints`. Floats must be finite, integers must not be negative; functions never fit.
    value : object
        The value.

    Returns
    -------
    bool

    Examples
    --------
    >>> fits(float | None, 1.5), fits(float | None, "1.5"), fits(tuple[float, float], (0.0, 1.0))
    (True, False, True)
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(fits(argument, value) for argument in arguments)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype == typing.get_args(arguments[1])[0]
    if origin is tuple:
        return isinstance(value, tuple) and len(value) == len(arguments) and all(map(fits, arguments, value))
    if origin is collections.abc.Callable:
        return False
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
    if hint is int:
        return is_count(value)
    return isinstance(value, origin or hint)


def _getter(names: list[str]) -> Callable[[Any], dict[str, Any]]:
    return lambda value: {name: getattr(value, name) for name in names}


def _constructor(cls: type) -> Callable[[dict[str, Any]], Any]:
    return lambda state: cls(**for_any_machine(state))

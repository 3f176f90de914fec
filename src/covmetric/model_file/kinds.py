"""The register of the classes whose objects a model file may hold.

This package lies below all others. A class that can be saved registers itself here when it is defined, so saving it
imports nothing. A file can only name registered classes.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import math
import types
import typing
from collections.abc import Callable, Collection, Iterable
from typing import Any, Protocol, Self

import numpy as np

from covmetric._utils.validation import is_count


@dataclasses.dataclass(frozen=True)
class Kind:
    """A class of objects in model files, with its conversions to and from a dict of named parts.

    Attributes
    ----------
    name : str
        The name of the class in files.
    cls : type
        The class.
    get_state : callable
        A function that takes an object of the class and returns a dict of its parts.
    from_state : callable
        A function that takes such a dict, which may come from a hostile file, and returns an object. It raises
        ValueError if the parts are invalid.
    replaceable : dict
        The parts that may be replaced in a file, with their replacements. A part is replaced if a file cannot hold it.
    is_fitted : callable or None
        A function that takes an object of the class and returns whether it is fitted. None if its objects are parts of
        models, and not models.
    """

    name: str
    cls: type
    get_state: Callable[[Any], dict[str, Any]]
    from_state: Callable[[dict[str, Any]], Any]
    replaceable: dict[str, Any] = dataclasses.field(default_factory=dict)
    is_fitted: Callable[[Any], bool] | None = None


class NotStorable(ValueError):
    """Error for an object that a model file cannot hold."""


class Stateful(Protocol):
    """An object that converts itself to a dict of named parts."""

    def get_state(self) -> dict[str, Any]:
        """Return the parts of the object.

        Returns
        -------
        dict
            The values by name. A model file can hold them.
        """
        ...

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Create an object from its parts.

        Parameters
        ----------
        state : dict
            Parts as returned by `get_state`. They may come from a hostile file.

        Returns
        -------
        object
            An object of this class.

        Raises
        ------
        ValueError
            If the parts are invalid.
        """
        ...


#: The registered kinds, by their name in files.
KINDS: dict[str, Kind] = {}
#: The registered kinds, by class.
KINDS_BY_CLASS: dict[type, Kind] = {}
#: The registered enumerations, by their tag in files.
ENUMS: dict[str, type[enum.Enum]] = {}

# The tags that the codec uses internally.
_RESERVED_TAGS = frozenset({"$array", "$class", "$dict", "$float", "$objects", "$tuple"})


def register(kind: Kind) -> None:
    """Allow the objects of a class in model files.

    Parameters
    ----------
    kind : Kind
        The class and its conversions.

    Raises
    ------
    ValueError
        If another class has the same name in files, or if the class is registered under a different name.
    """
    namesake = KINDS.get(kind.name)
    # A module that is reloaded defines its classes again.
    if namesake is not None and _qualified_name(namesake.cls) != _qualified_name(kind.cls):
        raise ValueError(f"two classes are called {kind.name!r} in model files: {namesake.cls} and {kind.cls}")
    registered = KINDS_BY_CLASS.get(kind.cls)
    if registered is not None and registered.name != kind.name:
        raise ValueError(f"{kind.cls} is already called {registered.name!r} in model files, not {kind.name!r}")
    KINDS[kind.name] = KINDS_BY_CLASS[kind.cls] = kind


def register_enum(tag: str, class_: type[enum.Enum]) -> None:
    """Allow the members of an enumeration in model files.

    Parameters
    ----------
    tag : str
        The key of the manifest that marks a member. It starts with a dollar sign.
    class_ : type
        The enumeration.

    Raises
    ------
    ValueError
        If the tag does not start with a dollar sign, or is in use.

    Examples
    --------
    >>> from covmetric.solvers import Status
    >>> register_enum("$status", Status)
    """
    if not tag.startswith("$"):
        raise ValueError(f"tag must start with a dollar sign, got {tag!r}")
    registered = ENUMS.get(tag, class_)
    if tag in _RESERVED_TAGS or _qualified_name(registered) != _qualified_name(class_):
        raise ValueError(f"tag {tag!r} is already in use in model files; choose another one for {class_}")
    ENUMS[tag] = class_


def register_components(classes: Iterable[type], new: Collection[str] = ()) -> None:
    """Register classes whose objects consist of the arguments of their constructor.

    The objects keep the arguments in attributes of the same names. They have no other state.

    Parameters
    ----------
    classes : iterable of types
        The classes, for example the values of a registry.
    new : collection of str, default=()
        The arguments that version 0.1.0 did not have. A file leaves them out if they have their default, so that the
        files of old models stay the same.

    Examples
    --------
    >>> from covmetric.slacks import SLACKS
    >>> register_components(SLACKS.values())
    """
    for class_ in classes:
        required = {name: default for name, default in constructor_defaults(class_).items() if name not in new}
        optional = {name: default for name, default in constructor_defaults(class_).items() if name in new}
        register(Kind(class_.__name__, class_, _getter(list(required), optional), _constructor(class_)))


def register_record(class_: Any, name: str | None = None) -> None:
    """Register a dataclass.

    The parts in a file must have the declared types of the fields; see `fits`. A field with a default factory is left
    out of a file if it has its default, and may be missing: files of older versions do not have it.

    Parameters
    ----------
    class_ : type
        The dataclass.
    name : str or None, default=None
        The name of the class in files. None means the name of the class.

    Examples
    --------
    >>> from covmetric import Certificate
    >>> register_record(Certificate)
    """
    declared = {field.name: field.type for field in dataclasses.fields(class_)}
    optional = {
        field.name: field.default_factory
        for field in dataclasses.fields(class_)
        if field.default_factory is not dataclasses.MISSING
    }

    def get_state(value: Any) -> dict[str, Any]:
        parts = {part: getattr(value, part) for part in declared}
        return {
            part: content
            for part, content in parts.items()
            if part not in optional or not np.array_equal(content, optional[part]())
        }

    register(Kind(name or class_.__name__, class_, get_state, lambda state: build_record(class_, state)))


def build_record(class_: Any, state: dict[str, Any]) -> Any:
    """Create an object of a dataclass from its fields, which may come from a hostile file.

    Parameters
    ----------
    class_ : type
        The dataclass.
    state : dict
        The fields by name. A field with a default factory may be missing.

    Returns
    -------
    object
        An object of the class.

    Raises
    ------
    ValueError
        If a field does not have its declared type; see `fits`.

    Examples
    --------
    >>> import dataclasses
    >>> from covmetric import Certificate
    >>> certificate = Certificate.from_values(2.0, 1.0, max_violation=0.0, tol=1e-6, rounding=0.0)
    >>> build_record(Certificate, dataclasses.asdict(certificate)) == certificate
    True
    """
    hints = typing.get_type_hints(class_)
    for field in dataclasses.fields(class_):
        part = field.name
        if part not in state:
            if field.default_factory is not dataclasses.MISSING:
                continue
            raise ValueError(f"{class_.__name__}.{part} is missing")
        if not fits(hints[part], state[part]):
            raise ValueError(f"{class_.__name__}.{part} must be {field.type}, got {state[part]!r:.60}")
    return class_(**state)


def register_stateful(class_: type[Stateful], replaceable: dict[str, Any] | None = None) -> None:
    """Register a class that has the methods `get_state` and `from_state`.

    Its objects are models if it also has the method `is_fitted`.

    Parameters
    ----------
    class_ : type
        The class.
    replaceable : dict or None, default=None
        The parts that may be replaced in a file, with their replacements. A part is replaced if a file cannot hold it.

    Examples
    --------
    >>> from covmetric import LearnedMetric
    >>> register_stateful(LearnedMetric)
    """
    is_fitted = getattr(class_, "is_fitted", None)
    register(Kind(class_.__name__, class_, class_.get_state, class_.from_state, replaceable or {}, is_fitted))


def constructor_defaults(class_: type) -> dict[str, Any]:
    """Return the arguments of a constructor.

    Parameters
    ----------
    class_ : type
        The class.

    Returns
    -------
    dict
        Defaults by the name of the argument; ``inspect.Parameter.empty`` for an argument without a default.

    Examples
    --------
    >>> from covmetric.neighbors import BruteSearch
    >>> constructor_defaults(BruteSearch)
    {'n_jobs': None}
    """
    parameters = inspect.signature(class_).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is not p.VAR_KEYWORD}


def for_any_machine(state: dict[str, Any]) -> dict[str, Any]:
    """Return settings with `n_jobs` and `executor` set to None.

    The number of jobs and the cluster belong to the machine and not to the model. A file must not choose them.

    Parameters
    ----------
    state : dict
        Settings by name.

    Returns
    -------
    dict
        The same settings, with None for `n_jobs` and `executor` if they include these.

    Examples
    --------
    >>> for_any_machine({"lam": 0.1, "n_jobs": 64})
    {'lam': 0.1, 'n_jobs': None}
    """
    return {name: None if name in ("n_jobs", "executor") else value for name, value in state.items()}


def fits(hint: Any, value: Any) -> bool:
    """Return whether a value from a file has the declared type.

    Floats must be finite and integers must not be negative. A Boolean is not a number. A function never fits, because a
    file cannot hold one.

    Parameters
    ----------
    hint : type
        A type as returned by `typing.get_type_hints`: Any, a class, a union, a tuple of fixed length, an array with a
        dtype, or a callable.
    value : object
        The value.

    Returns
    -------
    bool
        Whether the value fits the hint.

    Raises
    ------
    TypeError
        If the hint is of another form, such as a list with a type of items.

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
        (scalar,) = typing.get_args(arguments[1])
        if not isinstance(value, np.ndarray):
            return False
        return scalar is Any or value.dtype == scalar or (scalar is np.str_ and value.dtype.kind == "U")
    if origin is tuple and Ellipsis not in arguments:
        return isinstance(value, tuple) and len(value) == len(arguments) and all(map(fits, arguments, value))
    if origin is collections.abc.Callable:
        return False
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value)
    if hint is int:
        return is_count(value)
    cls = origin or hint
    # The items of any other container would not be checked.
    if not isinstance(cls, type) or (arguments and issubclass(cls, collections.abc.Iterable)):
        raise TypeError(f"values of the type {hint} cannot be checked")
    return isinstance(value, cls)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the range of floats
        return False


def _getter(names: list[str], optional: dict[str, Any]) -> Callable[[Any], dict[str, Any]]:
    def get_state(value: Any) -> dict[str, Any]:
        changed = [name for name, default in optional.items() if getattr(value, name) != default]
        return {name: getattr(value, name) for name in (*names, *changed)}

    return get_state


def _constructor(cls: type) -> Callable[[dict[str, Any]], Any]:
    return lambda state: cls(**for_any_machine(state))


def _qualified_name(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__

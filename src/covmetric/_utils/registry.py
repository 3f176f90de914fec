"""The resolution of a user's string or object to a component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

Component = TypeVar("Component")


def resolve(
    kind: str,
    value: object,
    registry: Mapping[str, type[Component]],
    base: Any,
    *,
    settings: Mapping[str, Any] | None = None,
    also: str | None = None,
    elsewhere: Mapping[str, str] | None = None,
) -> Component:
    """Return the component that a user's argument refers to.

    Parameters
    ----------
    kind : str
        The name of the argument, for error messages.
    value : str or object
        A name from the registry, or an instance of `base`, which is returned unchanged.
    registry : dict of str to type
        The classes by name.
    base : type
        The base class of all components.
    settings : dict or None, default=None
        Arguments for the constructor of the named class.
    also : str or None, default=None
        A further name that the caller understands, to be listed in the error message.
    elsewhere : dict of str to str or None, default=None
        Names that other libraries use, with the names of ours that correspond to them, for the error message.

    Returns
    -------
    object
        An instance of `base`.

    Raises
    ------
    ValueError
        If the name is unknown, if the class does not take the settings, or if settings are given with an object.

    Examples
    --------
    >>> resolve("number", "complex", {"complex": complex}, complex, settings={"real": 1.0})
    (1+0j)
    """
    if isinstance(value, base):
        if settings:
            raise ValueError(f"settings ({', '.join(settings)}) require {kind} to be a name, but it is an object")
        component: Component = value
        return component
    if isinstance(value, str) and value in registry:
        try:
            return registry[value](**(settings or {}))
        except TypeError as error:
            raise ValueError(f"{kind} {value!r} does not take these settings: {error}") from None
    ours = (elsewhere or {}).get(value) if isinstance(value, str) else None
    hint = f" (write {ours!r})" if ours else ""
    names = ", ".join(repr(name) for name in (*([also] if also else []), *registry))
    raise ValueError(f"{kind} must be one of {names}, or an object of the class {base.__name__}; got {value!r}{hint}")

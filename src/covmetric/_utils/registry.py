"""One way to turn a user's string or object into a component."""

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
) -> Component:
    """An instance for `value`: a name of the registry, made with the settings, or an object of the kind `base`.

    `also` is a name that the caller understands beside those of the registry, for the message.
    """
    if isinstance(value, base):
        if settings:
            raise ValueError(f"settings ({', '.join(settings)}) go with the name of a {kind}, not with an object")
        component: Component = value
        return component
    if isinstance(value, str) and value in registry:
        try:
            return registry[value](**(settings or {}))
        except TypeError as error:
            raise ValueError(f"{kind} {value!r} does not take these settings: {error}") from None
    names = ", ".join(repr(name) for name in (*([also] if also else []), *registry))
    raise ValueError(f"{kind} must be one of {names}, or an object of the class {base.__name__}; got {value!r}")

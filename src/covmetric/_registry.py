"""One way to turn a user's string or object into a component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

Component = TypeVar("Component")


def resolve(kind: str, value: object, registry: Mapping[str, type[Component]], base: Any, **settings: Any) -> Component:
    """An instance for `value`: a name of the registry, made with the settings, or an object of the kind `base`."""
    if isinstance(value, base) and not settings:
        component: Component = value
        return component
    if isinstance(value, str) and value in registry:
        return registry[value](**settings)
    names = ", ".join(repr(name) for name in registry)
    raise ValueError(f"{kind} must be one of {names}, or a {base.__name__} object; got {value!r}")

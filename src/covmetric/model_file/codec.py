"""Conversion of objects to a tree of JSON values with separate arrays, and back.

A file can only name registered classes, and each class checks its parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric.model_file.archive import is_storable
from covmetric.model_file.deferred import find_kind, kind_of
from covmetric.model_file.kinds import ENUMS, Kind, NotStorable

_MAX_DEPTH = 64
_NON_FINITE = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}


class Writer:
    """Encoder of objects as a tree of JSON values.

    Attributes
    ----------
    arrays : dict
        The arrays that the tree refers to, by name.
    replaced : list of str
        The messages about the parts that were replaced because a file cannot hold them.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, npt.NDArray[Any]] = {}
        self.replaced: list[str] = []

    def encode(self, value: Any, name: str) -> Any:
        """Return the tree of a value.

        Parameters
        ----------
        value : object
            The value.
        name : str
            The path of the value within the model, such as ``"metric_.W"``. Arrays and messages are labelled with it.

        Returns
        -------
        object
            Nested JSON values.

        Raises
        ------
        NotStorable
            If a file cannot hold the value.
        """
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.generic) and not isinstance(value.item(), np.generic):
            return self.encode(value.item(), name)
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return value if np.isfinite(value) else {"$float": str(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if isinstance(value, list | tuple):
            items = [self.encode(item, f"{name}.{i}") for i, item in enumerate(value)]
            return items if isinstance(value, list) else {"$tuple": items}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"$dict": {key: self.encode(item, f"{name}.{key}") for key, item in value.items()}}
        for tag, cls in ENUMS.items():
            if isinstance(value, cls):
                return {tag: value.name}
        kind = kind_of(value)
        if kind is None:
            raise NotStorable(f"{name.lstrip('_')} is a {type(value).__name__}, which a model file cannot hold")
        return {"$class": kind.name, "state": self._state(kind, value, name)}

    def _state(self, kind: Kind, value: Any, name: str) -> dict[str, Any]:
        state = {}
        for key, part in kind.get_state(value).items():
            arrays, replaced = dict(self.arrays), list(self.replaced)
            try:
                state[key] = self.encode(part, f"{name}.{key}" if name else key)
            except NotStorable as error:
                if key not in kind.replaceable:
                    raise
                self.arrays, self.replaced = arrays, replaced  # discard what was encoded inside the part
                self.replaced.append(f"{error}: its default {kind.replaceable[key]!r} was saved instead")
                state[key] = self.encode(kind.replaceable[key], key)
        return state

    def _array(self, value: npt.NDArray[Any], name: str) -> Any:
        if value.dtype == object and value.ndim == 1:
            return {"$objects": [self.encode(item, f"{name}.{i}") for i, item in enumerate(value.tolist())]}
        array = value.astype(value.dtype.newbyteorder("<"), copy=False)
        if not is_storable(array.dtype):
            raise NotStorable(f"{name} is an array of dtype {value.dtype}, which a model file cannot hold")
        if name in self.arrays:
            raise NotStorable(f"{name} is the name of two arrays in the model")
        self.arrays[name] = array
        return {"$array": name}


class Reader:
    """Decoder of a tree of JSON values.

    Parameters
    ----------
    arrays : dict
        The arrays that the tree may refer to, by name. Each can be used once.
    """

    def __init__(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        self._arrays = dict(arrays)

    def decode(self, node: Any, depth: int = 0) -> Any:
        """Return the value of a tree, which may come from a hostile file.

        Parameters
        ----------
        node : object
            The tree.
        depth : int, default=0
            The number of levels above it.

        Returns
        -------
        object
            The value.

        Raises
        ------
        ValueError
            If the tree is invalid.
        """
        if depth > _MAX_DEPTH:
            raise ValueError("its manifest is nested too deeply")
        if node is None or isinstance(node, bool | str | int | float):
            return node
        if isinstance(node, list):
            return [self.decode(item, depth + 1) for item in node]
        if set(node) == {"$class", "state"}:
            return self._object(node, depth)
        if len(node) != 1:
            raise ValueError(f"its manifest has an entry with the keys {sorted(node)[:5]}, which must have one key")
        ((tag, content),) = node.items()
        return self._tagged(tag, content, depth)

    def _tagged(self, tag: str, content: Any, depth: int) -> Any:
        if tag == "$tuple":
            return tuple(self.decode(item, depth + 1) for item in _checked(tag, content, list))
        if tag == "$dict":
            return {key: self.decode(item, depth + 1) for key, item in _checked(tag, content, dict).items()}
        if tag == "$objects":
            array = np.empty(len(_checked(tag, content, list)), dtype=object)
            array[:] = [self.decode(item, depth + 1) for item in content]
            return array
        if tag == "$array":
            if _checked(tag, content, str) not in self._arrays:
                raise ValueError(f"its manifest uses the array {content[:80]!r}, which is missing, or uses it twice")
            return self._arrays.pop(content)
        allowed: Any = _NON_FINITE if tag == "$float" else ENUMS[tag].__members__ if tag in ENUMS else None
        if allowed is None:
            raise ValueError(f"its manifest has an entry with the unknown tag {tag[:80]!r}")
        if _checked(tag, content, str) not in allowed:
            raise ValueError(
                f"its manifest has the entry {content[:80]!r} under the tag {tag!r}, which has no such value"
            )
        return allowed[content]

    def _object(self, node: dict[str, Any], depth: int) -> Any:
        name = node["$class"]
        kind = find_kind(name)
        if kind is None:
            raise ValueError(f"it holds a {name!r:.80}, which is not a class that model files may hold")
        parts = _checked("state", node["state"], dict)
        state = {key: self.decode(part, depth + 1) for key, part in parts.items()}
        try:
            return kind.from_state(state)
        except KeyError as error:
            raise ValueError(f"the {name} in it has no entry {error}") from error
        except (ValueError, MemoryError):
            raise
        except Exception as error:  # parts that are valid in themselves, but not together, can lead to any error
            raise ValueError(f"the {name} in it cannot be restored: {type(error).__name__}: {error}") from error

    def finish(self) -> None:
        """Raise ValueError if the tree did not refer to all arrays."""
        if self._arrays:
            raise ValueError(f"its manifest does not use the arrays {sorted(self._arrays)[:5]}")


def _checked(tag: str, content: Any, type_: type) -> Any:
    """Return the content of an entry; raise ValueError if it is not of the type that belongs to the tag."""
    if not isinstance(content, type_):
        raise ValueError(f"its manifest has {content!r:.80} under {tag!r}, which is not a {type_.__name__}")
    return content

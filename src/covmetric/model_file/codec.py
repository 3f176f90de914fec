"""Objects as JSON and arrays, and back. Only registered classes can be named by a file, and each checks its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric.model_file.archive import is_storable
from covmetric.model_file.kinds import ENUMS, KINDS, KINDS_BY_CLASS, Kind

_MAX_DEPTH = 64
_NON_FINITE = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}


class NotStorable(ValueError):
    """Raised for what a model file cannot hold."""


class Writer:
    """Turns objects into a tree of JSON; collects the arrays, and what had to be replaced, on the way."""

    def __init__(self) -> None:
        self.arrays: dict[str, npt.NDArray[Any]] = {}
        self.replaced: list[str] = []

    def encode(self, value: Any, name: str) -> Any:
        """The tree of a value; `name` is where it belongs, for its arrays and for messages."""
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
        kind = KINDS_BY_CLASS.get(type(value))
        if kind is None:
            raise NotStorable(f"{name.lstrip('_')} is a {type(value).__name__}, which a model file cannot hold")
        return {"$class": kind.name, "state": self._state(kind, value, name)}

    def _state(self, kind: Kind, value: Any, name: str) -> dict[str, Any]:
        state = {}
        for key, part in kind.take_apart(value).items():
            try:
                state[key] = self.encode(part, f"{name}.{key}" if name else key)
            except NotStorable as error:
                if key not in kind.replaceable:
                    raise
                self.replaced.append(f"{error}: its default {kind.replaceable[key]!r} was saved instead")
                state[key] = self.encode(kind.replaceable[key], key)
        return state

    def _array(self, value: npt.NDArray[Any], name: str) -> Any:
        if value.dtype == object and value.ndim == 1:
            return {"$objects": [self.encode(item, f"{name}.{i}") for i, item in enumerate(value.tolist())]}
        array = value.astype(value.dtype.newbyteorder("<"), copy=False)
        if not is_storable(array.dtype):
            raise NotStorable(f"{name} is an array of dtype {value.dtype}, which a model file cannot hold")
        self.arrays[name] = array
        return {"$array": name}


class Reader:
    """Turns the tree back into objects."""

    def __init__(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        self._arrays = dict(arrays)

    def decode(self, node: Any, depth: int = 0) -> Any:
        """The value of a tree. Raises ValueError where it does not make sense."""
        if depth > _MAX_DEPTH:
            raise ValueError("its manifest is nested too deeply")
        if node is None or isinstance(node, bool | str | int | float):
            return node
        if isinstance(node, list):
            return [self.decode(item, depth + 1) for item in node]
        if set(node) == {"$class", "state"}:
            return self._object(node, depth)
        ((tag, content),) = node.items()
        if tag == "$tuple":
            return tuple(self.decode(item, depth + 1) for item in content)
        if tag == "$dict":
            return {key: self.decode(item, depth + 1) for key, item in content.items()}
        if tag == "$objects":
            array = np.empty(len(content), dtype=object)
            array[:] = [self.decode(item, depth + 1) for item in content]
            return array
        if tag == "$array":
            return self._arrays.pop(content)
        if tag == "$float":
            return _NON_FINITE[content]
        if tag in ENUMS:
            return ENUMS[tag][content]
        raise ValueError(f"its manifest has the unknown entry {tag[:80]!r}")

    def _object(self, node: dict[str, Any], depth: int) -> Any:
        kind = KINDS.get(node["$class"])
        if kind is None:
            raise ValueError(f"it holds a {node['$class']!r}, which is not a class of covmetric models")
        return kind.put_together({key: self.decode(part, depth + 1) for key, part in node["state"].items()})

    def finish(self) -> None:
        """Raise where arrays are left over."""
        if self._arrays:
            raise ValueError(f"its arrays {sorted(self._arrays)} belong to nothing")

"""Objects as JSON and arrays, and back. Only the classes of `KINDS` can be named by a file, and each is checked."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._validation import is_count, is_number
from covmetric.certificate import Certificate
from covmetric.constraints import BOUNDS, PAIRS, Bounds, Constraints, PairSelection
from covmetric.embeddings import EMBEDDINGS, Embedding
from covmetric.estimators import CovMetric, CovMetricClassifier, CovMetricCV, CovMetricPairs
from covmetric.estimators._learning import Recipe
from covmetric.metric import LearnedMetric
from covmetric.model_file.archive import is_storable
from covmetric.neighbors import SEARCHES
from covmetric.orders import ORDERS
from covmetric.slacks import SLACKS
from covmetric.solvers import SOLVERS, History, SolveResult, Status

ESTIMATORS = (CovMetric, CovMetricCV, CovMetricClassifier, CovMetricPairs)
MODELS = (LearnedMetric, *ESTIMATORS)
_MAX_DEPTH = 64
_NON_FINITE = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}


def is_fitted(model: Any) -> bool:
    """Whether a metric or an estimator has anything to save."""
    return isinstance(model, LearnedMetric) or hasattr(model, model._parts[0])


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
        if isinstance(value, Status):
            return {"$status": value.name}
        kind = _BY_CLASS.get(type(value))
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
        if tag == "$status":
            return Status[content]
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


@dataclasses.dataclass(frozen=True)
class Kind:
    """How the objects of a class are taken apart into named parts, and put together again.

    Parts that are in `replaceable` are saved as the value there where a file cannot hold them.
    """

    name: str
    cls: type
    take_apart: Callable[[Any], dict[str, Any]]
    put_together: Callable[[dict[str, Any]], Any]
    replaceable: dict[str, Any] = dataclasses.field(default_factory=dict)


def _arguments(cls: type) -> list[inspect.Parameter]:
    return [p for p in inspect.signature(cls).parameters.values() if p.kind is not p.VAR_KEYWORD]


def _component(cls: type) -> Kind:
    """A class that keeps what its constructor was given under the same names, and nothing else."""
    names = [p.name for p in _arguments(cls)]

    def put_together(state: dict[str, Any]) -> Any:
        return cls(**_for_any_machine(state))

    return Kind(cls.__name__, cls, lambda value: {n: getattr(value, n) for n in names}, put_together)


def _for_any_machine(state: dict[str, Any]) -> dict[str, Any]:
    """The number of jobs is a matter of the machine, not of the model, and not for a file to say."""
    return {**state, "n_jobs": None} if "n_jobs" in state else state


def _is_array(dtype: Any) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, np.ndarray) and value.dtype == dtype


#: What the declared types of the fields of a record stand for.
_DECLARED: dict[str, Callable[[Any], bool]] = {
    "FloatArray": _is_array(np.float64),
    "IntArray": _is_array(np.int64),
    "float": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value),
    "int": is_count,
    "tuple[float, float]": lambda value: isinstance(value, tuple) and len(value) == 2 and all(map(is_number, value)),
    "Status": lambda value: isinstance(value, Status),
    "Certificate": lambda value: isinstance(value, Certificate),
    "History": lambda value: isinstance(value, History),
    "Bounds": lambda value: isinstance(value, Bounds),
    "PairSelection | None": lambda value: isinstance(value, PairSelection),
    "Callback | None": lambda value: value is None,
    "int | None": lambda value: value is None or is_count(value),
}


def _record(cls: Any) -> Kind:
    """A dataclass, whose fields must have the types that they are declared with."""
    fields = dataclasses.fields(cls)

    def put_together(state: dict[str, Any]) -> Any:
        for field in fields:
            fits = _DECLARED.get(str(field.type))
            if fits is not None and not fits(state[field.name]):
                raise ValueError(f"{cls.__name__}.{field.name} must be {field.type}, got {state[field.name]!r:.60}")
        return cls(**state)

    return Kind(cls.__name__, cls, lambda v: {f.name: getattr(v, f.name) for f in fields}, put_together)


def _embedding(cls: type[Embedding]) -> Kind:
    settings = [p.name for p in _arguments(cls)]
    learned = ["shape_in_", "complex_", "whitener_"]

    def take_apart(value: Embedding) -> dict[str, Any]:
        return {n: getattr(value, n) for n in [*settings, *learned] if hasattr(value, n)}

    def put_together(state: dict[str, Any]) -> Embedding:
        embedding = cls(**{n: state.pop(n) for n in settings})
        if not state:
            return embedding  # not fitted: the parameter of an estimator
        embedding._restore(**state)
        return embedding

    return Kind(cls.__name__, cls, take_apart, put_together)


def _estimator(cls: Any) -> Kind:
    defaults = {p.name: p.default for p in _arguments(cls)}

    def take_apart(value: Any) -> dict[str, Any]:
        parameters = _for_any_machine({n: getattr(value, n) for n in defaults})
        return {**parameters, **(value._fitted_parts() if is_fitted(value) else {})}

    def put_together(state: dict[str, Any]) -> Any:
        estimator = cls(**_for_any_machine({n: state.pop(n) for n in defaults}))
        if state:  # else it is not fitted: the learner of a classifier
            estimator._restore(state)
        return estimator

    return Kind(cls.__name__, cls, take_apart, put_together, defaults)


def _metric() -> Kind:
    def put_together(state: dict[str, Any]) -> LearnedMetric:
        return LearnedMetric._restored(**state)

    parts = ("embedding", "W", "components")
    return Kind("LearnedMetric", LearnedMetric, lambda v: {n: getattr(v, n) for n in parts}, put_together)


_COMPONENTS: tuple[dict[str, Any], ...] = (PAIRS, BOUNDS, SLACKS, ORDERS, SOLVERS, SEARCHES)
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        _metric(),
        *map(_estimator, ESTIMATORS),
        *map(_embedding, EMBEDDINGS.values()),
        *(
            _component(cls)
            for registry in (PAIRS, BOUNDS, SLACKS, ORDERS, SOLVERS, SEARCHES)
            for cls in registry.values()
        ),
        *map(_record, (Certificate, History, SolveResult, Constraints, Recipe)),
    )
}
_BY_CLASS = {kind.cls: kind for kind in KINDS.values()}

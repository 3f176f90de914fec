"""Every dtype and container of X and y: the result of float64 arrays, or a clear error."""

from __future__ import annotations

import array
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.torture.outcomes import Tally, check_finite, check_result
from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, Recentre

DTYPES = [
    *("float16", "float32", "float64", "longdouble", ">f8", "int8", "int16", "int32", "int64", "uint8", "uint64"),
    *("bool", "complex64", "complex128", "object", "str", "bytes", "datetime64[s]", "timedelta64[s]"),
]


def _memmap(X: Any) -> Any:
    with tempfile.NamedTemporaryFile() as file:
        mapped = np.memmap(file.name, X.dtype, "w+", shape=X.shape)
        mapped[...] = X
        return mapped


def _frame(X: Any) -> Any:
    import pandas

    return pandas.DataFrame(X.reshape(len(X), -1))


def _read_only(X: Any) -> Any:
    X = X.copy()
    X.flags.writeable = False
    return X


class _ArrayLike:
    """An object that is an array only when NumPy asks."""

    def __init__(self, X: Any) -> None:
        self.X = X

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.X, dtype)

    def __len__(self) -> int:
        return len(self.X)


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "array": lambda X: X,
    "list": lambda X: X.tolist(),
    "list of arrays": list,
    "tuple": lambda X: tuple(map(tuple, X.tolist())),
    "read-only": _read_only,
    "Fortran order": np.asfortranarray,
    "negative strides": lambda X: X[::-1][::-1],
    "every other": lambda X: np.repeat(X, 2, axis=0)[::2],
    "memmap": _memmap,
    "DataFrame": _frame,
    "masked array": np.ma.masked_array,
    "array with a mask": lambda X: np.ma.masked_array(X, np.indices(X.shape).sum(axis=0) == 1),
    "array-like": _ArrayLike,
    "sparse": lambda X: scipy.sparse.csr_array(X.reshape(len(X), -1)),
    "generator": lambda X: (x for x in X),
    "set": lambda X: set(X.ravel().tolist()),
    "dict": lambda X: dict(enumerate(X)),
    "array.array": lambda X: array.array("d", np.asarray(X, float).ravel()),
    "Decimal": lambda X: [[Decimal(repr(float(v))) for v in np.ravel(x)] for x in X],
    "Fraction": lambda X: np.array([[Fraction(float(v)) for v in np.ravel(x)] for x in X], dtype=object),
    "ragged": lambda X: [x[: 1 + i % 2] for i, x in enumerate(X)],
    "huge integers": lambda X: [[10**400 * (1 + i) for _ in np.ravel(x)] for i, x in enumerate(X)],
    "None": lambda X: None,
    "number": lambda X: 3.0,
    "text": lambda X: "X",
    "empty": lambda X: X[:0],
    "4-D": lambda X: X[:, None, None],
}
LABELS: dict[str, Callable[[Any], Any]] = {
    "ints": lambda y: y,
    "text": lambda y: np.array(["left", "right"])[y],
    "bools": lambda y: y.astype(bool),
    "list of objects": lambda y: [("a", "b")[k] for k in y],
    "floats": lambda y: y.astype(float),
    "fractions": lambda y: y + 0.5,
    "NaN": lambda y: np.where(y, np.nan, 0.0),
    "None": lambda y: None,
    "mixed": lambda y: ["a" if k else 1 for k in y],
    "column": lambda y: y[:, None],
    "two columns": lambda y: np.stack([y, y], axis=1),
    "bytes": lambda y: np.array([b"a", b"b"])[y],
    "too short": lambda y: y[:-1],
    "one class": lambda y: 0 * y,
    "huge": lambda y: [10**400 * int(k) for k in y],
}


def _inputs() -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """Yield labels of inputs, and functions that make X and y."""
    rng = np.random.default_rng(0)
    y = np.arange(16) % 2
    A = rng.standard_normal((16, 3, 8)) * (1 + y)[:, None, None]
    for shape, X in {"matrices": A @ A.swapaxes(1, 2), "vectors": A[:, :, 0]}.items():
        for dtype in DTYPES:
            yield f"{shape}, {dtype}", lambda X=X, dtype=dtype: (4 * X).astype(dtype), lambda: y
        for name, wrap in CONTAINERS.items():
            yield f"{shape}, {name}", lambda X=X, wrap=wrap: wrap(X), lambda: y
        for name, label in LABELS.items():
            yield f"{shape}, y of {name}", lambda X=X: X, lambda label=label: label(y)


def containers(tally: Tally, seed: int, count: int) -> None:
    """Fit estimators to every dtype and container."""
    learners: list[Callable[[], Any]] = [
        lambda: CovMetric(random_state=seed),
        lambda: CovMetricClassifier(random_state=seed),
        lambda: CovMetricCV(lambdas=[1.0], cv=2, random_state=seed),
        Recentre,
    ]
    for make in learners[:count]:
        for label, make_X, make_y in _inputs():

            def work(make: Any = make, make_X: Any = make_X, make_y: Any = make_y) -> None:
                model = make()
                if isinstance(model, Recentre):
                    check_finite(model.fit(make_X()).transform(make_X()))
                    return
                model.fit(make_X(), make_y())
                check_result(getattr(model, "result_", None))
                check_finite((model.predict_proba if hasattr(model, "predict_proba") else model.transform)(make_X()))

            tally.attempt(work, f"{type(make()).__name__}, {label}")

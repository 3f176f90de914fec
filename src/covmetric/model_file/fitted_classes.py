"""The fitted attributes of classes of scikit-learn, as a written list of names, kinds and shapes."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covmetric._utils.validation import is_count
from covmetric.model_file.deferred import DeferredClass
from covmetric.model_file.kinds import Kind, NotStorable, constructor_defaults, for_any_machine

INTEGER = "integer"
NUMBER = "number"
TEXT = "text"
#: The number of training examples and of features.
SHAPE = "shape"
NONE = "none"
#: The values of a parameter that is either true or false.
EITHER = frozenset({True, False})
_OUTPUT = "output"
#: Attributes that any scikit-learn estimator may have.
_COMMON = {"n_features_in_": INTEGER, "feature_names_in_": "d", "_sklearn_output_config": _OUTPUT}


@dataclass(frozen=True)
class FittedClass:
    """The fitted attributes of a class of scikit-learn.

    Attributes
    ----------
    attributes : dict
        The forms of the attributes by name. A form is the kind of a scalar, or the shape of an array: one letter for
        each axis, where equal letters stand for equal sizes, d for the number of features, c for the number of classes,
        and k for 1 if there are two classes, and c otherwise. A vertical bar separates forms of which one must fit.
    optional : frozenset of str
        The attributes that need not be there.
    choices : dict
        The allowed values of parameters by name.
    required_by : callable
        Returns the optional attributes that are needed, for a dict of the parameters.
    derived : callable
        Returns the attributes that follow from the others, which files do not hold, for a fitted estimator or for one
        with the attributes of a file.
    check : callable
        Raises ValueError if attributes that are valid in themselves do not belong together. Its argument is the
        estimator without its derived attributes.
    """

    attributes: dict[str, str]
    optional: frozenset[str] = frozenset()
    choices: dict[str, frozenset[Any]] = field(default_factory=dict)
    required_by: Callable[[dict[str, Any]], set[str]] = field(default_factory=lambda: lambda state: set())
    derived: Callable[[Any], dict[str, Any]] = field(default_factory=lambda: lambda estimator: {})
    check: Callable[[Any], None] = field(default_factory=lambda: lambda estimator: None)

    def get_state(self, estimator: Any) -> dict[str, Any]:
        """Return the parameters and the attributes of an estimator.

        Parameters
        ----------
        estimator : object
            A fitted estimator.

        Returns
        -------
        dict
            The argument of `from_state`.

        Raises
        ------
        NotStorable
            If the estimator has attributes that are not listed, or a function where only names are allowed.
        """
        for name, allowed in self.choices.items():
            value = getattr(estimator, name, None)
            if callable(value):
                raise NotStorable(
                    f"{name} of {type(estimator).__name__} is a {type(value).__name__}, which files cannot hold, only "
                    f"{', '.join(map(repr, sorted(allowed)))}"
                )
        constant = set(vars(type(estimator)())) | set(estimator.get_params())  # what the constructor sets
        attributes = {name: value for name, value in vars(estimator).items() if name not in constant}
        if has_features(estimator):
            attributes |= {name: getattr(estimator, name) for name in self.attributes if hasattr(estimator, name)}
            attributes = {name: value for name, value in attributes.items() if name not in self.derived(estimator)}
        unknown = sorted(set(attributes) - set(self.attributes) - set(_COMMON))
        if unknown:
            raise NotStorable(f"a {type(estimator).__name__} has the attributes {unknown}, which files cannot hold")
        ordered = {name: attributes[name] for name in sorted(attributes)}
        by_columns = [name for name, value in ordered.items() if _is_by_columns(value)]
        return {"version": version_of("sklearn"), "by_columns": by_columns, **parameters_of(estimator), **ordered}

    def from_state(self, cls: type, state: dict[str, Any]) -> Any:
        """Return an estimator from its parts.

        Parameters
        ----------
        cls : type
            The class.
        state : dict
            The parts, which may come from a hostile file.

        Returns
        -------
        object
            The estimator.

        Raises
        ------
        ValueError
            If the parts are invalid.
        """
        by_columns = state.pop("by_columns")
        arrays = [name for name, value in state.items() if isinstance(value, np.ndarray)]
        if not (isinstance(by_columns, list) and all(name in arrays for name in by_columns)):
            raise ValueError(f"{cls.__name__} does not have the arrays {by_columns!r:.60}")
        estimator = with_parameters(cls, state, self.choices)
        known = {**self.attributes, **_COMMON}
        needed = set(self.attributes) - self.optional | self.required_by(vars(estimator)) | {"n_features_in_"}
        check_names(cls, state, known, needed)
        sizes: dict[str, int] = {}
        for name in sorted(state, key=lambda name: name not in ("n_features_in_", "classes_")):
            check_attribute(f"{cls.__name__}.{name}", known[name], state[name], sizes)
        output = state.pop("_sklearn_output_config", None)
        for name in by_columns:
            state[name] = np.asfortranarray(state[name])
        vars(estimator).update(state)
        self.check(estimator)
        vars(estimator).update(self.derived(estimator))
        if output is not None:
            estimator.set_output(transform=output["transform"])
        return estimator


def fitted_class(module: str, class_name: str, fitted: FittedClass) -> DeferredClass:
    """Return a class of scikit-learn with its fitted attributes.

    Parameters
    ----------
    module, class_name : str
        The public module of the class, and its name there.
    fitted : FittedClass
        The attributes.

    Returns
    -------
    DeferredClass
        The class.
    """

    def make_kind(name: str, cls: type) -> Kind:
        # A parameter that a file cannot hold, such as a Generator, only matters in fit.
        replaceable = {k: v for k, v in constructor_defaults(cls).items() if k not in fitted.choices}
        return Kind(name, cls, fitted.get_state, lambda state: fitted.from_state(cls, state), replaceable, has_features)

    return DeferredClass(module, class_name, f"{module}.{class_name}", make_kind)


def _is_by_columns(value: Any) -> bool:
    """Return whether a matrix lies in memory column by column, on which the last bits of its products depend."""
    return (
        isinstance(value, np.ndarray)
        and value.ndim == 2
        and min(value.shape) > 1
        and value.strides[0] < value.strides[1]
    )


def check_names(class_: type, state: dict[str, Any], known: dict[str, str], needed: set[str]) -> None:
    """Raise ValueError unless a state has the entries that it needs, and no others than the known ones.

    Parameters
    ----------
    class_ : type
        The class, for the message.
    state : dict
        The state.
    known : dict
        The known entries by name.
    needed : set of str
        The entries that must be there.

    Raises
    ------
    ValueError
        If an entry is unknown or missing.
    """
    unexpected, missing = sorted(set(state) - set(known)), sorted(needed - set(state))
    if unexpected or missing:
        what = f"the unknown entries {unexpected[:5]}" if unexpected else f"no {missing[0]}"
        raise ValueError(f"the {class_.__name__} in it, which {_current(class_)} would restore, has {what}")


def check_attribute(name: str, form: str, value: Any, sizes: dict[str, int]) -> None:
    """Raise ValueError unless an attribute has its kind or shape; note the sizes of axes.

    Parameters
    ----------
    name : str
        The class and the attribute.
    form : str
        The form, as in `FittedClass`.
    value : object
        The value, which may come from a hostile file.
    sizes : dict
        The sizes of the axes that are known, by letter, to which those of this attribute are added.

    Raises
    ------
    ValueError
        If the value has another form.
    """
    *others, last = form.split("|")
    for other in others:
        try:
            check_attribute(name, other, value, sizes)
        except ValueError:
            continue
        return
    if last in _SCALARS:
        if not _SCALARS[last](value):
            raise ValueError(f"{name} must be of the kind {form!r}, got {value!r:.60}")
    else:
        _check_array(name, last, value, sizes)
    if name.endswith(".n_features_in_"):
        sizes["d"] = value
    if name.endswith(".classes_"):
        if len(value) < 2 or not np.array_equal(value, np.unique(value)):
            raise ValueError(f"{name} must hold at least two classes, sorted")
        sizes["k"] = 1 if len(value) == 2 else len(value)


def _check_array(name: str, form: str, value: Any, sizes: dict[str, int]) -> None:
    if not isinstance(value, np.ndarray) or value.ndim != len(form):
        raise ValueError(f"{name} must be an array with {len(form)} axes, got {value!r:.60}")
    for letter, size in zip(form, value.shape, strict=True):
        if sizes.get(letter, size) != size:
            raise ValueError(
                f"{name} has shape {value.shape}, but its axis {letter} should have {sizes[letter]} entries"
            )
    is_label = name.endswith((".classes_", ".feature_names_in_"))
    if not is_label and (value.dtype.kind not in "iuf" or not np.isfinite(value).all()):
        raise ValueError(f"{name} must hold finite numbers")
    sizes.update(zip(form, value.shape, strict=True))


def _is_output(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"transform"}
        and value["transform"] in ("default", "pandas", "polars")
    )


def is_finite(value: Any) -> bool:
    """Return whether a value is a finite number.

    Parameters
    ----------
    value : object
        The value.

    Returns
    -------
    bool
        Whether it is an int or float, not a bool, and finite.
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(is_count(size) and size > 0 for size in value)


_SCALARS: dict[str, Callable[[Any], bool]] = {
    INTEGER: lambda value: is_count(value) and value > 0,
    NUMBER: is_finite,
    TEXT: lambda value: isinstance(value, str),
    SHAPE: _is_shape,
    NONE: lambda value: value is None,
    _OUTPUT: _is_output,
}


def parameters_of(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator.

    Parameters
    ----------
    estimator : object
        The estimator.

    Returns
    -------
    dict
        The parameters, without those that scikit-learn marks as deprecated by a text that is no value of them.
    """
    parameters = estimator.get_params(deep=False)
    kept = {name: value for name, value in parameters.items() if not (isinstance(value, str) and value == "deprecated")}
    return for_any_machine(kept)


def with_parameters(class_: type, state: dict[str, Any], choices: dict[str, frozenset[Any]]) -> Any:
    """Return an estimator with the parameters in a file, which are removed from the state.

    Parameters
    ----------
    class_ : type
        The class.
    state : dict
        The state, which may come from a hostile file.
    choices : dict
        The allowed values of parameters by name.

    Returns
    -------
    object
        The estimator, not fitted.

    Raises
    ------
    ValueError
        If a parameter is not a number, text, None or a dict of these, or not among the allowed values.
    """
    if not isinstance(state.pop("version"), str):
        raise ValueError(f"the version of the library of {class_.__name__} must be text")
    names = [name for name in constructor_defaults(class_) if name in state]
    parameters = {name: state.pop(name) for name in names}
    for name, value in parameters.items():
        if not _is_plain(value) or (name in choices and (isinstance(value, dict) or value not in choices[name])):
            raise ValueError(f"{name} of {class_.__name__} is {value!r:.60}, which files may not hold")
    return class_(**for_any_machine(parameters))


def _is_plain(value: Any) -> bool:
    """Return whether a value is a number, text, None, or a dict of these, such as the weights of classes."""
    plain = bool | int | float | str | None
    return isinstance(value, plain) or (isinstance(value, dict) and all(isinstance(v, plain) for v in value.values()))


def version_of(library: str) -> str:
    """Return the version of a library.

    Parameters
    ----------
    library : str
        The name of its module.

    Returns
    -------
    str
        The version.
    """
    return str(importlib.import_module(library).__version__)


def _current(cls: type) -> str:
    library = cls.__module__.split(".")[0]
    return f"{'scikit-learn' if library == 'sklearn' else library} {version_of(library)}"


def has_features(estimator: Any) -> bool:
    """Return whether an estimator of scikit-learn is fitted.

    Parameters
    ----------
    estimator : object
        The estimator.

    Returns
    -------
    bool
        Whether it has the attribute `n_features_in_` or `classes_`.
    """
    return hasattr(estimator, "n_features_in_") or hasattr(estimator, "classes_")

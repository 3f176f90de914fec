"""scikit-learn's Pipeline in model files: named steps, of which each is an object that files may hold."""

from __future__ import annotations

from typing import Any

from covmetric.model_file.deferred import DeferredClass, defer, kind_of
from covmetric.model_file.kinds import Kind

_WITHOUT_STEP = (None, "passthrough")


def _get_state(pipeline: Any) -> dict[str, Any]:
    """Return the names and the steps; the memory belongs to the machine, and the rest is used by fit only."""
    names, steps = [name for name, _ in pipeline.steps], [step for _, step in pipeline.steps]
    _check_widths(names, steps)
    return {"names": names, "steps": steps, "verbose": bool(pipeline.verbose)}


def _from_state(cls: Any, state: dict[str, Any]) -> Any:
    if set(state) != {"names", "steps", "verbose"}:
        raise ValueError(f"a Pipeline has names, steps and verbose, not {sorted(state)[:5]}")
    names, steps = state["names"], state["steps"]
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names) and isinstance(steps, list)):
        raise ValueError("the names of the steps of a Pipeline must be text")
    if not (len(names) == len(steps) > 0 and len(set(names)) == len(names)):
        raise ValueError(f"a Pipeline needs one name for each step, all different; it has {names[:5]}")
    for name, step in zip(names, steps, strict=True):
        _check_step(name, step, is_last=step is steps[-1])
    _check_widths(names, steps)
    return cls(list(zip(names, steps, strict=True)), verbose=state["verbose"] is True)


def _check_step(name: str, step: Any, is_last: bool) -> None:
    if isinstance(step, str | None) and step in _WITHOUT_STEP:
        return
    has_role = hasattr(step, "transform") or (is_last and hasattr(step, "predict"))
    if kind_of(step) is None or not hasattr(step, "fit") or not has_role:
        raise ValueError(
            f"the step {name[:80]!r} of a Pipeline is a {type(step).__name__}, which cannot be a step there"
        )


def _check_widths(names: list[str], steps: list[Any]) -> None:
    """Raise ValueError if a step was fitted on another number of channels or features than the step before returns."""
    width, source = None, ""
    for name, step in zip(names, steps, strict=True):
        if isinstance(step, str | None):
            continue
        expected = _input_width(step)
        if None not in (width, expected) and width != expected:
            raise ValueError(
                f"the step {name[:80]!r} of a Pipeline takes {expected} channels or features, but {source[:80]!r} "
                f"returns {width}: fit all steps on the same examples"
            )
        width, source = _output_width(step), name


def _input_width(step: Any) -> int | None:
    if hasattr(step, "shape_in_"):  # an embedding
        return int(step.shape_in_[0])
    return getattr(step, "n_channels_", getattr(step, "n_features_in_", None))


def _output_width(step: Any) -> int | None:
    if hasattr(step, "steps"):  # a pipeline claims feature names although its last step may have none
        return _output_width(step.steps[-1][1])
    if hasattr(step, "shape_out_"):
        return int(step.shape_out_[0])
    for name in ("matrix_size_", "n_channels_out_"):
        if hasattr(step, name):
            return int(getattr(step, name))
    if hasattr(step, "get_feature_names_out") and hasattr(step, "n_features_in_"):
        return len(step.get_feature_names_out())
    return None


def _is_fitted(pipeline: Any) -> bool:
    """Return whether every step is fitted; descriptors need no fit."""
    for _, step in pipeline.steps:
        kind = kind_of(step)
        if kind is not None and kind.is_fitted is not None and not kind.is_fitted(step):
            return False
        if hasattr(step, "check_fitted") and not hasattr(step, "shape_in_"):  # an embedding
            return False
    return True


def _make_kind(name: str, cls: type) -> Kind:
    return Kind(name, cls, _get_state, lambda state: _from_state(cls, state), is_fitted=_is_fitted)


defer(DeferredClass("sklearn.pipeline", "Pipeline", "Pipeline", _make_kind))

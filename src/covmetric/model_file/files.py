"""Writing models to files and reading them, with the checks that concern a file as a whole."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from covmetric._utils.warning import warn
from covmetric.model_file.archive import NewerFormat, read_archive, write_archive
from covmetric.model_file.codec import Reader, Writer
from covmetric.model_file.deferred import find_kind, kind_of
from covmetric.model_file.kinds import NotStorable


class InvalidModel(ValueError):
    """Error for a file that is not a model.

    Parameters
    ----------
    path : Path
        The file.
    reason : str
        What is wrong with the file, as a sentence about "it".
    summary : str, default="is not a model file"
        The same in a few words.

    Examples
    --------
    >>> print(InvalidModel(Path("iris.npz"), "it is not a zip file"))
    iris.npz is not a model file: it is not a zip file
    """

    def __init__(self, path: Path, reason: str, summary: str = "is not a model file") -> None:
        super().__init__(f"{path} {summary}: {reason}")
        self.reason = reason


class _OtherClass(ValueError):
    """Error for a file whose manifest names another class."""


def write_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file. If this fails, an existing file is left unchanged.

    Parameters
    ----------
    model : Savable
        A fitted object of a registered class.
    path : path-like
        The file. An existing file is replaced.

    Raises
    ------
    ValueError
        If the model is not fitted, or holds objects that a file cannot hold.
    OSError
        If the folder does not exist, or if the file cannot be written.

    Examples
    --------
    See `covmetric.save_model`.
    """
    kind = kind_of(model)
    if kind is None or kind.is_fitted is None:
        raise ValueError(
            f"model must be a LearnedMetric, an estimator of covmetric or a Pipeline, got a {type(model).__name__}"
        )
    if not kind.is_fitted(model):
        from sklearn.exceptions import NotFittedError  # scikit-learn takes a second to import

        raise NotFittedError(f"this {type(model).__name__} is not fitted yet: call fit first")
    writer = Writer()
    try:
        manifest = {"class": kind.name, "model": writer.encode(model, "")}
    except NotStorable as error:
        raise NotStorable(f"{error}{_skops_hint(model)}") from None
    try:
        write_archive(Path(path), manifest, writer.arrays, lambda draft: read_model(draft, type(model)))
    except InvalidModel as error:
        raise ValueError(f"the model cannot be saved: {error.reason}{_skops_hint(model)}") from error
    for replacement in writer.replaced:
        warn(f"{replacement}; set it again after loading if you need it")


def _skops_hint(model: Any) -> str:
    """Return how skops saves a pipeline that a model file cannot hold."""
    if not hasattr(model, "steps"):
        return ""
    names = sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in _unknown_classes(model))
    trusted = ", ".join(
        ["*covmetric.SKOPS_TRUSTED", *(repr(name) for name in names if not name.startswith("sklearn."))]
    )
    return (
        f"; save the pipeline with skops.io.dump(pipeline, file), and load it with skops.io.load(file, "
        f"trusted=[{trusted}])"
    )


def _unknown_classes(pipeline: Any) -> set[type]:
    """Return the classes of the steps of a pipeline, and of the pipelines in it, that a file cannot hold."""
    steps = [step for _, step in pipeline.steps if not isinstance(step, str | None)]
    unknown = {type(step) for step in steps if kind_of(step) is None}
    return unknown.union(*(_unknown_classes(step) for step in steps if hasattr(step, "steps")))


def read_model(path: str | os.PathLike[str], expected: type | tuple[type, ...]) -> Any:
    """Read a model from a file, which need not be trusted.

    Parameters
    ----------
    path : path-like
        The file.
    expected : type or tuple of types
        The accepted classes.

    Returns
    -------
    object
        The fitted object.

    Raises
    ------
    ValueError
        If the file is not a model, or holds an object of another class. The message says which.
    OSError
        If the file cannot be read.

    Examples
    --------
    See `covmetric.load_model`.
    """
    source = Path(path)
    classes = expected if isinstance(expected, tuple) else (expected,)
    try:
        with np.errstate(all="ignore"):
            manifest, arrays = read_archive(source)
            return _decode(manifest, arrays, classes, source)
    except (OSError, MemoryError, _OtherClass):
        raise
    except NewerFormat as error:
        raise InvalidModel(source, str(error), "needs a newer version of covmetric") from None
    except Exception as error:  # a damaged file can lead to any error
        raise InvalidModel(source, _reason(error)) from error


def _reason(error: Exception) -> str:
    """Return what is wrong with a file, as a sentence about "it"."""
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return f"its manifest is not JSON: {error}"
    if isinstance(error, RecursionError):
        return "its manifest is nested too deeply"
    if isinstance(error, EOFError):
        return "it is damaged or was tampered with: one of its parts ends too early"
    if isinstance(error, NotImplementedError):  # of the zip library: a compression or a version that it does not know
        return f"its archive is not one that covmetric writes: {error}"
    if isinstance(error, ValueError | zipfile.BadZipFile) and str(error):
        return str(error)
    return f"it is damaged or was tampered with ({type(error).__name__}: {error})"


def _decode(manifest: dict[str, Any], arrays: dict[str, Any], classes: tuple[type, ...], source: Path) -> Any:
    name = manifest.get("class")
    if not (isinstance(name, str) and name.isidentifier()):
        raise ValueError(f"its manifest says that it holds a {name!r:.80}, which is not the name of a class")
    kind = find_kind(name)
    # The class may be unknown because its module has not been imported. The message is the same.
    if kind is None or not issubclass(kind.cls, classes):
        wanted = " or a ".join(cls.__name__ for cls in classes)
        raise _OtherClass(f"{source} holds a {name[:80]}, not a {wanted}")
    reader = Reader(arrays)
    model = reader.decode(manifest.get("model"))
    reader.finish()
    has_announced_class = type(model) is kind.cls
    if not (has_announced_class and kind.is_fitted is not None and kind.is_fitted(model)):
        raise ValueError(f"its manifest says that it holds a fitted {name!r}, but it does not")
    return model

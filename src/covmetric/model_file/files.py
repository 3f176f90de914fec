"""Models to files and back, with the checks that belong to a whole file."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from covmetric._utils.warning import warn
from covmetric.model_file.archive import read_archive, write_archive
from covmetric.model_file.codec import Reader, Writer
from covmetric.model_file.kinds import KINDS, KINDS_BY_CLASS


class InvalidModel(ValueError):
    """Raised for a file that is not a model, with the reason."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is not a model file: {reason}")
        self.reason = reason


def write_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : Savable
        A fitted object of a registered class.
    path : path-like
        An existing file is replaced.

    Raises
    ------
    ValueError
        If the model is not fitted, or holds objects that a file cannot hold.
    """
    if type(model) not in KINDS_BY_CLASS:
        raise ValueError(f"model must be a LearnedMetric or an estimator of covmetric, got a {type(model).__name__}")
    if not model.is_fitted():
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"this {type(model).__name__} is not fitted yet: call fit first")
    writer = Writer()
    tree = writer.encode(model, "")
    manifest = {"class": KINDS_BY_CLASS[type(model)].name, "model": tree}
    try:
        write_archive(Path(path), manifest, writer.arrays, lambda draft: read_model(draft, type(model)))
    except InvalidModel as error:
        raise ValueError(f"the model cannot be saved: {error.reason}") from error
    for replaced in writer.replaced:
        warn(f"{replaced}; set it again after loading, where it is needed")


def read_model(path: str | os.PathLike[str], expected: type | tuple[type, ...]) -> Any:
    """Read a model from a file that may come from anywhere.

    Parameters
    ----------
    path : path-like
        The file.
    expected : type or tuple of types
        The classes that the file may hold an object of.

    Returns
    -------
    object
        A fitted object of one of these classes.

    Raises
    ------
    ValueError
        If the file is not a model, or holds an object of another class; the message says which.
    OSError
        If the file cannot be read.
    """
    source = Path(path)
    classes = expected if isinstance(expected, tuple) else (expected,)
    try:
        with np.errstate(all="ignore"):
            manifest, arrays = read_archive(source)
            model = _decode(manifest, arrays, classes, source)
    except (OSError, MemoryError, _OtherClass):
        raise
    except Exception as error:  # whatever a broken file leads to, it is the file's fault
        plain = type(error) is ValueError or isinstance(error, zipfile.BadZipFile)
        raise InvalidModel(source, str(error) if plain else f"{type(error).__name__}: {error}") from error
    return model


class _OtherClass(ValueError):
    """Raised for a sound file that holds an object of another class."""


def _decode(manifest: dict[str, Any], arrays: dict[str, Any], classes: tuple[type, ...], source: Path) -> Any:
    name = manifest["class"]
    kind = KINDS.get(name) if isinstance(name, str) else None
    wanted = " or a ".join(cls.__name__ for cls in classes)
    if isinstance(name, str) and not (kind is not None and issubclass(kind.cls, classes)):
        raise _OtherClass(f"{source} holds a {name[:80]}, not a {wanted}")
    reader = Reader(arrays)
    model = reader.decode(manifest["model"])
    reader.finish()
    if kind is None or type(model) is not kind.cls or not getattr(model, "is_fitted", bool)():
        raise ValueError(f"it says that it holds a fitted {name!r}, and does not")
    return model

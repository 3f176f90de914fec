"""Writing models to files and reading them, with the checks that concern a file as a whole."""

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
    """Error for a file that is not a model.

    Parameters
    ----------
    path : Path
        The file.
    reason : str
        What is wrong with the file, as a sentence about "it".

    Examples
    --------
    >>> print(InvalidModel(Path("iris.npz"), "it is not a zip file"))
    iris.npz is not a model file: it is not a zip file
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is not a model file: {reason}")
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

    Examples
    --------
    See `covmetric.save_model`.
    """
    kind = KINDS_BY_CLASS.get(type(model))
    if kind is None or not hasattr(model, "is_fitted"):
        raise ValueError(f"model must be a LearnedMetric or an estimator of covmetric, got a {type(model).__name__}")
    if not model.is_fitted():
        from sklearn.exceptions import NotFittedError  # scikit-learn takes a second to import

        raise NotFittedError(f"this {type(model).__name__} is not fitted yet: call fit first")
    writer = Writer()
    manifest = {"class": kind.name, "model": writer.encode(model, "")}
    try:
        write_archive(Path(path), manifest, writer.arrays, lambda draft: read_model(draft, type(model)))
    except InvalidModel as error:
        raise ValueError(f"the model cannot be saved: {error.reason}") from error
    for replacement in writer.replaced:
        warn(f"{replacement}; set it again after loading if you need it")


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
    except Exception as error:  # a damaged file can lead to any error
        has_message = type(error) is ValueError or isinstance(error, zipfile.BadZipFile)
        raise InvalidModel(source, str(error) if has_message else f"{type(error).__name__}: {error}") from error


def _decode(manifest: dict[str, Any], arrays: dict[str, Any], classes: tuple[type, ...], source: Path) -> Any:
    name = manifest["class"]
    if not (isinstance(name, str) and name.isidentifier()):
        raise ValueError(f"its manifest says that it holds a {name!r:.80}, which is not the name of a class")
    kind = KINDS.get(name)
    # The class may be unknown because its module has not been imported. The message is the same.
    if kind is None or not issubclass(kind.cls, classes):
        wanted = " or a ".join(cls.__name__ for cls in classes)
        raise _OtherClass(f"{source} holds a {name[:80]}, not a {wanted}")
    reader = Reader(arrays)
    model = reader.decode(manifest["model"])
    reader.finish()
    has_announced_class = type(model) is kind.cls
    if not (has_announced_class and model.is_fitted()):
        raise ValueError(f"its manifest says that it holds a fitted {name!r}, but it does not")
    return model

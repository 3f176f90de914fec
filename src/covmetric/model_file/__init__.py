"""Model files: a metric or a fitted estimator, saved without pickle and loaded with suspicion."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from covmetric._warning import warn
from covmetric.model_file.archive import read_archive, write_archive
from covmetric.model_file.codec import KINDS, MODELS, Reader, Writer, is_fitted

__all__ = ["SKOPS_TRUSTED", "load_model", "save_model"]

_DESCRIPTORS = (
    "image_sets.ImageSetCovariances",
    "images.ImageCovariances",
    "regions.Boxes",
    "regions.GridPatches",
    "regions.RandomPatches",
    "regions.Whole",
    "series.FilterBank",
    "series.SeriesCovariances",
)
#: The classes that ``skops.io.load(file, trusted=...)`` has to trust to load any model of covmetric.
SKOPS_TRUSTED: list[str] = sorted(
    {f"{kind.cls.__module__}.{kind.cls.__qualname__}" for kind in KINDS.values()}
    | {
        "covmetric.estimators._learning.Lesson",
        "covmetric.estimators._learning.Recipe",
        "covmetric.estimators._rules.MeanRule",
        "covmetric.estimators._rules.NeighborsRule",
        "covmetric.kernel.MetricKernel",
        *(f"covmetric.descriptors.{name}" for name in _DESCRIPTORS),
    }
)


class InvalidModel(ValueError):
    """Raised for a file that is not a model, with the reason."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is not a model file: {reason}")
        self.reason = reason


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a `LearnedMetric` or a fitted estimator of covmetric; loaded again, it gives the same bits.

    The file is written whole or not at all. It is a zip of plain arrays and a JSON manifest, without pickle.

    Parameters
    ----------
    model : LearnedMetric, CovMetric, CovMetricCV, CovMetricClassifier or CovMetricPairs
    path : path-like
        A file there is replaced.

    Raises
    ------
    ValueError
        If the model is not one of these, is not fitted, or holds objects of classes that are not covmetric's.
    """
    if type(model) not in MODELS:
        raise ValueError(f"model must be a LearnedMetric or an estimator of covmetric, got a {type(model).__name__}")
    if not is_fitted(model):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"this {type(model).__name__} is not fitted yet: call fit first")
    writer = Writer()
    tree = writer.encode(model, "")
    try:
        write_archive(Path(path), {"class": type(model).__name__, "model": tree}, writer.arrays, load_model)
    except InvalidModel as error:
        raise ValueError(f"the model cannot be saved: {error.reason}") from error
    for replaced in writer.replaced:
        warn(f"{replaced}; set it again after loading, where it is needed")


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load what `save_model` saved.

    The file may come from anywhere: nothing in it is executed, and what does not make sense is refused before anything
    large is read.

    Raises
    ------
    ValueError
        If the file is not a model, is damaged, was tampered with, or is of another format version; the message says
        which.
    OSError
        If the file cannot be read.
    """
    source = Path(path)
    try:
        with np.errstate(all="ignore"):
            manifest, arrays = read_archive(source)
            reader = Reader(arrays)
            model = reader.decode(manifest["model"])
            reader.finish()
        if type(model) not in MODELS or not is_fitted(model) or type(model).__name__ != manifest["class"]:
            raise ValueError(f"it says that it holds a fitted {manifest['class']!r}, and does not")
    except (OSError, MemoryError):
        raise
    except Exception as error:  # whatever a broken file leads to, it is the file's fault
        plain = type(error) is ValueError or isinstance(error, zipfile.BadZipFile)
        raise InvalidModel(source, str(error) if plain else f"{type(error).__name__}: {error}") from error
    return model

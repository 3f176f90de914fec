"""The data of `covmetric compare`: an .npz file or a folder of images."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

CONTENT = (
    "an .npz file with X, matrices of shape (l, n, n) or series of shape (l, channels, times), y and optionally groups "
    "(or X_train, y_train, X_test and y_test instead of X and y), or a folder with one folder of images per class"
)


@dataclass(frozen=True)
class LabelledMatrices:
    """Labelled matrices.

    Attributes
    ----------
    X : array of shape (l, n, n)
        The matrices.
    y : array of shape (l,)
        Their labels.
    groups : array of shape (l,) or None
        Their groups.
    content : str
        A description of the matrices.
    """

    X: npt.NDArray[Any]
    y: npt.NDArray[Any]
    groups: npt.NDArray[Any] | None
    content: str


def read_data(
    path: Path, kind: str | None = None, features: str | None = None, n_jobs: int | None = None
) -> LabelledMatrices:
    """Read matrices from a file, or compute them from the series of a file or the images of a folder.

    Parameters
    ----------
    path : Path
        The file or folder.
    kind : {'matrices', 'series', 'images'} or None, default=None
        The kind of data. None means that it is detected.
    features : {'grey', 'colour'} or None, default=None
        The features of images. None means colour, or grey if an image has no colours.
    n_jobs : int or None, default=None
        The number of processes that read images.

    Returns
    -------
    LabelledMatrices

    Raises
    ------
    FileNotFoundError
        If the path does not exist.
    ValueError
        If the file or folder does not hold the expected data.
    """
    if path.is_dir():
        if kind not in (None, "images"):
            raise ValueError(f"--kind {kind}: {path} is a folder, but {kind} are read from an .npz file")
        return _read_images(path, features, n_jobs)
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}; DATA must be {CONTENT}")
    if kind == "images" or features is not None:
        raise ValueError(f"{path} is a file, but images are read from a folder with one folder per class")
    if path.suffix != ".npz":
        raise ValueError(f"{path} is not an .npz file; DATA must be {CONTENT}")
    return _read_arrays(path, kind)


def _read_images(path: Path, features: str | None, n_jobs: int | None) -> LabelledMatrices:
    from covmetric.datasets import load_image_folder
    from covmetric.descriptors import ImageCovariances
    from covmetric.descriptors.reading import UnreadableImage

    chosen = features or "colour"
    try:
        data = load_image_folder(path, ImageCovariances(chosen, n_jobs=n_jobs))
    except UnreadableImage:
        raise
    except ValueError:  # an image without colours
        if features is not None:
            raise
        chosen = "grey"
        data = load_image_folder(path, ImageCovariances(chosen, n_jobs=n_jobs))
    return LabelledMatrices(data.X, data.y, data.groups, f"covariances of {chosen} features of images")


def _read_arrays(path: Path, kind: str | None) -> LabelledMatrices:
    from covmetric.datasets.npz import read_labelled_npz
    from covmetric.datasets.series import describe_series

    arrays = read_labelled_npz(path)
    if (kind or ("matrices" if _hold_matrices(arrays.X) else "series")) == "matrices":
        return LabelledMatrices(arrays.X, arrays.y, arrays.groups, "matrices")
    data = describe_series(arrays)
    return LabelledMatrices(data.X, data.y, data.groups, "shrunk covariances (OAS) of series")


def _hold_matrices(X: npt.NDArray[Any]) -> bool:
    """Return whether most examples are square and symmetric; `compare` names the others in its error message."""
    import numpy as np

    if X.shape[1] != X.shape[2]:
        return False
    difference = np.abs(X - np.swapaxes(X.conj(), 1, 2)).max(axis=(1, 2))
    return bool(np.mean(difference <= 1e-4 * np.abs(X).max(axis=(1, 2))) > 0.5)

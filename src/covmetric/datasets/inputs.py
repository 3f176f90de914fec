"""Examples as they are before they are described: files of images, series, matrices or vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric.datasets.class_folders import images_by_class, is_named_as_image, visible_files
from covmetric.datasets.label_files import Labels, read_labels

#: What the path of examples may be, for messages and help.
CONTENT = (
    "a folder with one folder of images per class (folders below a class are groups), a folder of images with a CSV "
    "file of labels, an .npz file with X, matrices of shape (l, n, n), series of shape (l, channels, times) or vectors "
    "of shape (l, d), y and optionally groups and names (or X_train, y_train, X_test and y_test), an .npy file with "
    "a CSV file of labels, or a .fif file of MNE epochs"
)
#: The same for new examples, which need no labels.
CONTENT_OF_QUERIES = "an image, a folder of images, or an .npz, .npy or .fif file with X (matrices, series or vectors)"
#: The kinds of examples.
KINDS = ("images", "series", "matrices", "vectors")


@dataclass(frozen=True)
class Inputs:
    """Examples, with their names and, if they are known, their labels and groups.

    Attributes
    ----------
    kind : {'images', 'series', 'matrices', 'vectors'}
        What the examples are.
    examples : list of paths, list of arrays of shape (channels, times), or array of shape (l, n, n) or (l, d)
        The examples.
    names : array of str of shape (l,)
        The name of each example; see `example_name`.
    y : array of shape (l,) or None
        The labels.
    groups : array of shape (l,) or None
        The groups.
    channels : list of str or None
        The names of the channels of series, if the file has them.
    n_unlabelled : int
        The number of images in the folder that the CSV file of labels does not name, and that are left out.
    """

    kind: str
    examples: Any
    names: npt.NDArray[np.str_]
    y: npt.NDArray[Any] | None = None
    groups: npt.NDArray[Any] | None = None
    channels: list[str] | None = field(default=None)
    n_unlabelled: int = 0

    def __len__(self) -> int:
        return len(self.names)


def example_name(path: Path, name: str | None = None) -> str:
    """Return the name of an example, in the form that all commands print and write.

    The same example has the same name in every command, and a name leads to the example: the path is the one that the
    user gave, followed by the path within a folder.

    Parameters
    ----------
    path : Path
        The file that holds the example.
    name : str or None, default=None
        The name or number of the example in the file. None means that the file holds a single example, an image.

    Returns
    -------
    str
        The path, with "/" between folders, and the name in brackets.

    Examples
    --------
    >>> example_name(Path("textures") / "bark" / "0.png"), example_name(Path("session2.npz"), "7")
    ('textures/bark/0.png', 'session2.npz[7]')
    """
    return path.as_posix() if name is None else f"{path.as_posix()}[{name}]"


def split_example_name(name: Path) -> tuple[Path, str | None]:
    """Return the file of an example, and its name or number there: the inverse of `example_name`.

    Parameters
    ----------
    name : Path
        The name of an example, or a path.

    Returns
    -------
    path : Path
        The file, or the path itself if it exists or is not the name of an example in an existing file.
    name : str or None
        The name or number of the example, or None.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "session2.npz"
    ...     path.touch()
    ...     split_example_name(Path(example_name(path, "7")))[1]
    '7'
    """
    file, opening, example = str(name).removesuffix("]").rpartition("[")
    if name.exists() or not (opening and name.name.endswith("]")) or not Path(file).is_file():
        return name, None
    return Path(file), example


def read_inputs(path: Path, kind: str | None = None, labels: Path | None = None, labelled: bool = True) -> Inputs:
    """Read examples from a folder of images or a file of arrays. Images themselves are not read.

    Parameters
    ----------
    path : Path
        A folder with one folder of images per class, a folder of images, an image, an .npz, .npy or .fif file.
    kind : {'matrices', 'series', 'images', 'vectors'} or None, default=None
        The kind of examples. None means that it is detected.
    labels : Path or None, default=None
        A CSV file with labels; see `read_labels`. None means that the folder or file has the labels.
    labelled : bool, default=True
        Whether labels are needed. If not, a folder of images needs no subfolders.

    Returns
    -------
    Inputs
        The examples.

    Raises
    ------
    FileNotFoundError
        If the path does not exist, or the folder holds no images.
    ValueError
        If the file or folder does not hold the expected examples.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "trials.npz"
    ...     np.savez(path, X=np.stack([np.eye(3)] * 4), y=[0, 1, 0, 1])
    ...     inputs = read_inputs(path)
    >>> inputs.kind, inputs.names[1].endswith("/trials.npz[1]"), inputs.y.tolist()
    ('matrices', True, [0, 1, 0, 1])
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    rows = None if labels is None else read_labels(labels, needs_names=path.is_dir())
    if path.is_dir():
        if kind not in (None, "images"):
            raise ValueError(f"kind {kind!r}: {path} is a folder, but {kind} are read from an .npz, .npy or .fif file")
        return _image_inputs(path, rows, labelled)
    if not path.exists():
        file, example = split_example_name(path)
        if example is not None:
            raise FileNotFoundError(f"{path} is the name of an example: pass the file, {file}")
        raise FileNotFoundError(
            f"there is no file or folder {path}; it must be {CONTENT if labelled else CONTENT_OF_QUERIES}"
        )
    reader = next((read for ending, read in _READERS.items() if path.name.lower().endswith(ending)), None)
    if reader is None and not labelled and (kind in (None, "images") or is_named_as_image(path)):
        return Inputs("images", [path], _names_of_images([path]))
    if reader is None or kind == "images":
        raise ValueError(_unexpected_file(path, kind, labelled))
    return reader(path, kind, rows, labelled)


def _unexpected_file(path: Path, kind: str | None, labelled: bool) -> str:
    """Return the message about a file that no reader takes, with what to do if it is a CSV file."""
    is_table = path.suffix.lower() == ".csv"
    if kind == "images":
        remedy = f"; pass the folder of the images, with --labels {path} if it has their labels" if is_table else ""
        return f"{path} is a file, but images are read from a folder with one folder per class{remedy}"
    if not labelled:
        shape = _SHAPES[str(kind)]
        remedy = f"; save the numbers of a CSV file with np.savez, as X of shape {shape}" if is_table else ""
        return f"{path} is not an .npz, .npy or .fif file, from which {kind} are read{remedy}"
    remedy = "; a CSV file holds labels (--labels); save its numbers with np.savez, as X and y" if is_table else ""
    return f"{path} is not an .npz, .npy or .fif file, nor a folder; it must be {CONTENT}{remedy}"


def _image_inputs(folder: Path, rows: Labels | None, labelled: bool) -> Inputs:
    if rows is not None:
        assert rows.names is not None  # read_labels requires them for folders
        paths = [folder / name for name in rows.names]
        missing = [name for name, path in zip(rows.names, paths, strict=True) if not path.is_file()]
        if missing:
            raise FileNotFoundError(
                f"the labels name {missing[0]!r}, but {folder} has no such file; names are paths in this folder"
            )
        groups = None if rows.groups is None else np.array(rows.groups)
        others = _unnamed(folder, paths)
        y = np.array(rows.labels)
        return Inputs("images", paths, _names_of_images(paths), y, groups, n_unlabelled=len(others))
    if not labelled:
        paths = visible_files(folder)
        if not paths:
            raise FileNotFoundError(f"{folder} holds no images")
        return Inputs("images", paths, _names_of_images(paths))
    paths, y, groups = images_by_class(folder)
    return Inputs("images", paths, _names_of_images(paths), y, groups)


def _unnamed(folder: Path, paths: list[Path]) -> list[Path]:
    """Return the other files of a folder that end like the given images; a CSV file there is none of them."""
    named, endings = set(paths), {path.suffix.lower() for path in paths}
    return [path for path in visible_files(folder) if path not in named and path.suffix.lower() in endings]


def _names_of_images(paths: list[Path]) -> npt.NDArray[np.str_]:
    return np.array([example_name(path) for path in paths])


def _read_npz(path: Path, kind: str | None, rows: Labels | None, labelled: bool) -> Inputs:
    from covmetric.datasets.npz import read_labelled_npz, read_npz

    if rows is None and labelled:
        arrays = read_labelled_npz(path, vectors=True)
        return _array_inputs(path, kind, arrays.X, arrays.y, arrays.groups, arrays.names)
    held = read_npz(path)
    if "X" not in held:
        raise ValueError(f"{path} has no array 'X'; it holds {sorted(held)}")
    if rows is not None:
        return _with_rows(path, kind, held["X"], rows, held.get("names"))
    groups = held.get("groups")
    if groups is not None and groups.shape != held["X"].shape[:1]:
        raise ValueError(f"{path}: groups has shape {groups.shape}, but X has {len(held['X'])} examples")
    return _array_inputs(path, kind, held["X"], None, groups, held.get("names"))


def _read_npy(path: Path, kind: str | None, rows: Labels | None, labelled: bool) -> Inputs:
    if rows is None and labelled:
        raise ValueError(f"{path} has no labels: pass a CSV file with one row per example (--labels)")
    try:
        X = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:  # pickled objects, or a damaged file
        raise ValueError(f"cannot read {path}: {error}") from None
    return _with_rows(path, kind, X, rows, None)


def _read_fif(path: Path, kind: str | None, rows: Labels | None, labelled: bool) -> Inputs:
    from covmetric.datasets.epochs import read_epochs

    epochs = read_epochs(path)
    if kind in ("matrices", "vectors"):
        raise ValueError(f"{path} holds epochs, which are series, but {kind} are expected")
    if rows is not None:
        return _with_rows(path, "series", epochs.X, rows, None, epochs.channels)
    return Inputs("series", list(epochs.X), _names_in_file(path, len(epochs.X)), epochs.y, None, epochs.channels)


#: Readers of files by the ending of their name.
_READERS: dict[str, Callable[[Path, str | None, Labels | None, bool], Inputs]] = {
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".fif": _read_fif,
    ".fif.gz": _read_fif,
}


#: The shapes of X by kind.
_SHAPES = {"matrices": "(l, n, n)", "series": "(l, channels, times)", "vectors": "(l, d)"}


def _with_rows(
    path: Path,
    kind: str | None,
    X: npt.NDArray[Any],
    rows: Labels | None,
    names: Any,
    channels: list[str] | None = None,
) -> Inputs:
    """Return the examples of an array with the labels of a CSV file, which has one row per example."""
    if rows is None:
        return _array_inputs(path, kind, X, None, None, names, channels)
    if len(rows.labels) != len(X):
        raise ValueError(f"{path} has {len(X)} examples, but there are {len(rows.labels)} labels")
    groups = None if rows.groups is None else np.array(rows.groups)
    return _array_inputs(path, kind, X, np.array(rows.labels), groups, rows.names or names, channels)


def _array_inputs(
    path: Path,
    kind: str | None,
    X: npt.NDArray[Any],
    y: Any,
    groups: Any,
    names: Any,
    channels: list[str] | None = None,
) -> Inputs:
    from covmetric.datasets.npz import hold_matrices
    from covmetric.datasets.series import without_padding

    expected = (2, 3) if kind is None else (2,) if kind == "vectors" else (3,)
    if X.ndim not in expected or X.dtype.kind not in "iufc" or 0 in X.shape:
        needed = " or ".join(f"{shape} for {what}" for what, shape in _SHAPES.items() if kind in (None, what))
        raise ValueError(f"{path}: X has shape {X.shape} and dtype {X.dtype}, but must hold numbers of shape {needed}")
    names = _names_in_file(path, len(X), names)
    if X.ndim == 2:
        return Inputs("vectors", X, names, y, groups)
    if (kind or ("matrices" if hold_matrices(X) else "series")) == "matrices":
        return Inputs("matrices", X, names, y, groups)
    if X.dtype.kind == "c":
        raise ValueError(f"{path}: X holds complex series, but series must be real; save their covariance matrices")
    return Inputs("series", [without_padding(one) for one in X.astype(np.float64)], names, y, groups, channels)


def _names_in_file(path: Path, count: int, names: Any = None) -> npt.NDArray[np.str_]:
    given = np.arange(count) if names is None else np.asarray(names)
    if given.shape != (count,):
        raise ValueError(f"{path}: names must have one entry per example, shape ({count},); got shape {given.shape}")
    return np.array([example_name(path, name) for name in given.astype(str).tolist()])

"""Images in folders, one folder per class."""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.warning import warn


def images_by_class(folder: Path) -> tuple[list[Path], npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Return the files in ``folder/<class>/`` and its subfolders, with their classes and groups.

    Images in `folder` itself belong to no class. They are left aside, with a warning.

    Parameters
    ----------
    folder : Path
        A folder with one folder per class. Subfolders of a class are groups.

    Returns
    -------
    paths : list of Path
        The files, by class and in alphabetical order.
    y : array of str of shape (l,)
        The class of each file.
    groups : array of str of shape (l,) or None
        The folder of each file, relative to `folder`; None if no class has subfolders.

    Raises
    ------
    FileNotFoundError
        If there are no files.
    """
    classes = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    files = [(file, c.name) for c in classes for file in visible_files(c)]
    if not files:
        count = len(visible_files(folder))
        if count:
            raise FileNotFoundError(
                f"{folder} holds {count} file{'s' if count > 1 else ''}, but no class folders with images: put the "
                "images of each class into a folder of its own"
            )
        raise FileNotFoundError(f"{folder} holds no images: it should hold one folder of images per class.")
    paths, y = [path for path, _ in files], np.array([name for _, name in files])
    _warn_of_strays(folder)
    folders = np.array([str(path.parent.relative_to(folder)) for path in paths])
    return paths, y, folders if (folders != y).any() else None


def _warn_of_strays(folder: Path) -> None:
    """Warn of images that lie beside the class folders; other files, such as a table of labels, may lie there."""
    strays = sorted(path for path in folder.iterdir() if path.is_file() and is_named_as_image(path))
    if strays:
        lie = f"{strays[0]} lies" if len(strays) == 1 else f"{len(strays)} images (the first is {strays[0]}) lie"
        warn(f"{lie} beside the class folders and cannot be used: move each image into the folder of its class")


def is_named_as_image(path: Path) -> bool:
    """Return whether the name of a file is that of an image. Hidden files do not count.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    bool
        True for an image.

    Examples
    --------
    >>> is_named_as_image(Path("cat.JPG")), is_named_as_image(Path("labels.csv"))
    (True, False)
    """
    is_image = (mimetypes.guess_type(path.name, strict=False)[0] or "").startswith("image/")
    return is_image and not path.name.startswith(".")


def visible_files(folder: Path) -> list[Path]:
    """Return all files in a folder and its subfolders whose names do not begin with a dot.

    Parameters
    ----------
    folder : Path
        The folder.

    Returns
    -------
    list of Path
        The files in alphabetical order.
    """
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")]

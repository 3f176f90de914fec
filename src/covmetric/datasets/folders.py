"""The folders of the data sets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

#: The environment variable with the folder that contains all data sets.
VARIABLE = "COVMETRIC_DATA"


def find_folder(folder: Any, name: str, content: str) -> Path:
    """Return the folder of a data set.

    Parameters
    ----------
    folder : path or None
        The folder that the user gave. None means the subfolder `name` of the folder in the environment variable
        COVMETRIC_DATA.
    name : str
        The name of the subfolder.
    content : str
        What the folder should contain, for the error message.

    Returns
    -------
    pathlib.Path
        The folder, which exists.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist, or if neither a folder nor COVMETRIC_DATA is given.
    """
    if folder is not None:
        found = Path(folder)
    elif os.environ.get(VARIABLE):
        found = Path(os.environ[VARIABLE]) / name
    else:
        raise FileNotFoundError(
            f"no folder was given, and {VARIABLE} is not set: give the folder that holds {content}, or set {VARIABLE} "
            f"to the folder that contains {name!r}"
        )
    if not found.is_dir():
        raise FileNotFoundError(f"there is no folder {found}: it should hold {content}")
    return found

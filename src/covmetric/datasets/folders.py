"""Where data sets lie: in a folder that the user names, or under the one that COVMETRIC_DATA names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

VARIABLE = "COVMETRIC_DATA"


def find_folder(folder: Any, name: str, content: str) -> Path:
    """The folder that was given, or `name` under COVMETRIC_DATA.

    Raises
    ------
    FileNotFoundError
        With what should be there.
    """
    if folder is not None:
        found = Path(folder)
    elif os.environ.get(VARIABLE):
        found = Path(os.environ[VARIABLE]) / name
    else:
        raise FileNotFoundError(
            f"no folder was given, and {VARIABLE} is not set: give the folder that holds {content}, or set {VARIABLE} "
            f"to the folder that {name!r} lies in"
        )
    if not found.is_dir():
        raise FileNotFoundError(f"there is no folder {found}: it should hold {content}")
    return found

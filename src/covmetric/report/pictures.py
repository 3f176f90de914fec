"""Thumbnails as data URIs, so that a page needs no other file."""

from __future__ import annotations

import base64
import io
from importlib import import_module
from typing import Any


def data_uri(picture: Any) -> str:
    """Return a picture as a data URI.

    Parameters
    ----------
    picture : array of uint8 of shape (rows, columns, 3), or None
        Red, green and blue.

    Returns
    -------
    str
        A JPEG picture; "" for None.

    Raises
    ------
    ImportError
        If Pillow is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> data_uri(np.zeros((4, 4, 3), dtype=np.uint8))[:23], data_uri(None)
    ('data:image/jpeg;base64,', '')
    """
    if picture is None:
        return ""
    try:
        pillow = import_module("PIL.Image")
    except ImportError as error:
        raise ImportError("pictures in a report need the package pillow: pip install pillow") from error
    target = io.BytesIO()
    pillow.fromarray(picture).save(target, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(target.getvalue()).decode("ascii")

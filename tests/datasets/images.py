"""Random images and their files, for the tests of the loaders."""

from __future__ import annotations

import numpy as np
from PIL import Image


def save_image(path, array):
    """Save an array as an image, in a folder that may not exist yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(array, dtype=np.uint8)).save(path)


def random_colours(rows=24, columns=30, seed=0):
    """Return a colour image of independent pixels."""
    return np.random.default_rng(seed).integers(0, 256, (rows, columns, 3))

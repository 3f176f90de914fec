"""Small stand-ins for the image data sets of the paper, as files."""

from __future__ import annotations

import numpy as np

from covmetric.datasets import make_textures


def write_textures(folder, n_classes=3, size=264):
    """Write one image per texture, as in Brodatz's album."""
    from PIL import Image

    data = make_textures(n_classes=n_classes, n_per_class=1, size=size)
    for number, image in enumerate(data.images, start=1):
        Image.fromarray(image.astype(np.uint8)).save(folder / f"D{number}.gif")
    return folder


def write_objects(folder):
    """Write 22 views of six objects of two classes, as in ETH-80."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for c, name in enumerate(("apple", "car")):
        for number in range(1, 7):
            (folder / f"{name}{number}").mkdir()
            tint = rng.uniform(0.5, 1.0, 3)
            for view in range(22):
                noise = rng.uniform(0, 255, (12, 12, 3)) * tint
                noise[:, : 3 + 4 * c] *= 0.4
                path = folder / f"{name}{number}" / f"{name}{number}-000-{view:03d}.png"
                Image.fromarray(noise.astype(np.uint8)).save(path)
    return folder

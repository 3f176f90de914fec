"""Mutants of image files and of model files: read and used, or refused with a reason."""

from __future__ import annotations

import io
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks import mutants_of_files
from benchmarks.torture.outcomes import Tally, check_finite
from covmetric import save_model
from covmetric.descriptors import ImageCovariances, make_thumbnail, read_image
from tests.model_file.mutation import mutated_bytes

# Pillow's name of the format, the mode, and settings, by file name.
FORMATS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "grey.png": ("PNG", "L", {}),
    "colour.png": ("PNG", "RGB", {}),
    "palette.gif": ("GIF", "P", {}),
    "alpha.webp": ("WEBP", "RGBA", {}),
    "photo.jpg": ("JPEG", "RGB", {"quality": 70}),
    "plain.bmp": ("BMP", "RGB", {}),
    "deep.tiff": ("TIFF", "I;16", {}),
    "packed.tiff": ("TIFF", "L", {"compression": "tiff_lzw"}),
    "text.ppm": ("PPM", "RGB", {}),
    "run.tga": ("TGA", "RGB", {"compression": "tga_rle"}),
    "wide.jp2": ("JPEG2000", "RGB", {}),
    "icon.ico": ("ICO", "RGBA", {}),
}


def image_files(tally: Tally, seed: int, count: int) -> None:
    """Read and describe mutants of image files of every common format, with little memory."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(256, size=(16, 20, 4), dtype=np.uint8)
    contents = []
    for name, (kind, mode, settings) in FORMATS.items():
        deep = mode == "I;16"
        picture = Image.fromarray(pixels[..., 0].astype(np.uint16) * 200 if deep else pixels)
        file = io.BytesIO()
        (picture if deep else picture.convert(mode)).save(file, kind, **settings)
        contents.append((name, file.getvalue()))
    descriptor = ImageCovariances(["I", "Ix"], mask="alpha")
    mutants_of_files.limit_memory()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            name, content = contents[i % len(contents)]
            path = Path(folder) / name
            path.write_bytes(mutated_bytes(content, rng))

            def work(path: Path = path, i: int = i) -> None:
                # Pillow warns of what it repairs; its warnings are not ours.
                warnings.simplefilter("ignore")
                check_finite(descriptor.fit_transform([path]))
                check_finite(read_image(path))
                if i % 10 == 0:
                    make_thumbnail(path)

            tally.attempt(work, f"mutant {i}, {name}")


def model_files(tally: Tally, seed: int, count: int) -> None:
    """Load and use mutants of every kind of model file; see `benchmarks.mutants_of_files`."""
    watch = mutants_of_files.Watch()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files, path = {}, Path(folder) / "model.npz"
        for kind, make in mutants_of_files.models().items():
            model, X = make()
            save_model(model, path)
            mutants_of_files.use(model, X)
            files[kind] = path.read_bytes(), X
        mutants_of_files.limit_memory()
        for content, X in files.values():
            outcome = mutants_of_files.try_mutants(content, X, -(-count // len(files)), seed, path, watch)
            tally.certified += outcome.loaded
            tally.clear += outcome.refused - sum(1 for reason in outcome.forbidden.elements() if "model" in reason)
            tally.defects.extend(outcome.forbidden.elements())
    tally.defects.extend(watch.events.elements())

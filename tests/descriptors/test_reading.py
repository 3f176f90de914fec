"""Reading images from files of all modes, and refusing damaged ones."""

from __future__ import annotations

import struct
import sys
import zlib

import numpy as np
import pytest
from PIL import Image, features

from covmetric.descriptors import ImageCovariances
from covmetric.descriptors.reading import UnreadableImage, read_image, read_image_and_mask
from tests.descriptors.images import COLOUR, GREY, write_damaged_files

ALPHA = np.where(np.indices((12, 15)).sum(axis=0) % 3 == 0, 0, 255).astype(np.uint8)
DEEP = np.random.default_rng(2).integers(65536, size=(12, 15)).astype(np.uint16)
REAL = np.random.default_rng(3).standard_normal((12, 15)).astype(np.float32) * 1e6


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("grey.png", GREY),
        ("colour.png", COLOUR),
        ("deep.png", DEEP),
        ("deep.tiff", DEEP),
        ("swapped.tiff", DEEP.astype(">u2")),
        ("long.tiff", DEEP.astype(np.int32) * 1000 - 5),
        ("real.tiff", REAL),
    ],
)
def test_files_keep_their_values(tmp_path, name, array):
    Image.fromarray(array).save(tmp_path / name)
    for source in (tmp_path / name, str(tmp_path / name), array):
        np.testing.assert_array_equal(read_image(source), array.astype(float))
    assert read_image_and_mask(tmp_path / name)[1].all()


@pytest.mark.parametrize(
    ("mode", "name"), [("RGBA", "a.png"), ("LA", "a.png"), ("RGBA", "a.webp"), ("PA", "a.png"), ("RGBa", None)]
)
def test_alpha_is_dropped_and_becomes_the_mask(tmp_path, mode, name):
    values = GREY if mode == "LA" else COLOUR // 64 * 64
    image = Image.fromarray(np.concatenate([np.atleast_3d(values), ALPHA[..., None]], axis=2))
    if name is None:
        path, image = None, image.convert(mode)
        values = np.where(ALPHA[..., None] > 0, values, 0)  # premultiplied transparent pixels have no colour
    elif mode == "PA":
        path = tmp_path / name
        image.quantize(256, method=Image.Quantize.FASTOCTREE).save(path)
        with Image.open(path) as opened:
            assert opened.mode == "P" and isinstance(opened.info["transparency"], bytes)
            values = np.asarray(opened.convert("RGBA"))[..., :3]
    else:
        path = tmp_path / name
        image.save(path, **({"lossless": True, "exact": True} if name.endswith("webp") else {}))
    source = image if path is None else path
    pixels, mask = read_image_and_mask(source)
    np.testing.assert_array_equal(pixels, values)
    np.testing.assert_array_equal(mask, ALPHA > 0)
    np.testing.assert_array_equal(read_image(source), values)


def test_transparent_colours_become_the_mask(tmp_path):
    """PNG files may declare a single grey value or colour transparent."""
    Image.fromarray(GREY).save(tmp_path / "grey.png", transparency=int(GREY[3, 4]))
    pixels, mask = read_image_and_mask(tmp_path / "grey.png")
    np.testing.assert_array_equal(pixels, GREY)
    np.testing.assert_array_equal(mask, GREY[3, 4] != GREY)
    Image.fromarray(COLOUR).save(tmp_path / "rgb.png", transparency=tuple(COLOUR[3, 4].tolist()))
    pixels, mask = read_image_and_mask(tmp_path / "rgb.png")
    np.testing.assert_array_equal(pixels, COLOUR)
    assert not mask[3, 4] and mask.sum() >= mask.size - 2


@pytest.mark.parametrize(
    ("mode", "name"),
    [("P", "p.gif"), ("P", "p.png"), ("CMYK", "c.tiff"), ("YCbCr", "y.tiff"), ("LAB", "l.tiff"), ("1", "b.png")],
)
def test_modes_are_converted_to_grey_or_rgb(tmp_path, mode, name):
    image = Image.fromarray(COLOUR).convert("RGB")
    image = image.quantize(256) if mode == "P" else image
    if mode == "LAB":
        from PIL import ImageCms

        lab = ImageCms.createProfile("LAB")
        image = ImageCms.profileToProfile(image, ImageCms.createProfile("sRGB"), lab, outputMode="LAB")
    else:
        image = image.convert(mode)
    image.save(tmp_path / name)
    with Image.open(tmp_path / name) as opened:
        if mode == "YCbCr" and opened.mode == "RGB":
            pytest.skip("Pillow reads TIFF files in YCbCr as such from version 13 on")
        assert opened.mode == mode
        expected = np.asarray(opened.convert("L" if mode == "1" else "RGB"), dtype=float)
    np.testing.assert_array_equal(read_image(tmp_path / name), expected)
    np.testing.assert_array_equal(read_image(image), expected)
    # Conversions between modes of 8 bits round, but the result stays close to the original image.
    if mode in ("P", "CMYK"):
        assert np.abs(expected - COLOUR).mean() < (1.0 if mode == "CMYK" else 12.0)
    if mode == "1":
        assert set(np.unique(expected)) == {0.0, 255.0}


def test_hsv_images_are_converted_to_rgb():
    np.testing.assert_allclose(read_image(Image.fromarray(COLOUR).convert("HSV")), COLOUR, atol=8)


def test_damaged_files_are_refused(tmp_path):
    for name, reason in write_damaged_files(tmp_path).items():
        with pytest.raises(UnreadableImage, match=rf"cannot read '.*{name}': .*{reason}"):
            read_image(tmp_path / name)
    assert issubclass(UnreadableImage, ValueError)


@pytest.mark.skipif(not features.check("webp"), reason="Pillow without WebP")
def test_truncated_webp_is_called_damaged(tmp_path):
    path = tmp_path / "image.webp"
    Image.fromarray(COLOUR.repeat(20, 0).repeat(20, 1)).save(path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UnreadableImage, match=r"image\.webp': the file is damaged or truncated$"):
        read_image(path)


def test_pillow_images_that_turn_out_damaged_are_refused(tmp_path):
    path = tmp_path / "image.png"
    Image.fromarray(np.random.default_rng(0).integers(256, size=(64, 64), dtype=np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:2000])
    with Image.open(path) as image:
        with pytest.raises(UnreadableImage, match="cannot read this image: "):
            read_image(image)
        with pytest.raises(ValueError, match=r"images\[0\]: cannot read this image: "):
            ImageCovariances().fit_transform([image])


def test_files_whose_pixels_exceed_the_memory_are_refused(tmp_path, monkeypatch):
    Image.fromarray(GREY).save(tmp_path / "image.png")

    def fail(*arguments, **settings):
        raise MemoryError

    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", fail)
    with pytest.raises(UnreadableImage, match="there is not enough memory for its pixels"):
        read_image(tmp_path / "image.png")


def test_decompression_bombs_are_refused(tmp_path, monkeypatch):
    Image.fromarray(GREY).save(tmp_path / "bomb.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 50)
    with pytest.raises(UnreadableImage, match=r"bomb.png': Image size \(180 pixels\) exceeds limit of 100 pixels"):
        read_image(tmp_path / "bomb.png")


def test_unsupported_modes_are_refused():
    image = Image.fromarray(GREY)
    image._mode = "XYZ"
    with pytest.raises(UnreadableImage, match="mode 'XYZ' is not supported; convert the image to 'RGB'"):
        read_image(image)


def test_missing_files_and_folders_raise_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.png"):
        read_image(tmp_path / "nowhere.png")
    with pytest.raises(IsADirectoryError):
        read_image(tmp_path)


def test_arrays_need_no_pillow_and_files_do(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    np.testing.assert_array_equal(read_image(GREY), GREY)
    with pytest.raises(ImportError, match=r"needs the package pillow: pip install pillow"):
        read_image(tmp_path / "a.png")


def test_16_bits_per_colour_are_refused(tmp_path):
    rows = b"".join(b"\0" + np.full(3 * 4, 1000, dtype=">u2").tobytes() for _ in range(4))
    chunks = [(b"IHDR", struct.pack(">2L5B", 4, 4, 16, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">L", len(data)) + name + data + struct.pack(">L", zlib.crc32(name + data)) for name, data in chunks
    )
    (tmp_path / "deep.png").write_bytes(content)
    with pytest.raises(UnreadableImage, match=r"deep.png.*16 bits per colour, of which Pillow keeps 8"):
        read_image(tmp_path / "deep.png")


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(orientation, tmp_path):
    """As in the table of the EXIF standard: 1 is upright, 3 upside down, 6 and 8 on a side, 2 4 5 7 mirrored."""
    upright = np.arange(12, dtype=np.uint8).reshape(3, 4)
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.T,
        6: np.rot90(upright),
        7: upright[::-1, ::-1].T,
        8: np.rot90(upright, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = Image.fromarray(np.ascontiguousarray(stored))
    image.save(tmp_path / "turned.png", exif=exif)
    np.testing.assert_array_equal(read_image(tmp_path / "turned.png"), upright)
    with Image.open(tmp_path / "turned.png") as opened:
        np.testing.assert_array_equal(read_image(opened), upright)

"""Small images, damaged files, and a literal covariance of boxes, for the tests of descriptors."""

from __future__ import annotations

import numpy as np
from PIL import Image

from covmetric.descriptors.integral import box_covariances, direct_covariances, integral_covariances

GREY = np.random.default_rng(0).integers(256, size=(12, 15)).astype(np.uint8)
COLOUR = np.random.default_rng(1).integers(256, size=(12, 15, 3)).astype(np.uint8)


def numpy_covariances(features, boxes, mask=None):
    """Return np.cov of the features over each box."""
    result = []
    for top, left, height, width in np.asarray(boxes).tolist():
        part = features[:, top : top + height, left : left + width]
        kept = slice(None) if mask is None else mask[top : top + height, left : left + width].ravel()
        result.append(np.cov(part.reshape(len(features), -1)[:, kept]).reshape(len(features), -1))
    return np.array(result)


def assert_agrees_with_numpy(features, boxes, mask=None):
    """Compare both algorithms and the chosen one with np.cov; return for which boxes the integral is accurate.

    Entries agree to 1e-10 of the variances of the image, and no matrix is more indefinite than that of np.cov.
    """
    expected = numpy_covariances(features, boxes, mask)
    kept = features.reshape(len(features), -1) if mask is None else features[:, mask]
    deviations = kept.std(axis=1)
    deviations[deviations == 0.0] = 1.0
    units = deviations[:, None] * deviations
    from_integral, accurate = integral_covariances(features, np.asarray(boxes), mask)
    direct = direct_covariances(features, np.asarray(boxes), mask)
    repaired = np.where(accurate[:, None, None], from_integral, direct)
    for result in (from_integral[accurate], direct, repaired, box_covariances(features, boxes, mask)):
        target = expected[accurate] if len(result) == accurate.sum() else expected
        assert np.abs((result - target) / units).max(initial=0.0) <= 1e-10
        np.testing.assert_array_equal(result, np.swapaxes(result, 1, 2))
    ours, theirs = (np.linalg.eigvalsh(matrices / units)[:, 0] for matrices in (repaired, expected))
    assert (ours >= np.minimum(theirs, 0.0) - 1e-14 * np.abs(expected / units).max(axis=(1, 2))).all()
    return accurate


def write_damaged_files(folder):
    """Write good.png, good.jpg and damaged files; return the reason that the error states for each damaged file."""
    Image.fromarray(COLOUR.repeat(20, 0).repeat(20, 1)).save(folder / "good.png")
    Image.fromarray(COLOUR.repeat(20, 0).repeat(20, 1)).save(folder / "good.jpg")
    for kind in ("png", "jpg"):
        data = (folder / f"good.{kind}").read_bytes()
        (folder / f"truncated.{kind}").write_bytes(data[: len(data) // 2])
        (folder / f"header.{kind}").write_bytes(data[:10])
        (folder / f"corrupt.{kind}").write_bytes(data[:60] + bytes(200) + data[260:])
    (folder / "empty.png").write_bytes(b"")
    (folder / "text.png").write_text("not an image at all")
    return {
        "truncated.png": "", "truncated.jpg": "truncated", "header.png": "", "header.jpg": "", "corrupt.png": "",
        "empty.png": "the file is empty", "text.png": r"Pillow does not recognise the format \(19 bytes\)",
    }  # fmt: skip

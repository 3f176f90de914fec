"""Problems for the benchmarks: the paper's image data where it is at hand, simulated classes otherwise."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from covmetric import MetricProblem, get_embedding

_DATA = Path(os.environ.get("COVMETRIC_DATA", Path(__file__).parents[2] / "shared" / "data"))


def simulated_classes(n: int, count: int, m: int | None = None, classes: int = 8, seed: int = 0):
    """Embedded examples (count, n, m) around class centres, with labels; m = n gives symmetric matrices."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=count)
    centres = 0.5 * rng.standard_normal((classes, n, m or n))
    scales = rng.lognormal(0.0, 0.5, (1, n, 1))
    embedded = centres[labels] + scales * rng.standard_normal((count, n, m or n))
    if m is None:
        embedded = (embedded + np.swapaxes(embedded, 1, 2)) / 2
    return embedded, labels


def labelled_problem(embedded, labels, K: int, lam: float, slack: str, seed: int = 0) -> MetricProblem:
    """K random pairs, half of them similar, scaled by the median squared distance, with the paper's bounds."""
    rng = np.random.default_rng(seed)
    by_class = [np.flatnonzero(labels == c) for c in np.unique(labels)]
    by_class = [members for members in by_class if len(members) > 1]
    similar = np.arange(K) % 2 == 0
    pairs = np.empty((K, 2), dtype=np.int64)
    groups = rng.integers(len(by_class), size=K)
    for k in range(K):
        if similar[k]:
            pairs[k] = rng.choice(by_class[groups[k]], 2, replace=False)
        else:
            i = rng.choice(by_class[groups[k]])
            j = rng.integers(len(labels))
            while labels[j] == labels[i]:
                j = rng.integers(len(labels))
            pairs[k] = i, j
    first = pairs[: min(K, 20_000)]
    squared = ((embedded[first[:, 0]] - embedded[first[:, 1]]) ** 2).sum(axis=(1, 2))
    scaled = embedded / np.sqrt(np.median(squared))
    bounds = np.where(similar, 0.05, 0.95)
    return MetricProblem(scaled, pairs, np.where(similar, 1.0, -1.0), bounds, 1.0 / (lam * K), slack)


def _derivatives(grey):
    """|Ix|, |Iy|, |Ixx|, |Iyy| by central differences."""
    Iy, Ix = np.gradient(grey)
    Ixx, Iyy = np.gradient(Ix, axis=1), np.gradient(Iy, axis=0)
    return [np.abs(a) for a in (Ix, Iy, Ixx, Iyy)]


def _covariances(features, boxes, side):
    """The covariances of square patches of an image of features (rows, columns, d)."""
    d = features.shape[-1]
    return [np.cov(features[top : top + side, left : left + side].reshape(-1, d).T) for top, left in boxes]


def _textures():
    """The features [I, |Ix|, |Iy|, |Ixx|, |Iyy|] of each of the 111 textures, with its number."""
    from PIL import Image

    for number in [k for k in range(1, 113) if k != 14]:
        with Image.open(_DATA / "brodatz" / f"D{number}.gif") as image:
            grey = np.asarray(image.convert("L"), dtype=float)
        yield number, np.stack([grey, *_derivatives(grey)], axis=-1)


def brodatz_like():
    """The logs of 5 x 5 covariances of 111 textures, 50 patches each, and their classes."""
    if not (_DATA / "brodatz").is_dir():
        return simulated_classes(5, 5550, classes=111)
    rng = np.random.default_rng(0)
    matrices, labels = [], []
    for number, features in _textures():
        matrices += _covariances(features, rng.integers(0, 640 - 128, (50, 2)), 128)
        labels += [number] * 50
    return get_embedding("log", reg=1e-9).fit_transform(np.array(matrices)), np.array(labels)


def brodatz_quarters(patches: int):
    """5 x 5 covariances of `patches` patches of each quarter of 111 textures; their classes and quarters."""
    rng = np.random.default_rng(0)
    matrices, labels, quarters = [], [], []
    for number, features in _textures():
        for quarter in range(4):
            corner = 320 * np.array([quarter // 2, quarter % 2])
            matrices += _covariances(features, corner + rng.integers(0, 320 - 128, (patches, 2)), 128)
            labels += [number] * patches
            quarters += [quarter] * patches
    return np.array(matrices), np.array(labels), np.array(quarters)


def eth80_images(views: slice):
    """9 x 9 covariances of the chosen views of each object of ETH-80; their classes and objects."""
    from PIL import Image

    matrices, labels, objects = [], [], []
    for c, group in enumerate(sorted(p for p in (_DATA / "eth80").iterdir() if p.is_dir())):
        for thing in sorted(p for p in group.iterdir() if p.is_dir()):
            for path in sorted(thing.glob("*.webp"))[views]:
                with Image.open(path) as image:
                    colour = np.asarray(image.convert("RGB"), dtype=float)
                y, x = np.mgrid[: colour.shape[0], : colour.shape[1]]
                features = np.stack([x, y, *np.moveaxis(colour, 2, 0), *_derivatives(colour.mean(axis=2))], axis=-1)
                matrices.append(np.cov(features.reshape(-1, 9).T))
                labels.append(c)
                objects.append(thing.name)
    return np.array(matrices), np.array(labels), np.array(objects)


def eth80_like():
    """The logs of 9 x 9 covariances of ETH-80 images, ten views of each object, and their classes."""
    if not (_DATA / "eth80").is_dir():
        return simulated_classes(9, 800)
    matrices, labels, _ = eth80_images(slice(0, 40, 4))
    return get_embedding("log", reg=1e-9).fit_transform(matrices), labels


def series(name: str):
    """Shrunk covariances of the series of `name`.npz, training and test part together, and their classes."""
    from pyriemann.geometry.covariance import covariances

    with np.load(_DATA / "series" / f"{name}.npz") as file:
        X = np.concatenate([file["X_train"], file["X_test"]]).astype(float)
        y = np.concatenate([file["y_train"], file["y_test"]])
    # Series of unequal lengths are padded with zeros at the end.
    lengths = X.shape[2] - (np.abs(X).sum(axis=1)[:, ::-1] > 0).argmax(axis=1)
    return np.stack([covariances(x[None, :, :length], "oas")[0] for x, length in zip(X, lengths, strict=True)]), y


def ssvep():
    """24 x 24 covariances of the SSVEP trials, their classes, subjects and recordings."""
    with np.load(_DATA / "series" / "ssvep_exo_cov24.npz") as file:
        kept = ~file["author_excluded"]
        return file["C"][kept], file["y"][kept], file["subject"][kept], file["record"][kept]


def available() -> bool:
    """Whether the folder of real data is at hand."""
    return _DATA.is_dir()

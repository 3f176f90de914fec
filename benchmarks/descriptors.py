"""Times of covariance matrices of image regions: against np.cov, from files, and by both algorithms.

``python -m benchmarks.descriptors [--smoke]`` prints five tables; --smoke uses the smallest sizes. BLAS has one thread.
Alternatives take turns in the same run, and the best of several rounds counts.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from PIL import Image
from threadpoolctl import threadpool_limits

from benchmarks import problems, smoke
from benchmarks.neighbors import best_of
from covmetric.descriptors import images
from covmetric.descriptors.features import pixel_features
from covmetric.descriptors.images import ImageCovariances
from covmetric.descriptors.integral import box_covariances, direct_covariances, integral_covariances, predicted_costs
from covmetric.descriptors.reading import read_image
from covmetric.descriptors.regions import GridPatches, RandomPatches

ROUNDS = 5


def simulated(rows: int, columns: int, channels: int = 0, seed: int = 0):
    """Return an image of 8 bits: noise at two scales."""
    rng = np.random.default_rng(seed)
    shape = (rows, columns, channels) if channels else (rows, columns)
    coarse = rng.standard_normal((rows // 8 + 1, columns // 8 + 1, *shape[2:])).repeat(8, axis=0).repeat(8, axis=1)
    values = 128 + 40 * coarse[:rows, :columns] + 20 * rng.standard_normal(shape)
    return np.clip(values, 0, 255).astype(np.uint8)


def texture(number: int):
    """Return a Brodatz texture, or a simulated image if the data is missing, and its name."""
    path = problems._DATA / "brodatz" / f"D{number}.gif"
    if path.is_file():
        return read_image(path), f"Brodatz D{number}"
    return simulated(640, 640, seed=number).astype(float), "a simulated image"


def numpy_covariances(features, boxes):
    """Return np.cov of each box."""
    d = len(features)
    return np.array([np.cov(features[:, t : t + h, a : a + w].reshape(d, -1)) for t, a, h, w in boxes.tolist()])


def against_numpy(numbers=(1, 43, 112), side: int = 640, rounds: int = ROUNDS) -> None:
    print(
        f"Patches of 32 x 32 at stride 4 of {side} x {side} pixels, 5 grey features: seconds for all covariances, and"
    )
    print("the largest difference in units of the variances of the image. Both need the features, timed separately.\n")
    print(f"{'':>18} {'patches':>8} {'features':>9} {'np.cov':>8} {'ours':>8} {'np.cov/ours':>12} {'difference':>11}")
    for number in numbers:
        image, name = texture(number)
        image = image[:side, :side]
        features, boxes = pixel_features(image, "grey"), GridPatches(32, 4).select(image.shape, 0)
        seconds = best_of(
            rounds,
            features=lambda image=image: pixel_features(image, "grey"),
            numpy=lambda f=features, b=boxes: numpy_covariances(f, b),
            ours=lambda f=features, b=boxes: box_covariances(f, b),
        )
        deviations = features.std(axis=(1, 2))
        difference = (
            np.abs(box_covariances(features, boxes) - numpy_covariances(features, boxes))
            / deviations[:, None]
            / deviations
        )
        print(
            f"{name:>18} {len(boxes):>8} {seconds['features']:>9.4f} {seconds['numpy']:>8.3f} {seconds['ours']:>8.4f} "
            f"{seconds['numpy'] / seconds['ours']:>12.1f} {difference.max():>11.1e}"
        )
    print()


@contextmanager
def image_files(count: int) -> Iterator[tuple[list[Path], str]]:
    """Yield the paths of images of ETH-80, or of simulated images if the data is missing, and their source."""
    with tempfile.TemporaryDirectory() as folder:
        paths, source = sorted((problems._DATA / "eth80").glob("*/*/*.webp")), "ETH-80"
        if not paths:
            paths, source = [Path(folder) / f"{k}.png" for k in range(count)], "simulated PNG"
            for k, path in enumerate(paths):
                Image.fromarray(simulated(128, 128, 3, seed=k)).save(path)
        yield paths[:: max(1, len(paths) // count)][:count], source


def from_files(count: int = 820, rounds: int = 3) -> None:
    """Describe whole images, including the time of reading them."""
    with image_files(count) as (paths, source):
        read_all = {f"{n} job(s)": lambda n=n: ImageCovariances("colour", n_jobs=n).transform(paths) for n in (1, 2)}
        read_all["2 job(s)"]()  # start the processes
        seconds = best_of(rounds, **read_all)
        same = np.array_equal(*(work() for work in read_all.values()))
    print(f"{len(paths)} files of 128 x 128 pixels ({source}), 9 colour features of the whole image, reading included:")
    print("  ".join(f"{name}: {len(paths) / s:.0f} images/s" for name, s in seconds.items()), end="; ")
    print(f"{'the same bits' if same else 'ANOTHER RESULT'}\n")


def seconds_in_this_process(paths: list[Path], kept_bytes: int) -> float:
    """Return the seconds for describing the images by one job, after a warm-up."""
    images.MALLOC_KEPT_BYTES = kept_bytes
    with threadpool_limits(1):
        describe = ImageCovariances("colour", n_jobs=1).transform
        describe(paths[:16])
        started = time.perf_counter()
        describe(paths)
        return time.perf_counter() - started


def with_and_without_kept_memory(count: int = 410, rounds: int = 5) -> None:
    """Compare one job with and without the block that makes malloc keep freed memory (`images.MALLOC_KEPT_BYTES`).

    The effect on malloc lasts as long as the process, so each measurement runs in a separate process.
    """
    variants = {"with": images.MALLOC_KEPT_BYTES, "without": 0}
    best = dict.fromkeys(variants, np.inf)
    with image_files(count) as (paths, source):
        for _ in range(rounds):
            for name, kept_bytes in variants.items():
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
                    seconds = executor.submit(seconds_in_this_process, paths, kept_bytes).result()
                best[name] = min(best[name], seconds)
    print(f"The same with and without the memory that malloc keeps, {len(paths)} files ({source}), one job:")
    print("  ".join(f"{name}: {len(paths) / s:.0f} images/s" for name, s in best.items()), end="; ")
    print(f"ratio {best['without'] / best['with']:.2f}\n")


def quarters(count: int = 111, patches: int = 50) -> None:
    """Describe random patches in the quarters of textures, as in the paper."""
    numbers = [k for k in range(1, 113) if k != 14][:count]
    describe = ImageCovariances(regions=RandomPatches(patches, 128, random_state=0)).describe
    started = time.perf_counter()
    images, name = [texture(k)[0] for k in numbers], texture(1)[1].split(" D")[0]
    read = time.perf_counter() - started
    parts = [image[top : top + 320, left : left + 320] for image in images for top in (0, 320) for left in (0, 320)]
    started = time.perf_counter()
    found = describe(parts)
    seconds = time.perf_counter() - started
    print(f"{len(numbers)} images ({name}) x 4 quarters x {patches} random patches of 128 x 128, 5 features, one job:")
    print(f"{seconds:.2f} s for {len(found.X)} matrices, after {read:.2f} s of reading\n")


CASES = (
    # pixels a side, patch, regions, d
    *((640, 128, RandomPatches(count, 128, 0), 5) for count in (1, 5, 20, 50, 200)),
    *((320, 128, RandomPatches(count, 128, 0), 5) for count in (5, 20, 50)),
    *((640, 16, RandomPatches(count, 16, 0), 5) for count in (50, 500, 5000)),
    *((128, 16, GridPatches(16, stride), 9) for stride in (16, 8, 4, 1)),
    *((640, 32, GridPatches(32, stride), 9) for stride in (32, 16, 8, 4)),
)


def crossover(cases=CASES, rounds: int = ROUNDS) -> None:
    print("Integral images or box by box: predicted and measured milliseconds, and the algorithm that is chosen.\n")
    print(f"{'image':>6} {'patch':>6} {'boxes':>6} {'d':>3} {'integral':>17} {'box by box':>17}  chosen")
    for side, patch, regions, d in cases:
        features = np.random.default_rng(0).standard_normal((d, side, side))
        boxes = regions.for_images(1)[0].select((side, side), 0)
        predicted = [1e-6 * cost for cost in predicted_costs(features.shape, boxes)]
        seconds = best_of(
            rounds,
            integral=lambda f=features, b=boxes: integral_covariances(f, b),
            direct=lambda f=features, b=boxes: direct_covariances(f, b),
        )
        measured = [1e3 * s for s in seconds.values()]
        chosen = int(predicted[1] <= predicted[0])
        loss = measured[chosen] / min(measured)
        verdict = "the faster" if loss == 1.0 else f"the slower, by a factor of {loss:.2f}"
        print(
            f"{side:>6} {patch:>6} {len(boxes):>6} {d:>3} {predicted[0]:>8.2f} {measured[0]:>8.2f} "
            f"{predicted[1]:>8.2f} {measured[1]:>8.2f}  {('integral', 'box by box')[chosen]}: {verdict}",
            flush=True,
        )


def main(arguments: list[str] | None = None) -> None:
    small = smoke.asked_for(arguments)
    with threadpool_limits(1):
        if small:
            against_numpy((1,), side=64, rounds=1)
            from_files(10, rounds=1)
            with_and_without_kept_memory(10, rounds=1)
            quarters(2, 5)
            crossover(((64, 16, GridPatches(16, 4), 3),), rounds=1)
        else:
            against_numpy()
            from_files()
            with_and_without_kept_memory()
            quarters()
            crossover()


if __name__ == "__main__":
    main()

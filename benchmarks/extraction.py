"""Covariance matrices of more images than fit in memory: the section `extraction` of `benchmarks.scale`.

The images are written to a temporary folder. Two worker processes with a memory limit describe them, block by block;
Dask ends a worker that exceeds the limit. The table shows the peak memory of each process over all of its life.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.clusters import peaks, two_workers
from benchmarks.memory import peak_kilobytes
from covmetric.descriptors import ImageCovariances


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the section."""
    parser.add_argument("--images", type=int, default=600, help="number of images (default: %(default)s)")
    parser.add_argument("--size", type=int, nargs=2, default=(600, 800), help="rows and columns (default: 600 800)")
    parser.add_argument("--block", type=int, default=10, help="images per block (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=500, help="MB of memory per worker (default: %(default)s)")


def write_images(folder: Path, count: int, shape: tuple[int, int]) -> list[str]:
    """Write JPEG images of smooth random colours; return their paths."""
    from PIL import Image

    paths = []
    for number in range(count):
        small = np.random.default_rng(number).integers(256, size=(12, 16, 3), dtype=np.uint8)
        path = folder / f"{number:06d}.jpg"
        Image.fromarray(small).resize((shape[1], shape[0]), Image.Resampling.BICUBIC).save(path)
        paths.append(str(path))
    return paths


def run(options: argparse.Namespace) -> None:
    """Print the memory of the images, the limit, the peaks, and whether the result is that of one process."""
    import dask.bag

    from covmetric.distributed import transform_blocks

    rows, columns = options.size
    decoded = options.images * rows * columns * 3 * 8 / 1e6
    descriptor = ImageCovariances("colour")
    with tempfile.TemporaryDirectory() as folder:
        paths = write_images(Path(folder), options.images, (rows, columns))
        with two_workers(options.limit) as client:
            start_pids = sorted(client.run(os.getpid).values())
            idle = peaks(client)
            start = time.perf_counter()
            bag = dask.bag.from_sequence(paths, partition_size=options.block)
            matrices = transform_blocks(descriptor, bag).compute()
            seconds = time.perf_counter() - start
            highest = peaks(client)
            restarted = sorted(client.run(os.getpid).values()) != start_pids
        sample = slice(0, options.images, max(1, options.images // 20))
        equal = matrices[sample].tobytes() == descriptor.transform(paths[sample]).tobytes()
    print(f"images               {options.images} of {rows} x {columns} pixels, {decoded:,.0f} MB as float64 in RGB")
    print(f"limit                {options.limit} MB for each of 2 workers")
    print(f"peak of the workers  {highest}")
    print(f"  before any image   {idle}")
    print(f"peak of the client   {peak_kilobytes() / 1e3:.0f} MB")
    print(f"workers replaced     {'yes' if restarted else 'no'}")
    print(f"time                 {seconds:.1f} s, {options.images / seconds:.1f} images per second")
    print(f"bits of one process  {'equal' if equal else 'NOT EQUAL'} ({len(matrices[sample])} images compared)")

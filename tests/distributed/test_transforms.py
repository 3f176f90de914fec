"""Descriptors and learned metrics on collections of Dask."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time

import numpy as np
import pytest

from covmetric import CovMetric, LearnedMetric, get_embedding
from covmetric._utils.parallel import lost_worker_errors
from covmetric.descriptors import (
    DESCRIPTORS,
    Boxes,
    Descriptor,
    ImageCovariances,
    ImageSetCovariances,
    RandomPatches,
    SeriesCovariances,
    read_image,
)
from covmetric.distributed import BlockError, transform_blocks
from covmetric.distributed.blocks import aligned
from covmetric.distributed.transforms import _transform_block
from tests.data import classes_of_matrices
from tests.descriptors.contract import examples_for
from tests.distributed.clusters import allowed_failures, kill_a_busy_worker, wait_until, worker_pids
from tests.images import write_objects

da = pytest.importorskip("dask.array", reason='Dask is not installed: pip install "dask[array]" distributed')
db = pytest.importorskip("dask.bag")

X, Y = classes_of_matrices(40, n=4)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Return the paths of 264 small images."""
    return sorted(map(str, write_objects(tmp_path_factory.mktemp("images")).rglob("*.png")))


def here(collection):
    return collection.compute(scheduler="synchronous")


def slow_red(image):
    """Return the red channel, after a while."""
    time.sleep(0.002)
    return image[..., 0]


class DeadlyRed:
    """The red channel, which kills the process that reads a certain image."""

    __name__ = "deadly"

    def __init__(self, image):
        self.image = image

    def __call__(self, image):
        if np.array_equal(image, self.image):
            os.kill(os.getpid(), signal.SIGKILL)
        return image[..., 0]


class FailsOnce:
    """The red channel; the first call of all fails."""

    __name__ = "fails once"

    def __init__(self, marker):
        self.marker = marker

    def __call__(self, image):
        if not self.marker.exists():
            self.marker.touch()
            raise OSError("the file server does not answer")
        return image[..., 0]


# --- The same matrices ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_bags_give_the_bits_of_lists(name):
    examples = examples_for(DESCRIPTORS[name](), 75)
    descriptor = DESCRIPTORS[name]().fit(examples)
    lazy = transform_blocks(descriptor, db.from_sequence(examples, npartitions=2))
    assert lazy.numblocks == (2, 1, 1)
    assert lazy.shape[1:] == (descriptor.matrix_size_, descriptor.matrix_size_)
    assert here(lazy).tobytes() == descriptor.transform(examples).tobytes()
    assert here(lazy.compute_chunk_sizes()[:3]).shape == (3, *lazy.shape[1:])


@pytest.mark.parametrize(
    ("descriptor", "shape"),
    [
        (SeriesCovariances(), (11, 3, 50)),
        (SeriesCovariances("scm"), (11, 3, 50)),
        (ImageCovariances(), (11, 12, 14)),
        (ImageCovariances("colour"), (11, 12, 14, 3)),
        (ImageSetCovariances((3, 3)), (11, 4, 12, 14)),
    ],
)
def test_arrays_give_the_bits_of_arrays_in_memory(descriptor, shape):
    array = np.random.default_rng(0).uniform(0, 255, shape)
    # Blocks along the other axes are joined.
    lazy = transform_blocks(descriptor, da.from_array(array, chunks=(4, *(size // 2 for size in shape[1:]))))
    assert lazy.chunks[0] == (4, 4, 3)
    assert here(lazy).tobytes() == descriptor.fit_transform(array).tobytes()


@pytest.mark.parametrize("phi", ["log", "relog", "chol"])
def test_metrics_transform_blocks(phi):
    metric = CovMetric(phi=phi, random_state=0).fit(X, Y).metric_
    lazy = transform_blocks(metric, da.from_array(X, chunks=(7, 2, 4)))
    assert lazy.shape == (40, 16)
    assert here(lazy).tobytes() == metric.transform(X).tobytes()


def test_metrics_of_vectors_in_their_span():
    rng = np.random.default_rng(0)
    vectors, basis = rng.standard_normal((40, 60)), np.linalg.qr(rng.standard_normal((60, 5)))[0]
    phi = get_embedding("vector").fit(vectors)
    metric = LearnedMetric.from_span(phi, basis, np.diag(np.arange(1.0, 6.0)), 0.5, None)
    lazy = transform_blocks(metric, da.from_array(vectors, chunks=(7, 60)))
    np.testing.assert_allclose(here(lazy), metric.transform(vectors), rtol=1e-12)


def test_on_a_cluster_the_bits_are_those_of_one_machine(client, paths):
    descriptor = ImageCovariances("colour")
    matrices = transform_blocks(descriptor, db.from_sequence(paths, npartitions=7))
    metric = LearnedMetric(get_embedding("sqrt").fit(np.eye(9)[None]), np.diag(np.arange(1.0, 10.0)))
    found = transform_blocks(metric, matrices.compute_chunk_sizes()).compute()
    assert found.tobytes() == metric.transform(descriptor.transform(paths)).tobytes()


def test_empty_partitions_have_no_rows():
    bag = db.from_sequence(examples_for(ImageCovariances(), 6), npartitions=3).filter(lambda image: len(image) > 9)
    assert here(transform_blocks(ImageCovariances(), bag)).shape == (2, 5, 5)
    assert here(transform_blocks(ImageCovariances(), bag.filter(lambda image: False))).shape == (0, 5, 5)


def test_images_of_a_partition_are_not_all_in_memory_at_once(paths):
    alive, most = set(), 0

    class Image(np.ndarray):
        def __del__(self):
            alive.discard(id(self))

    def read(path):
        nonlocal most
        image = read_image(path).view(Image)
        alive.add(id(image))
        most = max(most, len(alive))
        return image

    lazy = transform_blocks(ImageCovariances(), db.from_sequence(paths, npartitions=1).map(read))
    assert here(lazy).shape == (264, 5, 5)
    assert most < 100


def test_the_transformer_is_not_changed():
    series = np.random.default_rng(0).standard_normal((4, 3, 50))
    descriptor = SeriesCovariances(n_jobs=2)
    here(transform_blocks(descriptor, da.from_array(series, chunks=(2, 3, 50))))
    assert vars(descriptor) == {"estimator": "oas", "n_jobs": 2}


@pytest.mark.parametrize("shift", range(0, 16, 3))
def test_arrays_are_aligned(shift):
    buffer = np.arange(8 * 1000 + 16, dtype=np.uint8)
    array = buffer[shift : shift + 8000].view(np.float64).reshape(10, 100)
    assert aligned(array).ctypes.data % 16 == 0
    np.testing.assert_array_equal(aligned(array), array)


class Addresses(Descriptor):
    """The remainders of the addresses of the examples by 16."""

    input_kind = "images"
    matrix_size_ = 1

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.array([[[one.ctypes.data % 16]] for one in X], dtype=float)


@pytest.mark.parametrize("as_list", [False, True])
def test_descriptors_get_aligned_arrays(as_list):
    examples = np.arange(8 * 4 + 3, dtype=np.uint8)[3:].view(np.float64).reshape(2, 2)
    assert Addresses().transform(examples).any()
    found = _transform_block(list(examples) if as_list else examples, 0, pickle.dumps(Addresses()), (1, 1))
    assert found.tolist() == [[[0.0]], [[0.0]]]


# --- Faults -----------------------------------------------------------------------------------------------------------


def test_a_killed_worker_changes_nothing(client, paths):
    descriptor = ImageCovariances(["I", slow_red])
    future = client.compute(transform_blocks(descriptor, db.from_sequence(paths, npartitions=20)))
    wait_until(lambda: sum("concatenate" in str(key) for key in client.who_has()) >= 3)
    killed = kill_a_busy_worker(client)
    assert future.status == "pending"
    assert future.result().tobytes() == descriptor.transform(paths).tobytes()
    assert killed not in worker_pids(client).values()


def test_a_block_that_kills_its_workers_is_named(client, paths):
    # The deadly block alone: Dask also blames blocks that wait on the same worker.
    descriptor = ImageCovariances([DeadlyRed(read_image(paths[100]))])
    lazy = transform_blocks(descriptor, db.from_sequence(paths[:150], npartitions=2)).blocks[1]
    with allowed_failures(client, 0), pytest.raises(lost_worker_errors(), match=r"ImageCovariances-.*', 1\)"):
        lazy.compute(optimize_graph=False)


def test_a_failure_that_passes_is_tried_again(client, paths, tmp_path):
    descriptor = ImageCovariances([FailsOnce(tmp_path / "failed")])
    lazy = transform_blocks(descriptor, db.from_sequence(paths[:4], npartitions=1))
    assert client.compute(lazy, retries=1).result().shape == (4, 1, 1)


def test_unreadable_images_are_named(client, paths, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"nothing")
    bag = db.from_sequence([*paths[:5], str(broken)], partition_size=2)
    with pytest.raises(BlockError, match=r"block 2: images\[1\].*broken\.png.*does not recognise the format") as info:
        transform_blocks(ImageCovariances(), bag).compute()
    assert isinstance(info.value, ValueError)


def test_missing_images_are_named():
    bag = db.from_sequence(["nowhere/one.png"])
    with pytest.raises(BlockError, match=r"block 0: FileNotFoundError: .*nowhere/one\.png"):
        here(transform_blocks(ImageCovariances(), bag))


# --- Invalid input ----------------------------------------------------------------------------------------------------

BAG = db.from_sequence(["a.png"])


@pytest.mark.parametrize(
    ("transformer", "collection", "message"),
    [
        ("images", BAG, "transformer must be a Descriptor or a LearnedMetric, got 'images'"),
        (ImageCovariances(), ["a.png"], r"X must be a bag or an array of Dask .*got <class 'list'>"),
        (ImageCovariances(mask=[None]), BAG, "mask must not be a list"),
        (ImageCovariances(regions="random"), BAG, "regions='random' depend on the position"),
        (ImageCovariances(regions=RandomPatches(1, 8)), BAG, "depend on the position"),
        (ImageCovariances(regions=Boxes([[[0, 0, 4, 4]]])), BAG, "depend on the position"),
        (ImageCovariances(errors="skip"), BAG, "errors must be 'raise'"),
        (ImageCovariances("none"), BAG, "features"),
        (SeriesCovariances(), BAG, "call its fit with one example first"),
        (SeriesCovariances("none"), BAG, "estimator must be one of"),
    ],
)
def test_invalid_arguments(transformer, collection, message):
    with pytest.raises(ValueError, match=message):
        transform_blocks(transformer, collection)


def test_one_box_for_all_images_is_accepted(paths):
    descriptor = ImageCovariances(regions=Boxes([[0, 0, 6, 6]]))
    lazy = transform_blocks(descriptor, db.from_sequence(paths[:5], npartitions=2))
    assert here(lazy).tobytes() == descriptor.transform(paths[:5]).tobytes()


def test_other_numbers_of_channels_are_refused():
    descriptor = SeriesCovariances().fit(np.random.default_rng(0).standard_normal((2, 3, 50)))
    with pytest.raises(BlockError, match=r"block 0: X\[0\] has 4 channels, but 3 were expected"):
        here(transform_blocks(descriptor, da.from_array(np.ones((2, 4, 50)))))


def test_without_dask_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(ImportError, match=r'pip install "dask\[array\]" distributed'):
        transform_blocks(ImageCovariances(), BAG)

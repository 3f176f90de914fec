"""Randomly mutated files either load or are refused with ValueError and a reason."""

from __future__ import annotations

import io
import re
import zipfile
import zlib

import numpy as np
import pytest

from covmetric import load_model, save_model
from covmetric.models import MODELS
from tests.model_file.mutation import MUTATIONS, mutated_array
from tests.model_file.pipelines import NAMED, fitted

# A reason that is only the name of an error and a key says nothing about the file.
BARE_ERROR = re.compile(r"is not a model file: (it is damaged[^:(]*\(|\w+Error\b)|cannot be restored: \w+Error\b")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mutate", MUTATIONS.values(), ids=MUTATIONS)
def test_mutants_load_or_are_refused(mutate, seed, valid_file, tmp_path):
    """Each of ten thousand mutants loads or is refused with ValueError, never with another error."""
    assert count_refused(valid_file, mutate, seed, 834, tmp_path / "model.npz") > 200


def count_refused(content, mutate, seed, count, path):
    """Return how many mutants of a file are refused; each loads, or is refused with ValueError and a reason."""
    rng = np.random.default_rng(seed)
    reasons = []
    for _ in range(count):
        path.write_bytes(mutate(content, rng))
        try:
            assert isinstance(load_model(path), MODELS)
        except ValueError as error:
            reasons.append(str(error))
    assert all(str(path) in reason and not BARE_ERROR.search(reason) for reason in reasons)
    return len(reasons)


@pytest.fixture(scope="module")
def pipeline_file(tmp_path_factory):
    """The bytes of a saved pipeline, by name."""

    def save(name):
        path = tmp_path_factory.mktemp("valid") / "model.npz"
        save_model(NAMED[name]() if name in NAMED else fitted(name)[0], path)
        return path.read_bytes()

    return save


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("mutate", MUTATIONS.values(), ids=MUTATIONS)
@pytest.mark.parametrize("name", [*NAMED, "filter bank", "boxes", "logistic", "lda", "knn, tree", "scaler and pca"])
def test_mutants_of_pipelines_load_or_are_refused(name, mutate, pipeline_file, tmp_path):
    """``python -m benchmarks.mutants_of_files`` tries ten thousand mutants of each kind of file."""
    assert count_refused(pipeline_file(name), mutate, 0, 60, tmp_path / "model.npz") > 10


def test_mutated_arrays_have_valid_checksums(valid_file):
    """The checks of the contents refuse these mutants, not the checksums of the archive."""
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(io.BytesIO(mutated_array(valid_file, rng))) as archive:
        assert archive.testzip() is None
        assert all(zlib.crc32(archive.read(info)) == info.CRC for info in archive.infolist())

"""SIGKILL while models are saved, a full disk, and the memory of a process that fits and saves many models."""

from __future__ import annotations

import os
import resource
import signal
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.torture.outcomes import Tally
from benchmarks.torture.states import data
from covmetric import CovMetric, CovMetricClassifier, load_model, save_model


def kills(tally: Tally, seed: int, count: int) -> None:
    """SIGKILL a process that saves a model again and again: the file is whole, the old one or the new one."""
    rng = np.random.default_rng(seed)
    models = [CovMetricClassifier(CovMetric("log", random_state=0)).fit(*data(s, 20, n=12)) for s in (0, 1)]
    valid = [model.metric_.W for model in models]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        save_model(models[0], path)
        started = time.perf_counter()
        save_model(models[0], path)
        seconds = time.perf_counter() - started
        for i in range(count):
            child = os.fork()
            if child == 0:
                while True:
                    for model in models:
                        save_model(model, path)
            time.sleep(rng.uniform(0, 4 * seconds))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

            def work() -> None:
                W = load_model(path).metric_.W
                assert any(np.array_equal(W, other) for other in valid), "the file holds another model"

            tally.attempt(work, f"kill {i}")


def full_disk(tally: Tally, seed: int, count: int) -> None:
    """Save models where files may have only so many bytes: OSError, the old file stays, nothing is left behind."""
    rng = np.random.default_rng(seed)
    model = CovMetricClassifier(CovMetric("log", random_state=0)).fit(*data(0, 5))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        save_model(model, path)
        content = path.read_bytes()
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        for i in range(count):
            limit = int(rng.integers(len(content)))
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
            try:
                tally.attempt(lambda: save_model(model, path), f"limit {limit}", (OSError,))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
            kept = path.read_bytes() == content and os.listdir(folder) == ["model.npz"]
            tally.require(kept, f"limit {limit}: the old file changed, or {os.listdir(folder)} is left")
            if i == 0:
                tally.attempt(lambda: save_model(model, Path(folder) / "no" / "model.npz"), "no folder", (OSError,))


def memory_growth(tally: Tally, seed: int, count: int) -> None:
    """Fit, predict, save and load many times: the memory of the process must not grow."""
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            X, y = data(seed + i, 3)
            model = CovMetricClassifier(CovMetric("relog", random_state=i)).fit(X, y)
            save_model(model, Path(folder) / "model.npz")
            load_model(Path(folder) / "model.npz").predict(X)
            tally.certified += 1
            if i == count // 3:
                before = _resident_bytes()
    growth = (_resident_bytes() - before) / 2**20
    if growth > 16:
        tally.defects.append(f"the memory grew by {growth:.0f} MB")


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

from __future__ import annotations

import contextlib
import os
import signal
import threading
from pathlib import Path

import hypothesis
import pytest

import covmetric
from covmetric._utils import tuning

hypothesis.settings.register_profile("covmetric", deadline=None, max_examples=100, derandomize=True)
# What `make mutants` runs: few examples, and no time spent on making a failing one smaller.
hypothesis.settings.register_profile(
    "mutants",
    deadline=None,
    max_examples=10,
    derandomize=True,
    database=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
hypothesis.settings.load_profile("covmetric")

# A shell starts background jobs with Ctrl-C ignored, and the solves that the tests interrupt would never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Numba compiles a kernel again if its own file has changed, but does not notice changes of kernels and constants in
# other files. Without this, tests would run the old machine code.
_KERNELS = Path(covmetric.__file__).parent / "solvers" / "kernels"
_CHANGED = max(path.stat().st_mtime for path in [*_KERNELS.glob("*.py"), Path(tuning.__file__)])
for _compiled in _KERNELS.glob("__pycache__/*.nbi"):
    with contextlib.suppress(OSError):  # another process was faster, or the folder is read-only
        if _compiled.stat().st_mtime < _CHANGED:
            _compiled.unlink()


@pytest.fixture
def small_blocks(monkeypatch) -> None:
    """Blocks of 7 pairs, summed up in at most 2 ranges, so that small problems have several blocks in each range."""
    from covmetric.problem.blocks import sources

    monkeypatch.setattr(sources, "BLOCK_PAIRS", (7, 7))
    monkeypatch.setattr(sources, "MAX_RANGES", 2)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data; tests that need it have the marker `shared`."""
    folder = Path(os.environ.get("COVMETRIC_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real data: set COVMETRIC_DATA to the folder")
    return folder

"""A read-only installation without a home folder, and Python with ``-W error``, ``-X dev`` and ``-OO``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.torture.outcomes import Tally

# Root may write anywhere, unless it gives up this right.
_UNPRIVILEGED = [
    "setpriv",
    "--bounding-set=-dac_override,-dac_read_search",
    "--inh-caps=-dac_override,-dac_read_search",
]
_SCRIPT = """
import numpy as np, tempfile, os
from covmetric import CovMetricClassifier, load_model, save_model
from covmetric.descriptors import ImageCovariances, SeriesCovariances
rng = np.random.default_rng(0)
y = np.arange(24) % 2
X = SeriesCovariances().fit_transform(rng.standard_normal((24, 3, 40)) * (1 + y)[:, None, None])
model = CovMetricClassifier(random_state=0).fit(X, y)
from covmetric import CovMetric, solve, make_paper_problem
assert solve(make_paper_problem(), "dykstra", random_state=0).status.name == "SOLVED"
ImageCovariances().fit_transform(rng.integers(256, size=(3, 20, 20)))
with tempfile.TemporaryDirectory() as folder:
    save_model(model, folder + "/model.npz")
    np.testing.assert_array_equal(load_model(folder + "/model.npz").predict_proba(X), model.predict_proba(X))
print("done")
"""


def read_only(tally: Tally, seed: int, count: int) -> None:
    """Run a read-only installation without a home folder, as a user who may write only temporary files."""
    source = Path(__file__).parents[2] / "src" / "covmetric"
    prefix = _UNPRIVILEGED if os.getuid() == 0 else []
    if prefix and shutil.which(prefix[0]) is None:
        raise OSError("root needs the command setpriv to give up its right to write anywhere")
    with tempfile.TemporaryDirectory() as folder:
        installed, home = Path(folder) / "site", Path(folder) / "home"
        shutil.copytree(source, installed / "covmetric", ignore=shutil.ignore_patterns("__pycache__"))
        home.mkdir()
        protected = [home, installed, *installed.rglob("*")]
        for path in protected:
            path.chmod(0o555 if path.is_dir() else 0o444)
        try:
            for variable in ({"HOME": str(home)}, {"HOME": str(home / "missing")})[:count]:
                environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(installed), "LANG": "C.UTF-8", **variable}
                script = f"import os\nassert not os.access({str(installed)!r}, os.W_OK)\n{_SCRIPT}"
                _run_script(tally, [*prefix, sys.executable], environment, str(variable), script)
            tally.require(not list(installed.rglob("__pycache__")), "the read-only folder was written to")
        finally:
            for path in protected:
                path.chmod(0o755)


def warnings_as_errors(tally: Tally, seed: int, count: int) -> None:
    """Import every public name, and fit, save, load and predict, under ``-W error``, in new processes."""
    every_name = "import covmetric\nfor name in covmetric.__all__: getattr(covmetric, name)\nprint('done')"
    for script in (_SCRIPT, every_name):
        _run_script(tally, [sys.executable, "-W", "error"], dict(os.environ), "-W error", script)
    # The same with Python's checks of the development mode and optimised code, which has no assertions.
    for flags in (["-X", "dev", "-W", "error"], ["-OO"]):
        _run_script(tally, [sys.executable, *flags], dict(os.environ), str(flags))


def _run_script(
    tally: Tally, command: list[str], environment: dict[str, str], label: str, script: str = _SCRIPT
) -> None:
    source = str(Path(__file__).parents[2] / "src")
    environment = {"PYTHONPATH": source, **environment}
    done = subprocess.run(
        [*command, "-c", script], env=environment, cwd="/", capture_output=True, text=True, check=False
    )
    tally.require(done.stdout.endswith("done\n"), f"{label}: {done.stderr[-300:]}")

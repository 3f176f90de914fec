"""Install the built wheel in a fresh environment outside the repository, and run the tests of the sdist against it.

``make test-wheel`` builds wheel and sdist and calls this. The tests come from the sdist, without its ``src``, so they
can only import the installed package, and a file that the sdist lacks is noticed. Arguments after ``--`` are passed to
pytest.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "covmetric"
#: What a wheel has besides the files of the package.
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def wrong_files(wheel: Path, sources: Path = ROOT / "src") -> tuple[set[str], set[str]]:
    """Return the files that a wheel lacks and those that it should not have."""
    folder = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    found = {path for path in (sources / PACKAGE).rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    expected = {path.relative_to(sources).as_posix() for path in found} | {f"{folder}/{name}" for name in METADATA}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    return expected - names, names - expected


def the_only(pattern: str) -> Path:
    """Return the only file in ``dist`` that matches a pattern."""
    found = sorted((ROOT / "dist").glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"dist has {len(found)} files {pattern}; `make dist` builds exactly one")
    return found[0]


def install(wheel: Path, python: str, folder: Path) -> Path:
    """Install a wheel with the pinned test tools in a new environment."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    interpreter = scripts / "python"
    pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), f"{wheel}[dev]"], check=True)
    return interpreter


def unpack_tests(sdist: Path, folder: Path) -> Path:
    """Unpack an sdist without its sources."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = (path for path in folder.iterdir() if path.name.startswith(PACKAGE))
    shutil.rmtree(unpacked / "src")
    return unpacked


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--python", default=sys.executable, help="the interpreter to test with (default: this one)")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, after -- (default: -n 2 tests)")
    options = parser.parse_args()
    wheel, sdist = the_only("*.whl"), the_only("*.tar.gz")
    missing, added = wrong_files(wheel)
    if missing or added:
        print(f"{wheel.name} lacks {sorted(missing)} and should not have {sorted(added)}")
        return 1
    with tempfile.TemporaryDirectory(prefix="covmetric-wheel-") as temporary:
        folder = Path(temporary)
        interpreter = install(wheel, options.python, folder / "environment")
        tests = unpack_tests(sdist, folder)
        where = [str(interpreter), "-c", f"import {PACKAGE}, sys; print({PACKAGE}.__file__, sys.version)"]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        said = subprocess.run(where, cwd=tests, env=environment, check=True, capture_output=True, text=True).stdout
        assert said.startswith(str(folder / "environment")), said
        print(f"{wheel.name} on Python {said.split()[1]}: all files present, no others", flush=True)
        command = [str(interpreter), "-m", "pytest", *(options.pytest or ["-n", "2", "tests"])]
        return subprocess.run(command, cwd=tests, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

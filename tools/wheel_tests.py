"""Install the built wheel in a fresh environment outside the repository, and run the tests of the sdist against it.

``make test-wheel`` builds wheel and sdist and calls this. The tests come from the sdist, without its ``src``, so they
can only import the installed package, and a file that the sdist lacks is noticed. With ``--oldest``, what covmetric and
its extras require is installed in the lowest versions that ``pyproject.toml`` allows. Arguments after ``--`` are passed
to pytest.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "covmetric"
#: What a wheel has besides the files of the package.
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
#: scikit-learn 1.8 passes a generator to parametrize, Dask warned of its own local scheduler beside a cluster, FAISS
#: imported a module that NumPy has renamed, and old libraries round so that a peer stops just above its tolerance.
_WARNINGS_OF_OLD_LIBRARIES = (
    ":pytest.PytestRemovedIn10Warning",
    "Running on a single-machine scheduler:UserWarning",
    "numpy.core._multiarray_umath is deprecated:DeprecationWarning",
    "the alignment was still increasing after:sklearn.exceptions.ConvergenceWarning",
)
#: The extras that only developers need.
TOOLS = {"dev", "docs", "review"}


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


def oldest_versions(pyproject: Path = ROOT / "pyproject.toml") -> list[str]:
    """Return the lowest versions that users may have of what the package and its extras require, as constraints."""
    project = tomllib.loads(pyproject.read_text())["project"]
    extras = (needed for extra, needed in project["optional-dependencies"].items() if extra not in TOOLS)
    found: dict[str, str] = {}
    for text in sum(extras, project["dependencies"]):
        requirement = Requirement(text)
        (lowest,) = (one.version for one in requirement.specifier if one.operator == ">=")
        if found.setdefault(requirement.name, lowest) != lowest:
            raise SystemExit(f"{pyproject.name} has several lower bounds of {requirement.name}")
    return [f"{name}=={version}" for name, version in found.items()]


def install(wheel: Path, python: str, folder: Path, constraints: Path) -> Path:
    """Install a wheel with the test tools in a new environment."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    interpreter = scripts / "python"
    pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", str(constraints), f"{wheel}[dev]"], check=True)
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
    parser.add_argument("--oldest", action="store_true", help="install the lowest versions that pyproject.toml allows")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, after -- (default: -n 2 tests)")
    options = parser.parse_args()
    wheel, sdist = the_only("*.whl"), the_only("*.tar.gz")
    missing, added = wrong_files(wheel)
    if missing or added:
        print(f"{wheel.name} lacks {sorted(missing)} and should not have {sorted(added)}")
        return 1
    with tempfile.TemporaryDirectory(prefix="covmetric-wheel-") as temporary:
        folder = Path(temporary)
        constraints = ROOT / "constraints.txt"
        if options.oldest:
            constraints = folder / "oldest.txt"
            constraints.write_text("\n".join(oldest_versions()))
        interpreter = install(wheel, options.python, folder / "environment", constraints)
        tests = unpack_tests(sdist, folder)
        where = [str(interpreter), "-c", f"import {PACKAGE}, sys; print({PACKAGE}.__file__, sys.version)"]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        said = subprocess.run(where, cwd=tests, env=environment, check=True, capture_output=True, text=True).stdout
        assert said.startswith(str(folder / "environment")), said
        print(f"{wheel.name} on Python {said.split()[1]}: all files present, no others", flush=True)
        command = [str(interpreter), "-m", "pytest", *(options.pytest or ["-n", "2", "tests"])]
        if options.oldest:
            for ignored in _WARNINGS_OF_OLD_LIBRARIES:
                command += ["-W", f"ignore:{ignored}"]
        return subprocess.run(command, cwd=tests, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

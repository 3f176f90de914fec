"""Check that each kind of component can be added by one file and one registry line, and that its contract tests work.

For each toy in tools/toys, ``python tools/extensions.py`` copies the repository into a temporary folder, adds the file
and the registry line, and runs the contract tests, which must pass with tests of the toy among them. Then it breaks the
toy in several ways, one at a time; each time the contract tests must fail. The result is a table.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "pyproject.toml")


@dataclass(frozen=True)
class Toy:
    """A component, its place in the library, and the ways to break it.

    Attributes
    ----------
    file : str
        The module in tools/toys.
    folder : str
        The package that the module is copied to.
    registry : str
        The file with the registry, in the same package.
    cls : str
        The class.
    anchor : str
        The line of the registry before which the new line is inserted.
    tests : tuple of str
        The tests of the contract.
    breakages : dict
        A dict from descriptions to the text of the file that is replaced and its replacement.
    """

    file: str
    folder: str
    registry: str
    cls: str
    anchor: str
    tests: tuple[str, ...]
    breakages: dict[str, tuple[str, str]] = field(default_factory=dict)


TOYS = (
    Toy(
        "phi", "embeddings", "__init__.py", "ToyCentred", '    "id": Identity,\n',
        ("tests/embeddings/test_contract.py",),
        {
            "NaN": ("np.asarray(X - self.mean_)", "np.asarray((X - self.mean_) * np.nan)"),
            "wrong shape": ("np.asarray(X - self.mean_)", "np.asarray(X - self.mean_)[..., :-1]"),
            "wrong sign": ("else embedded) + self.mean_",
                           "else embedded) - self.mean_"),
            "forgotten attribute": ('fitted_attributes = ("mean_",)', "fitted_attributes = ()"),
        },
    ),
    Toy(
        "slack", "slacks", "__init__.py", "Doubled", '    "is": ItakuraSaito,\n',
        ("tests/slacks/test_contract.py", "tests/solvers/test_contract.py", "tests/problem"),
        {
            "NaN": ("np.where(t > -2.0, -t - 0.25 * t * t, 1.0)", "np.where(t > -2.0, -t - 0.25 * t * t, np.nan)"),
            "wrong shape": ("np.full_like(s, 2.0)", "np.array([2.0])"),
            "wrong sign": ("np.where(t > -2.0, -t - 0.25", "np.where(t > -2.0, -t + 0.25"),
            "wrong scalar": ("return 2.0 * (s - 1.0)\n", "return s - 1.0\n"),
        },
    ),
    Toy(
        "order", "orders", "__init__.py", "Reversed", '    "cyclic": Cyclic,\n',
        ("tests/orders", "tests/solvers/test_dykstra.py"),
        {
            "NaN": ("dtype=np.int64)[::-1].copy()", "dtype=np.float64)[::-1] * np.nan"),
            "wrong shape": ("[::-1].copy()", "[:0:-1].copy()"),
            "wrong sign": ("[::-1].copy()", "[::-1] * -1"),
        },
    ),
    Toy(
        "solver", "solvers", "registry.py", "Impatient", '    "dykstra": Dykstra,\n',
        ("tests/solvers/test_contract.py",),
        {
            "NaN": ("state.C @ state.C.T, state.multipliers", "state.C @ state.C.T * float('nan'), state.multipliers"),
            "wrong shape": ("state.C @ state.C.T, state.multipliers", "state.C @ state.C.T, state.multipliers[:-1]"),
            "wrong sign": ("state.C @ state.C.T, state.multipliers", "state.C @ state.C.T, -state.multipliers"),
            "side effect": ("return state.steps_since_certificate >= 1", "state.n_steps += 1\n        return True"),
        },
    ),
    Toy(
        "descriptor", "descriptors", "__init__.py", "PlainCovariances", '    "images": ImageCovariances,\n',
        ("tests/descriptors/test_contract.py",),
        {
            "NaN": ("np.asarray(0.5 * (", "np.asarray(np.nan * ("),
            "wrong shape": ("np.asarray(0.5 * (matrices + np.swapaxes(matrices, 1, 2)))", "matrices[:, :-1, :-1]"),
            "wrong sign": ("np.asarray(0.5 * (", "np.asarray(-0.5 * ("),
            "wrong order": ("for one in series]", "for one in series[::-1]]"),
        },
    ),
    Toy(
        "peer", "peers", "__init__.py", "Standardised", '    "leml": LEML,\n', ("tests/peers/test_contract.py",),
        {
            "NaN": ("np.diag(1.0 / embedded.var", "np.nan * np.diag(1.0 / embedded.var"),
            "wrong shape": ("np.diag(1.0 / embedded.var(axis=0).sum(axis=1))", "np.eye(embedded.shape[1] - 1)"),
            "wrong sign": ("np.diag(1.0 / embedded.var", "-np.diag(1.0 / embedded.var"),
        },
    ),
)  # fmt: skip


def add(toy: Toy, copy: Path, replaced: tuple[str, str] = ("", "")) -> None:
    """Add the toy's file, with a text in it replaced, and its registry line to a copy of the repository."""
    source = (ROOT / "tools" / "toys" / f"{toy.file}.py").read_text()
    if replaced[0] not in source:
        raise ValueError(f"tools/toys/{toy.file}.py does not contain {replaced[0]!r}")
    folder = copy / "src" / "covmetric" / toy.folder
    (folder / "toy.py").write_text(source.replace(*replaced) if replaced[0] else source)
    registry = folder / toy.registry
    text = (ROOT / "src" / "covmetric" / toy.folder / toy.registry).read_text()
    line = f'    "toy": {toy.cls},\n'
    imported = f"from covmetric.{toy.folder}.toy import {toy.cls}\n"
    first = re.search(r"^from covmetric\.", text, flags=re.MULTILINE)
    if toy.anchor not in text or first is None:
        raise ValueError(f"{registry} has no line {toy.anchor!r}")
    text = text[: first.start()] + imported + text[first.start() :]
    registry.write_text(text.replace(toy.anchor, toy.anchor + line, 1))


def run_tests(toy: Toy, copy: Path) -> tuple[int, int]:
    """Run the contract tests in a copy; return how many passed and how many failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *toy.tests]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", done.stdout)}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    return counts.get("passed", 0), failed or int(done.returncode != 0)


def main() -> int:
    """Try all toys; return 1 if a good one fails or a broken one passes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("toys", nargs="*", metavar="TOY", help="only these (default: all)")
    chosen = parser.parse_args().toys
    print(f"{'toy':<12}{'variant':<22}{'passed':>7}{'failed':>8}  verdict")
    wrong = 0
    for toy in TOYS:
        if chosen and toy.file not in chosen:
            continue
        with tempfile.TemporaryDirectory(prefix="toys-") as folder:
            copy = Path(folder)
            for name in COPIED:
                copier = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
                copier(ROOT / name, copy / name)
            without, _ = run_tests(toy, copy)
            for variant, replaced in {"as it should be": ("", ""), **toy.breakages}.items():
                add(toy, copy, replaced)
                passed, failed = run_tests(toy, copy)
                good = variant == "as it should be"
                right = (failed == 0 and passed > without) if good else failed > 0
                wrong += not right
                verdict = ("picked up" if good else "caught") if right else "NOT PICKED UP" if good else "NOT CAUGHT"
                print(f"{toy.file:<12}{variant:<22}{passed:>7}{failed:>8}  {verdict}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Mutation testing of the core: find the wrong lines that the tests would let through.

`make mutants` changes the library in about 300 small ways, one at a time, and counts how many of these mutants fail a
test. mutmut creates the mutants and runs the tests that reach them, as configured under `[tool.mutmut]` in
pyproject.toml. This script draws the sample, works in a temporary copy of the repository, and prints the report.

A mutant that no test can distinguish from the original is recorded in tools/equivalent_mutants.txt, with the reason.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from mutmut.__main__ import _run, collect_source_file_mutation_data, create_mutants
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir
from mutmut.utils.format_utils import orig_function_and_class_names_from_key

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = ROOT / "tools" / "equivalent_mutants.txt"
COPIED = ("src", "tests", "pyproject.toml")
ALIVE = ("survived", "no tests")
UNFINISHED = ("not checked", "check was interrupted by user")


@dataclass(frozen=True)
class Mutant:
    """A mutant: one function with a modified line; `name` is mutmut's name for it."""

    name: str
    path: Path
    status: str

    @property
    def package(self) -> str:
        """The folder of the modified file below the library, for example "problem"."""
        return self.path.parent.name

    @property
    def diff(self) -> list[str]:
        """The lines of the unified diff, without its header."""
        return get_diff_for_mutant(self.name, path=self.path).splitlines()[3:]

    @property
    def key(self) -> str:
        """The key of the mutant in the record: the function, and the modified lines before and after."""
        function, owner = orig_function_and_class_names_from_key(self.name)
        modified = [f"{line[0]} {line[1:].strip()}" for line in self.diff if line[0] in "-+"]
        return "\n".join([f"{owner}.{function}" if owner else function, *modified])


def generated() -> list[Mutant]:
    """Return all mutants below the current folder, with their status."""
    found, _ = collect_source_file_mutation_data(mutant_names=())
    return [Mutant(name, Path(data.path), status_by_exit_code[code]) for data, name, code in found]


def sampled(mutants: list[Mutant], size: int, seed: int) -> list[Mutant]:
    """Return about `size` of the mutants, from each package in proportion to its number of mutants.

    The choice depends on the names of the mutants, so that most of the sample stays when the code changes elsewhere.
    """
    packages: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        packages[mutant.package].append(mutant)
    sample = []
    for members in packages.values():
        members.sort(key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())
        sample += members[: max(1, round(size * len(members) / len(mutants)))]
    return sample


def recorded() -> dict[str, str]:
    """Return the reasons why mutants are equivalent, by their keys.

    The blocks of the file are separated by empty lines; the first line of a block is the reason, as a comment.
    """
    text = EQUIVALENT.read_text().strip() if EQUIVALENT.exists() else ""
    reasons = {}
    for block in text.split("\n\n") if text else []:
        reason, _, key = block.partition("\n")
        if not reason.startswith("# ") or "\n- " not in key:
            raise ValueError(f"{EQUIVALENT.name}: this block is not a reason followed by a key:\n{block}")
        reasons[key] = reason.removeprefix("# ")
    return reasons


@contextlib.contextmanager
def temporary_copy() -> Iterator[None]:
    """Work in a temporary copy of the library and its tests, in which the mutants have been created."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copy(ROOT / name, Path(folder, name))
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(None):
                copy_src_dir()
                copy_also_copy_files()
                create_mutants(max_children=os.cpu_count() or 1)
            yield
        finally:
            os.chdir(before)


def report(mutants: list[Mutant], threshold: float) -> bool:
    """Print the survivors and the killed fraction per package; return whether the total reaches the threshold."""
    reasons = recorded()
    alive = {mutant: mutant.key for mutant in mutants if mutant.status in ALIVE}
    for mutant, key in alive.items():
        if key not in reasons:
            print(f"\n{mutant.path}: {mutant.status}\n{key}")
    print(f"\n{'package':<14}{'mutants':>8}{'equivalent':>12}{'killed':>8}{'by time':>9}{'fraction':>10}")
    for package in [*sorted({mutant.package for mutant in mutants}), "all"]:
        members = [mutant for mutant in mutants if package in (mutant.package, "all")]
        equivalent = sum(alive.get(mutant) in reasons for mutant in members)
        killed = sum(mutant not in alive for mutant in members)
        slow = sum(mutant.status == "timeout" for mutant in members)
        fraction = killed / max(1, len(members) - equivalent)
        print(f"{package:<14}{len(members):>8}{equivalent:>12}{killed:>8}{slow:>9}{fraction:>10.1%}")
    return fraction >= threshold


def main() -> int:
    """Sample, run and report; return the exit code, which is 1 if too many mutants survive."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=300, help="approximate number of mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (default: %(default)s)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="number of processes (default: one per core)"
    )
    parser.add_argument(
        "--threshold", type=float, default=0.9, help="required fraction of killed mutants (default: %(default)s)"
    )
    arguments = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # a fork of a process with threads may hang
    # mutmut 3.8 reads an attribute that pytest 9.2 no longer has.
    pytest.Item._nodeid = property(lambda item: item.nodeid)  # type: ignore[attr-defined]
    recorded()  # report a mistake in the record before the long run
    with temporary_copy():
        names = {mutant.name for mutant in sampled(generated(), arguments.size, arguments.seed)}
        _run(sorted(names), arguments.jobs)
        tried = [mutant for mutant in generated() if mutant.name in names]
        if any(mutant.status in UNFINISHED for mutant in tried):
            raise SystemExit("mutmut did not try all mutants")
        return 0 if report(tried, arguments.threshold) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Whether the code became slower: the same small problems with this code and with another commit, in turn.

``python -m benchmarks.regression BASE`` checks BASE out in a temporary folder, starts one process with its code and one
with the code of this folder, and runs each problem in both, one after the other, several times. It prints the best time
of each and their ratio, and exits with 1 if a ratio is above the threshold. Times of one machine do not carry over to
another; ratios of one run do, more or less. BASE is anything that git can check out; ``--threshold`` is 1.3 and
``--rounds`` is 7 unless given.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.regression_cases import CASES

ROOT = Path(__file__).resolve().parents[1]
#: A problem is repeated until a measurement takes about this long.
SECONDS = 0.1


class Prepared:
    """A problem that is ready to be timed."""

    def __init__(self, case: str) -> None:
        self._call = CASES[case]()
        self._call()  # compiles
        self._repeats = 1
        self._repeats = max(1, round(SECONDS / self.seconds()))

    def seconds(self) -> float:
        """Return the mean time of a few calls."""
        started = time.perf_counter()
        for _ in range(self._repeats):
            self._call()
        return (time.perf_counter() - started) / self._repeats


class Worker:
    """A process that imports covmetric from the given sources and times one problem at a time."""

    def __init__(self, sources: Path) -> None:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(sources), str(ROOT))),
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-m", "benchmarks.regression", "--worker"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.sources = Path(self._answer()["sources"])

    def seconds(self, case: str) -> float | None:
        """Return the time of a problem in seconds, or None if this code cannot run it."""
        assert self._process.stdin is not None
        self._process.stdin.write(case + "\n")
        self._process.stdin.flush()
        return self._answer()["seconds"]

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _answer(self) -> dict:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a process ended early, with code {self._process.wait()}")
        return json.loads(line)


def work() -> None:
    """Time the problems that standard input names, and answer with a line of JSON each."""
    import covmetric

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else prints does not disturb the answers
    prepared: dict[str, Prepared] = {}

    def answer(**fields: object) -> None:
        print(json.dumps(fields), file=answers, flush=True)

    answer(sources=str(Path(covmetric.__file__).parents[1]))
    for line in sys.stdin:
        case = line.strip()
        try:
            if case not in prepared:
                prepared[case] = Prepared(case)
            answer(seconds=prepared[case].seconds())
        except (ImportError, AttributeError, TypeError, ValueError) as error:  # older code may lack what a case needs
            print(f"{case}: {error!r}", file=sys.stderr)
            answer(seconds=None)


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Check a commit out in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="covmetric-base-") as temporary:
        folder = Path(temporary) / "base"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def best_times(base: Worker, change: Worker, case: str, rounds: int) -> tuple[float | None, float | None]:
    """Return the best time of a problem with both codes; which of them comes first alternates."""
    times: dict[Worker, list[float | None]] = {base: [], change: []}
    for i in range(rounds):
        for worker in (base, change) if i % 2 == 0 else (change, base):
            times[worker].append(worker.seconds(case))
    best = [None if None in found else min(t for t in found if t is not None) for found in times.values()]
    return best[0], best[1]


def compare(base: Path, change: Path, cases: list[str], rounds: int) -> dict[str, float | None]:
    """Print the times of all problems; return the ratio of each, None where one of the codes cannot run it."""
    ratios: dict[str, float | None] = {}
    workers = Worker(base), Worker(change)
    assert workers[0].sources == base.resolve() and workers[1].sources == change.resolve()
    print(f"{'problem':<44} {'base':>10} {'change':>10} {'ratio':>7}    (milliseconds, the best of {rounds})")
    for case in cases:
        times = best_times(*workers, case, rounds)
        ratios[case] = None if None in times else times[1] / times[0]  # type: ignore[operator]
        shown = [f"{'-':>10}" if seconds is None else f"{1e3 * seconds:>10.2f}" for seconds in times]
        ratio = ratios[case]
        print(f"{case:<44} {shown[0]} {shown[1]} {'-' if ratio is None else format(ratio, '.2f'):>7}", flush=True)
    for worker in workers:
        worker.close()
    return ratios


def main(arguments: list[str] | None = None) -> int:
    """Compare this code with a commit; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regression", description=__doc__.partition("\n")[0])
    parser.add_argument("base", nargs="?", default="main", help="the commit to compare with (default: main)")
    parser.add_argument("--threshold", type=float, default=1.3, help="the largest ratio that passes (default: 1.3)")
    parser.add_argument("--rounds", type=int, default=7, help="how often each problem is run (default: 7)")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES), help="default: all")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        work()
        return 0
    with checked_out(options.base) as folder:
        ratios = compare(folder / "src", ROOT / "src", options.cases, options.rounds)
    slower = [case for case, ratio in ratios.items() if ratio is not None and ratio > options.threshold]
    compared = sum(ratio is not None for ratio in ratios.values())
    limit = f"{options.threshold:g} times as long as with {options.base}"
    print(f"\n{len(slower)} of {compared} problems take more than {limit}.")
    return 1 if slower or not compared else 0


if __name__ == "__main__":
    sys.exit(main())

"""Mutants of model files: none crashes, runs anything or allocates much, and each refusal has a reason.

``python -m benchmarks.mutants_of_files [--count 10000] [--seed 0] [--kinds names logistic]`` saves one model of each
kind, mutates its file `count` times (random bytes, entries of the manifest, arrays), and loads each mutant in this
process, under an audit hook that reports a new process, a connection, code that is compiled or executed, an unpickled
class, or a file opened for writing. The address space may grow by 256 MB, so that a large allocation is a MemoryError.
It prints the numbers of mutants that loaded and were refused, the errors that are not ValueError, the reasons that are
only the name of an error, and the growth of the memory of the process.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import resource
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks.memory import peak_kilobytes
from covmetric import load_model, save_model
from tests.model_file.mutation import MUTATIONS
from tests.model_file.pipelines import NAMED, PIPELINES, fitted

_BARE_ERROR = re.compile(r"is not a model file: (it is damaged|\w+Error\b)")
_FORBIDDEN = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "socket.", "pickle.find_class")
_CODE = ("exec", "compile")
_ROOM = 256 * 2**20


class Watch:
    """A record of what a loader did, by the audit events of Python."""

    def __init__(self) -> None:
        self.active = False
        self.events: Counter[str] = Counter()
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.active:
            return
        writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        # `typing.get_type_hints` compiles and evaluates the annotations of covmetric's records.
        runs = event in _CODE and sys._getframe(1).f_globals.get("__name__") != "typing"
        if writes or runs or event.startswith(_FORBIDDEN):
            self.events[f"{event} {arguments[:1]!r:.60}"] += 1

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Record the events within a block."""
        self.active = True
        try:
            yield
        finally:
            self.active = False


def try_mutants(content: bytes, count: int, seed: int, path: Path, watch: Watch) -> dict[str, Any]:
    """Return what happened to the mutants of a file."""
    rng = np.random.default_rng(seed)
    outcomes: Counter[str] = Counter()
    bare: list[str] = []
    before = peak_kilobytes()
    for i in tqdm(range(count), leave=False, disable=None):
        mutate = list(MUTATIONS.values())[i % len(MUTATIONS)]
        path.write_bytes(mutate(content, rng))
        try:
            with watch.watching():
                load_model(path)
            outcomes["loaded"] += 1
        except ValueError as error:
            outcomes["refused"] += 1
            if _BARE_ERROR.search(str(error)):
                bare.append(str(error))
        except Exception as error:
            outcomes[f"{type(error).__name__}: {error}"] += 1
    growth = peak_kilobytes() - before
    return {**outcomes, "reasons that are only errors": bare[:3], "growth in kB": growth}


def limit_memory() -> None:
    """Let the address space grow by `_ROOM` bytes; Linux only."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + _ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=[*NAMED, *PIPELINES])
    options = parser.parse_args()
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        contents, path = {}, Path(folder) / "model.npz"
        for kind in options.kinds:
            save_model(NAMED[kind]() if kind in NAMED else fitted(kind)[0], path)
            load_model(path)  # imports what it needs
            contents[kind] = path.read_bytes()
        limit_memory()
        for kind, content in contents.items():
            result = try_mutants(content, options.count, options.seed, path, watch)
            print(f"{kind} ({len(content) // 1024} kB):", ", ".join(f"{k} {v}" for k, v in result.items()), flush=True)
    print("events:", dict(watch.events) or "none")


if __name__ == "__main__":
    main()

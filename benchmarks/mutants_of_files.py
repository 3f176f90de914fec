"""Mutants of model files: none crashes, runs anything or allocates much, and each refusal has a reason.

``python -m benchmarks.mutants_of_files [--count 10000] [--seed 0] [--kinds names logistic]`` saves one model of each
kind, mutates its file `count` times (random bytes, entries of the manifest, arrays), and loads each mutant in this
process, under an audit hook that reports a new process, a connection, code that is compiled or executed, an unpickled
class, or a file opened for writing. A mutant that loads is then used on two examples, where it may raise an error, but
not crash. The address space may grow by 256 MB, so that a large allocation is a MemoryError. It prints a table: the
mutants that were refused and that loaded, those that raised an error in use, and the growth of the memory of the
process in kB; then all that must not be: errors of the loader that are not ValueError, reasons that are only the name
of an error, forbidden events, and MemoryError in use.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import resource
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks.memory import peak_kilobytes
from covmetric import (
    CovMetricClassifier,
    CovMetricPairs,
    LearnedMetric,
    Recentre,
    get_embedding,
    load_model,
    save_model,
)
from tests.data import two_classes
from tests.model_file.fitted import ESTIMATORS
from tests.model_file.mutation import MUTATIONS
from tests.model_file.pipelines import NAMED, PIPELINES, fitted, images

_BARE_ERROR = re.compile(r"is not a model file: (it is damaged[^:(]*\(|\w+Error\b)|cannot be restored: \w+Error\b")
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


@dataclass
class Outcome:
    """What happened to the mutants of a file."""

    refused: int = 0
    loaded: int = 0
    failed_in_use: int = 0
    growth: int = 0
    forbidden: Counter[str] = field(default_factory=Counter)


def models() -> dict[str, Callable[[], tuple[Any, Any]]]:
    """Return for each kind of file a function that returns a fitted model and examples for it."""
    X, y = two_classes()
    waves = np.random.default_rng(0).standard_normal((12, 3, 8)) + 1j * np.random.default_rng(1).standard_normal(
        (12, 3, 8)
    )
    hermitian = waves @ waves.conj().swapaxes(1, 2)
    pairs = np.array([[i, (i + 1 + i % 2) % len(X)] for i in range(len(X) - 1)])
    agree = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    return {
        **{name: lambda make=make: (make(), images()[0]) for name, make in NAMED.items()},
        **{name: lambda name=name: fitted(name) for name in PIPELINES},
        **{name: lambda make=make: (make().fit(X, y), X) for name, make in ESTIMATORS.items()},
        "CovMetricClassifier auto": lambda: (CovMetricClassifier(rule="auto", random_state=0).fit(X, y), X),
        "CovMetricPairs": lambda: (CovMetricPairs(preprocessor=X, random_state=0).fit(pairs, agree), pairs),
        "Recentre": lambda: (Recentre(new_groups="transductive").fit(X, groups=np.arange(len(X)) % 2), X),
        "LearnedMetric": lambda: (LearnedMetric(get_embedding("relog").fit(X), np.eye(X.shape[1])), X),
        "LearnedMetric, Hermitian": lambda: (LearnedMetric(get_embedding("log").fit(hermitian), np.eye(6)), hermitian),
    }


def use(model: Any, X: Any) -> None:
    """Let a model predict two examples, or transform them if it does not predict."""
    predicting = [name for name in ("predict_proba", "predict", "decision_function") if hasattr(model, name)]
    for method in predicting or ["transform"]:
        getattr(model, method)(X[:2])


def try_mutants(content: bytes, X: Any, count: int, seed: int, path: Path, watch: Watch) -> Outcome:
    """Return what happened to the mutants of a file."""
    rng = np.random.default_rng(seed)
    outcome = Outcome()
    before = peak_kilobytes()
    for i in tqdm(range(count), leave=False, disable=None):
        mutate = list(MUTATIONS.values())[i % len(MUTATIONS)]
        path.write_bytes(mutate(content, rng))
        try:
            with watch.watching():
                model = load_model(path)
            outcome.loaded += 1
        except ValueError as error:
            outcome.refused += 1
            if _BARE_ERROR.search(str(error)):
                outcome.forbidden[str(error)] += 1
        except Exception as error:
            outcome.forbidden[f"{type(error).__name__}: {error}"] += 1
        else:
            try:
                with contextlib.redirect_stderr(io.StringIO()):  # a mutant may ask for progress bars
                    use(model, X)
            except MemoryError as error:
                outcome.forbidden[f"in use, MemoryError: {error}"] += 1
            except Exception:
                outcome.failed_in_use += 1
    outcome.growth = peak_kilobytes() - before
    return outcome


def limit_memory() -> None:
    """Let the address space grow by `_ROOM` bytes; Linux only."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + _ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=list(models()), metavar="KIND", help="default: all")
    options = parser.parse_args()
    watch = Watch()
    forbidden: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        files, path = {}, Path(folder) / "model.npz"
        for kind in options.kinds or models():
            model, X = models()[kind]()
            save_model(model, path)
            use(load_model(path), X)  # imports what it needs
            files[kind] = path.read_bytes(), X
        limit_memory()
        print(f"{options.count} mutants of each kind, seed {options.seed}\n")
        print("| kind of file | kB | refused | loaded | error in use | growth, kB |\n|---|---|---|---|---|---|")
        for kind, (content, X) in files.items():
            one = try_mutants(content, X, options.count, options.seed, path, watch)
            numbers = (len(content) // 1024, one.refused, one.loaded, one.failed_in_use, one.growth)
            print(f"| {kind} | {' | '.join(map(str, numbers))} |", flush=True)
            forbidden.update({f"{kind}: {text}": times for text, times in one.forbidden.items()})
    print("\nforbidden:", dict(forbidden + watch.events) or "none")


if __name__ == "__main__":
    main()

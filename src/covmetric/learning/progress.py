"""Progress of long work, on request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from covmetric.solvers import Callback, SolverState


@contextmanager
def solving(verbose: int) -> Iterator[Callback | None]:
    """A callback for a solve that shows the iterations and the certified gap; None where nothing is to be shown."""
    if not verbose:
        yield None
        return
    with tqdm(desc="learning", unit=" iterations") as bar:

        def show(state: SolverState) -> None:
            bar.update(state.n_iter - bar.n)
            bar.set_postfix_str(f"relative gap {state.certificate.relative_gap:.1e}")

        yield show

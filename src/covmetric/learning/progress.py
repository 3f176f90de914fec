"""A progress bar for a solve."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from covmetric.solvers import Callback, SolverState


@contextmanager
def progress_callback(verbose: int) -> Iterator[Callback | None]:
    """Return a context manager for a solver callback that shows a progress bar.

    Parameters
    ----------
    verbose : int
        If 0, nothing is shown.

    Yields
    ------
    callable or None
        A callback that shows the iterations and the certified relative gap; None if nothing is shown.
    """
    if not verbose:
        yield None
        return
    with tqdm(desc="learning", unit=" iterations") as bar:

        def show(state: SolverState) -> None:
            bar.update(state.n_iter - bar.n)
            bar.set_postfix_str(f"relative gap {state.certificate.relative_gap:.1e}")

        yield show

"""The run of all methods of a comparison on all splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tqdm import tqdm

from covmetric._utils.parallel import Shared, run_calls

Result = TypeVar("Result")


def run_tasks(
    run: Callable[..., Result],
    tasks: Sequence[tuple[Any, ...]],
    common: tuple[Any, ...],
    n_jobs: int | None = None,
    progress: bool = False,
) -> tuple[dict[str, list[Result]], bool]:
    """Run tasks in their order, until they are complete or Ctrl-C is pressed.

    Parameters
    ----------
    run : callable
        Called as ``run(*task, *common)``.
    tasks : sequence of tuples
        The arguments of each task. The first one is the name of a method.
    common : tuple
        The arguments that all tasks have in common.
    n_jobs : int or None, default=None
        The number of processes.
    progress : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    results : dict from str to list
        The results of the completed tasks by the name of the method, for all methods.
    interrupted : bool
        Whether Ctrl-C was pressed.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C was pressed before a task was complete.

    Examples
    --------
    >>> run_tasks("{} {} {}".format, [("log", 0), ("chol", 0), ("log", 1)], ("X",))
    ({'log': ['log 0 X', 'log 1 X'], 'chol': ['chol 0 X']}, False)
    """
    shared = tuple(map(Shared, common))
    calls = ((*task, *shared) for task in tasks)
    done: dict[str, list[Result]] = {name: [] for name, *_ in tasks}
    interrupted = False
    bar = tqdm(tasks, "compare", disable=not progress)
    try:
        for (name, *_), result in zip(bar, run_calls(run, calls, n_jobs), strict=True):
            done[name].append(result)
            bar.set_postfix_str(name, refresh=False)
    except KeyboardInterrupt:
        if not any(done.values()):
            raise
        interrupted = True
    bar.close()
    return done, interrupted

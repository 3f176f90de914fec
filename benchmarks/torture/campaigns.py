"""The campaigns by name, and their runs in a process each."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from benchmarks.torture import concurrency, containers, environments, examples, mutants, saving, states
from benchmarks.torture.outcomes import Tally


@dataclass(frozen=True)
class Campaign:
    """A campaign, and its size in a whole and in a quick run.

    `run` takes the tally that it adds to, the seed, and the size: the number of inputs, or of what its docstring says.
    """

    run: Callable[[Tally, int, int], None]
    count: int
    quick: int


CAMPAIGNS: dict[str, Campaign] = {
    "examples": Campaign(examples.odd_examples, 1_500, 20),
    "pairs": Campaign(examples.numbers_of_pairs, 6, 3),
    "containers": Campaign(containers.containers, 4, 1),
    "states": Campaign(states.states, 60, 3),
    "images": Campaign(mutants.image_files, 100_000, 120),
    "model-files": Campaign(mutants.model_files, 12_000, 100),
    "parallel": Campaign(concurrency.parallel, 8, 1),
    "interrupts": Campaign(concurrency.interrupts, 200, 6),
    "kills": Campaign(saving.kills, 200, 5),
    "full-disk": Campaign(saving.full_disk, 100, 5),
    "read-only": Campaign(environments.read_only, 2, 1),
    "warnings": Campaign(environments.warnings_as_errors, 1, 1),
    "memory": Campaign(saving.memory_growth, 300, 6),
}


def run_campaign(name: str, seed: int, quick: bool) -> Tally:
    """Run a campaign in this process.

    Parameters
    ----------
    name : str
        A name of `CAMPAIGNS`.
    seed : int
        The seed.
    quick : bool
        Whether to run only a few inputs.

    Returns
    -------
    Tally
        The outcomes.
    """
    campaign, tally = CAMPAIGNS[name], Tally(name)
    started = time.perf_counter()
    with threadpool_limits(1):
        campaign.run(tally, seed, campaign.quick if quick else campaign.count)
    tally.seconds = time.perf_counter() - started
    return tally


def _send(connection: object, name: str, seed: int, quick: bool) -> None:
    connection.send(run_campaign(name, seed, quick))  # type: ignore[attr-defined]


def run_apart(name: str, seed: int, quick: bool) -> Tally:
    """Run a campaign in a process of its own; a crash of the process is a defect.

    Parameters
    ----------
    name, seed, quick
        See `run_campaign`.

    Returns
    -------
    Tally
        The outcomes.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(there, name, seed, quick))
    process.start()
    there.close()
    try:
        return here.recv()  # type: ignore[no-any-return]
    except EOFError:
        process.join()
        return Tally(name, defects=[f"the process ended with code {process.exitcode}"])
    finally:
        process.join()

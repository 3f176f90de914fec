"""What happens past one core and one machine, by section: ``python -m benchmarks.scale extraction``.

Each section is a function of a module, with options of its own; ``python -m benchmarks.scale extraction --help`` lists
them. Clusters run on this machine, as worker processes on the loopback address.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NamedTuple

from benchmarks import clusters, cost_model, extraction, many_pairs, threads


class Section(NamedTuple):
    """A part of the benchmark: its options, and the function that prints its table."""

    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


SECTIONS = {
    "extraction": Section(extraction.add_options, extraction.run),
    "search": Section(clusters.add_search_options, clusters.run_search),
    "neighbors": Section(clusters.add_neighbors_options, clusters.run_neighbors),
    "threads": Section(threads.add_options, threads.run),
    "pairs": Section(many_pairs.add_pairs_options, many_pairs.run_pairs),
    "workers": Section(many_pairs.add_workers_options, many_pairs.run_workers),
    "model": Section(cost_model.add_options, cost_model.run),
}


def main(arguments: list[str]) -> None:
    """Run the section that the first argument names."""
    parser = argparse.ArgumentParser("python -m benchmarks.scale", description=__doc__)
    commands = parser.add_subparsers(dest="section", required=True)
    for name, section in SECTIONS.items():
        section.add_options(commands.add_parser(name))
    options = parser.parse_args(arguments)
    SECTIONS[options.section].run(options)


if __name__ == "__main__":
    main(sys.argv[1:])

"""The command `covmetric`, with one file per subcommand. `COMMANDS` lists the subcommands by name."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from covmetric._version import __version__

if TYPE_CHECKING:
    from covmetric.cli.command import Command


def _demo() -> Command:
    from covmetric.cli.demo import DEMO

    return DEMO


def _compare() -> Command:
    from covmetric.cli.compare import COMPARE

    return COMPARE


def _report() -> Command:
    from covmetric.cli.report import REPORT

    return REPORT


def _reproduce() -> Command:
    from covmetric.cli.reproduce import REPRODUCE

    return REPRODUCE


#: The summary of each subcommand, and a function that imports it. ``covmetric --help`` does not call these functions.
COMMANDS: dict[str, tuple[str, Callable[[], Command]]] = {
    "demo": (
        "learn a metric on real recordings of hand gestures and compare it with fixed metrics and pyRiemann",
        _demo,
    ),
    "compare": ("cross-validate fixed metrics, learned metrics and pyRiemann on your own data", _compare),
    "report": ("write one HTML page about a model, an evaluation or a comparison", _report),
    "reproduce": ("run the paper's experiments, judge its claims, and write pages, pictures and CSV files", _reproduce),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        The arguments. None means the arguments of the process.

    Returns
    -------
    int
        The exit code: 0 for success, 2 for an error, 130 for Ctrl-C, and 1 if the reader of the output has closed it.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = _parse(given)
        _, load = COMMANDS[options.command]
        load().run(options)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader has closed the output, as in `covmetric demo | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError, ImportError) as error:
        print(f"covmetric {given[0]}: {error}", file=sys.stderr)
        return 2
    return 0


def _parse(given: list[str]) -> argparse.Namespace:
    """Return the parsed options. Only the chosen subcommand is imported and adds its arguments."""
    parser = argparse.ArgumentParser(
        prog="covmetric",
        description="Learn a distance between covariance matrices, with a proof of how close to optimal it is.",
        epilog="Run `covmetric COMMAND --help` for the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"covmetric {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (summary, load) in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if given and name == given[0]:
            load().add_arguments(subparser)
    return parser.parse_args(given)

"""The command `covmetric`. A subcommand is a module with `add_arguments(parser)` and `run(options)`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

import covmetric

#: Each subcommand, its module, and what it does; modules are loaded when they are asked for.
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("covmetric.cli.demo", "learn a metric on real recordings of hand gestures, beside the fixed ones"),
    "compare": ("covmetric.cli.compare", "fixed and learned metrics, and pyRiemann, on your own data, cross-validated"),
    "reproduce": ("covmetric.cli.reproduce", "run the paper's experiments"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = _parsed(given)
        importlib.import_module(COMMANDS[options.command][0]).run(options)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of a pipe has gone, as in `covmetric demo | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError, ImportError) as error:
        print(f"covmetric {given[0]}: {error}", file=sys.stderr)
        return 2
    return 0


def _parsed(given: list[str]) -> argparse.Namespace:
    """The options of the subcommand that was chosen, whose module is loaded for them."""
    parser = argparse.ArgumentParser(
        prog="covmetric",
        description="Learn a distance between covariance matrices, with a proof of how close to optimal it is.",
    )
    parser.add_argument("--version", action="version", version=f"covmetric {covmetric.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module, text) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if given and name == given[0]:
            importlib.import_module(module).add_arguments(command)
    return parser.parse_args(given)

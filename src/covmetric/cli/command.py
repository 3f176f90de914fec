"""A subcommand of `covmetric`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

#: The exit codes of the command.
DONE, INCOMPLETE, INVALID, INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True)
class Command:
    """A subcommand.

    Its module imports heavy packages only in `run`, so that ``covmetric COMMAND --help`` is fast.

    Attributes
    ----------
    add_arguments : function
        Adds the arguments of the subcommand to its parser.
    run : function
        Runs the subcommand with the parsed arguments. It returns the exit code, or None for 0.
    examples : tuple of str, default=()
        Command lines for the help page, each with a comment.
    """

    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int | None]
    examples: tuple[str, ...] = ()

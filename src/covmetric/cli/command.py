"""A subcommand of `covmetric`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A subcommand.

    Its module imports heavy packages only in `run`, so that ``covmetric COMMAND --help`` is fast.

    Attributes
    ----------
    add_arguments : function
        Adds the arguments of the subcommand to its parser.
    run : function
        Runs the subcommand with the parsed arguments.
    """

    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]

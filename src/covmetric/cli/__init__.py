"""The command `covmetric`, with one file per subcommand. `COMMANDS` lists the subcommands by name."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from covmetric._version import __version__
from covmetric.cli.arguments import check_inputs_are_kept
from covmetric.cli.command import DONE, INCOMPLETE, INTERRUPTED, INVALID
from covmetric.cli.messages import in_words_of_the_command

if TYPE_CHECKING:
    from covmetric.cli.command import Command


def _load(name: str) -> Callable[[], Command]:
    """Return a function that imports the subcommand, the upper-case name in the module of the same name."""

    def load() -> Command:
        command: Command = getattr(import_module(f"covmetric.cli.{name}"), name.upper())
        return command

    return load


#: The summary of each subcommand, and a function that imports it. ``covmetric --help`` does not call these functions.
COMMANDS: dict[str, tuple[str, Callable[[], Command]]] = {
    "fit": ("learn from labelled images, series or matrices, and write a model", _load("fit")),
    "evaluate": ("classify labelled data with a model, and report the accuracy", _load("evaluate")),
    "predict": ("print the class of new examples", _load("predict")),
    "search": ("print the training examples that are most similar to a query", _load("search")),
    "explain": ("print why a query belongs to its class", _load("explain")),
    "info": ("print what a model holds, or its model card", _load("info")),
    "report": ("write one HTML page about a model, an evaluation or a comparison", _load("report")),
    "compare": ("cross-validate fixed metrics, learned metrics and pyRiemann on your own data", _load("compare")),
    "demo": (
        "learn a metric on real recordings of hand gestures and compare it with fixed metrics and pyRiemann",
        _load("demo"),
    ),
    "reproduce": (
        "run the paper's experiments, judge its claims, and write pages, pictures and CSV files",
        _load("reproduce"),
    ),
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
        The exit code: 0 for success, 1 for an incomplete result or if the reader of the output has closed it, 2 for
        invalid data or usage, and 130 for Ctrl-C.
    """
    options = argparse.Namespace()
    given = list(sys.argv[1:] if arguments is None else arguments)
    _print_any_text()
    try:
        options = _parse(given)
        options.arguments = given
        check_inputs_are_kept(options)
        _, load = COMMANDS[options.command]
        with warnings.catch_warnings():
            if not options.debug:
                warnings.showwarning = partial(_short_warning, options.command, set())
                warnings.filterwarnings("default", category=UserWarning)
            code = load().run(options)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has closed the output, as in `covmetric demo | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INCOMPLETE
    except Exception as error:
        return _fail(given, error, options)
    return DONE if code is None else code


def _fail(given: list[str], error: Exception, options: argparse.Namespace) -> int:
    """Print an error in one line, after its traceback if the user asked for it; return the exit code."""
    if "--debug" in given:
        traceback.print_exc()
    if isinstance(error, ValueError | OSError | ImportError):
        text = in_words_of_the_command(_one_line(error), given[0])
        print(f"covmetric {given[0]}: {text}{_remedy(error, options)}", file=sys.stderr)
        return INVALID
    text = f"unexpected error, {type(error).__name__}: {_one_line(error)}"
    print(f"covmetric {given[0]}: {text} (--debug shows where)", file=sys.stderr)
    return INCOMPLETE


def _remedy(error: Exception, options: argparse.Namespace) -> str:
    """Return how to go on without an image that cannot be read, if the command has an option for it."""
    if getattr(options, "skip_broken", True) or not isinstance(error, ValueError):
        return ""
    from covmetric.descriptors import UnreadableImage

    return "; --skip-broken leaves such files out" if isinstance(error, UnreadableImage) else ""


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _short_warning(command: str, shown: set[str], message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning in one line, once: Python repeats it after any change of the filters of warnings."""
    text = in_words_of_the_command(str(message), command)
    if text not in shown:
        print(f"warning: {text}", file=sys.stderr)
        shown.add(text)


def _print_any_text() -> None:
    """Let the streams print names and signs that their encoding does not have, as in the C locale."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            is_unicode = (stream.encoding or "").lower().replace("-", "").startswith("utf")
            stream.reconfigure(errors="backslashreplace" if is_unicode else "replace")


def _parse(given: list[str]) -> argparse.Namespace:
    """Return the parsed options. Only the chosen subcommand is imported and adds its arguments."""
    parser = argparse.ArgumentParser(
        prog="covmetric",
        description="Learn a distance between covariance matrices, with a proof of how close to optimal it is.",
        epilog="Run `covmetric COMMAND --help` for the options and examples of a command.\n\n"
        "exit codes: 0 done, 1 incomplete, 2 invalid data or usage, 130 interrupted",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"covmetric {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    chosen = parser
    for name, (summary, load) in COMMANDS.items():
        subparser = subparsers.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        subparser.add_argument("--debug", action="store_true", help="show the traceback of an error")
        if given and name == given[0]:
            command, chosen = load(), subparser
            command.add_arguments(subparser)
            if command.examples:
                subparser.epilog = "\n".join(["examples:", *(f"  {line}" for line in command.examples)])
    options, unknown = parser.parse_known_args(given)
    if unknown:
        chosen.error(f"unrecognized arguments: {' '.join(unknown)}")  # with the usage of the subcommand
    return options

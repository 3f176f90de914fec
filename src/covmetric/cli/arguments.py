"""Checks of command-line arguments, made before any work is done."""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from covmetric.datasets.inputs import Inputs

# The names of the arguments whose files the commands read, and of the options whose files they write.
_READ, _WRITTEN = ("data", "labels", "model", "source", "query"), ("out", "report", "html", "csv")


def integer_at_least(minimum: int) -> Callable[[str], int]:
    """Return a type for argparse: an integer with a lower bound.

    Parameters
    ----------
    minimum : int
        The smallest integer that is accepted.

    Returns
    -------
    function
        Converts a str to an int.
    """

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = minimum - 1
        if value < minimum:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer >= {minimum}")
        return value

    return convert


def positive_number(text: str) -> float:
    """Convert an argument to a positive, finite number; a type for argparse.

    Parameters
    ----------
    text : str
        The argument.

    Returns
    -------
    float

    Raises
    ------
    argparse.ArgumentTypeError
        If the argument is not a positive, finite number.
    """
    return _number(text, lambda value: value > 0.0, "a positive number")


def nonnegative_number(text: str) -> float:
    """Convert an argument to a finite number that is not negative; a type for argparse.

    Parameters
    ----------
    text : str
        The argument.

    Returns
    -------
    float

    Raises
    ------
    argparse.ArgumentTypeError
        If the argument is not such a number.
    """
    return _number(text, lambda value: value >= 0.0, "a number >= 0")


def _number(text: str, is_valid: Callable[[float], bool], what: str) -> float:
    """Convert an argument to a finite number that passes a test."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (math.isfinite(value) and is_valid(value)):
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return value


def number_of_jobs(text: str) -> int:
    """Convert an argument to a number of processes; a type for argparse.

    Parameters
    ----------
    text : str
        The argument.

    Returns
    -------
    int

    Raises
    ------
    argparse.ArgumentTypeError
        If the argument is not an integer, or is 0.
    """
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes: 1, 2, ..., or -1 for all processors")
    return value


def check_folder_of(option: str, path: Path) -> None:
    """Raise ValueError if the folder of a file does not exist.

    Parameters
    ----------
    option : str
        The name of the option, for the message.
    path : Path
        The file.

    Raises
    ------
    ValueError
        If the folder does not exist.
    """
    if not path.parent.is_dir():
        raise ValueError(f"{option}: there is no folder {path.parent}")


def check_picture(option: str, path: Path) -> None:
    """Raise ValueError if a picture cannot be written to a file.

    Parameters
    ----------
    option : str
        The name of the option, for the message.
    path : Path
        The file.

    Raises
    ------
    ValueError
        If the folder does not exist, or if matplotlib does not support the file extension.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    check_folder_of(option, path)
    supported = FigureCanvasAgg.get_supported_filetypes()
    if path.is_dir() or path.suffix.lstrip(".").lower() not in supported:
        endings = ", ".join(f".{name}" for name in supported)
        raise ValueError(f"{option}: {path} must be a file that ends in one of {endings}")


def add_report_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option for a page about the result.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    parser.add_argument("--report", type=Path, metavar="FILE", help="write an HTML page about the result to this file")


def say_page(options: argparse.Namespace) -> None:
    """Print where the page about the result is, unless only the result is printed, as JSON.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments, with `report` and `json`.
    """
    if not options.json:
        print(f"The page is in {options.report}.")


def check_page(option: str, path: Path | None) -> None:
    """Raise an error if a page was asked for and cannot be written, before the work whose result it will show.

    Parameters
    ----------
    option : str
        The name of the option, for the message.
    path : Path or None
        The file; None if no page was asked for.

    Raises
    ------
    ValueError
        If the file cannot be written.
    ImportError
        If Jinja2 is not installed.
    """
    if path is not None:
        from covmetric.report import require_jinja

        check_output(option, path)
        require_jinja()


def written_files(options: argparse.Namespace) -> dict[str, Path]:
    """Return the files that a command writes.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments of any subcommand.

    Returns
    -------
    dict from str to Path
        The files by the name of their option.
    """
    return {name: path for name in _WRITTEN if isinstance(path := getattr(options, name, None), Path)}


def check_inputs_are_kept(options: argparse.Namespace) -> None:
    """Raise ValueError if a result would be written over a file that the command reads, or over another result.

    Folders of images are checked by `check_images_are_kept`, once their images are known.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments of any subcommand.

    Raises
    ------
    ValueError
        If two of the files are the same.
    """
    given = [path for name in _READ if isinstance(path := getattr(options, name, None), Path)]
    read = [path for path in (*given, *getattr(options, "files", ())) if path.is_file()]
    written: dict[str, Path] = {}
    for name, path in written_files(options).items():
        _check_kept(name, path, read)
        for first, other in written.items():
            if path.resolve() == other.resolve():
                raise ValueError(f"--{first} and --{name} would both write {path}, give one of them another name")
        written[name] = path


def check_images_are_kept(written: Mapping[str, Path], inputs: Inputs) -> None:
    """Raise ValueError if a result would be written over an image that the command has found.

    Parameters
    ----------
    written : mapping from str to Path
        The files that the command writes, by the name of their option.
    inputs : Inputs
        What the command has found.

    Raises
    ------
    ValueError
        If one of the files is one of the images.
    """
    if inputs.kind == "images":
        for name, path in written.items():
            _check_kept(name, path, inputs.examples)


def _check_kept(name: str, path: Path, read: Iterable[Path]) -> None:
    if path.is_file() and any(path.samefile(one) for one in read):
        raise ValueError(f"--{name}: {path} is read by the command, give the result another name")


def check_output(option: str, path: Path) -> None:
    """Raise ValueError if a file cannot be written, before the work whose result it will hold.

    Parameters
    ----------
    option : str
        The name of the option, for the message.
    path : Path
        The file.

    Raises
    ------
    ValueError
        If the folder does not exist or is not writable, or if the path is a folder.
    """
    check_folder_of(option, path)
    if path.is_dir():
        raise ValueError(f"{option}: {path} is a folder, give the name of a file")
    if path.exists() and not os.access(path, os.W_OK):
        raise ValueError(f"{option}: {path} cannot be written, because it is read-only")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ValueError(f"{option}: {path} cannot be written: {error.strerror}") from None

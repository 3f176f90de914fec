"""The options about data that several commands share, and how they are read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmetric.cli.arguments import check_images_are_kept
from covmetric.cli.messages import in_words_of_the_command

if TYPE_CHECKING:
    from covmetric.datasets.inputs import Inputs
    from covmetric.tasks import DescribedInputs, ModelView

CONTENT = (
    "a folder with one folder of images per class (folders below a class are groups); a folder of images with "
    "--labels; an .npz file with X, matrices of shape (l, n, n), series of shape (l, channels, times) or vectors of "
    "shape (l, d), y and optionally groups and names (or X_train, y_train, X_test and y_test); an .npy file with "
    "--labels; or a .fif file of MNE epochs"
)
_SEVERAL = "several .npz or .fif files are read together, each without groups as one group (a session)"
MODEL_FILE = "a model file (of `covmetric fit` or `save_model`)"
_KINDS = ("matrices", "series", "images", "vectors")
_FEATURES = ("grey", "gray", "colour", "color")


def add_data_arguments(parser: argparse.ArgumentParser, features: bool = True, several: bool = False) -> None:
    """Add the options that describe labelled data.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    features : bool, default=True
        Whether the user can choose the features of images; not if a model has chosen them.
    several : bool, default=False
        Whether the user can pass several files, as `files` instead of `data`.
    """
    if several:
        parser.add_argument("files", type=Path, nargs="+", metavar="DATA", help=f"{CONTENT}; {_SEVERAL}")
    else:
        parser.add_argument("data", type=Path, metavar="DATA", help=CONTENT)
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="CSV",
        help="labels of a folder of images (columns name, label and optionally group) or of an .npz, .npy or .fif "
        "file (one row per example)",
    )
    if features:
        parser.add_argument("--kind", choices=_KINDS, help="what DATA holds (default: detected from the file)")
        parser.add_argument(
            "--features",
            choices=_FEATURES,
            help="features of images (default: colour, or grey if an image has no colours)",
        )
    add_skip_broken_argument(parser)


def add_skip_broken_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option that leaves out files that are not images.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    parser.add_argument(
        "--skip-broken",
        action="store_true",
        help="leave out files that are not images, name them, and exit with code 1",
    )


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument for a model file.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    parser.add_argument("model", type=Path, metavar="MODEL", help=MODEL_FILE)


def shows_progress(options: argparse.Namespace) -> bool:
    """Return whether to show progress bars: not with --json, and only on a terminal.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.

    Returns
    -------
    bool
    """
    return not getattr(options, "json", False) and sys.stderr is not None and sys.stderr.isatty()


def read_labelled(
    paths: Sequence[Path],
    kind: str | None = None,
    labels: Path | None = None,
    written: Mapping[str, Path] | None = None,
) -> Inputs:
    """Read labelled examples, and print on the standard error how many images have no label.

    Parameters
    ----------
    paths : sequence of Path
        The file or folder, or several files.
    kind : {'matrices', 'series', 'images', 'vectors'} or None, default=None
        The kind of data. None means that it is detected.
    labels : Path or None, default=None
        A CSV file with labels.
    written : mapping from str to Path, or None, default=None
        The files that the command writes, by the name of their option.

    Returns
    -------
    Inputs
        The examples.

    Raises
    ------
    FileNotFoundError
        If a path does not exist.
    ValueError
        If the file or folder does not hold the expected data, or if the command would write over an image.
    """
    from covmetric.datasets.several_files import read_labelled_files

    inputs = read_labelled_files(paths, kind, labels)
    check_images_are_kept(written or {}, inputs)
    if inputs.n_unlabelled:
        what = "1 image has" if inputs.n_unlabelled == 1 else f"{inputs.n_unlabelled} images have"
        left_out = "is" if inputs.n_unlabelled == 1 else "are"
        print(f"{what} no label in {labels} and {left_out} left out", file=sys.stderr)
    return inputs


def read_data(
    path: Path,
    kind: str | None = None,
    features: str | None = None,
    n_jobs: int | None = None,
    labels: Path | None = None,
    skip_broken: bool = False,
    progress: bool = False,
    written: Mapping[str, Path] | None = None,
) -> DescribedInputs:
    """Read matrices from a file, or compute them from the series of a file or the images of a folder.

    Parameters
    ----------
    path : Path
        The file or folder.
    kind : {'matrices', 'series', 'images', 'vectors'} or None, default=None
        The kind of data. None means that it is detected.
    features : str or None, default=None
        The features of images. None means colour, or grey if an image has no colours.
    n_jobs : int or None, default=None
        The number of processes that read images.
    labels : Path or None, default=None
        A CSV file with labels.
    skip_broken : bool, default=False
        Whether files that are not images are left out.
    progress : bool, default=False
        Whether to show a progress bar.
    written : mapping from str to Path, or None, default=None
        The files that the command writes, by the name of their option.

    Returns
    -------
    DescribedInputs
        The matrices, with labels and groups.

    Raises
    ------
    FileNotFoundError
        If the path does not exist.
    ValueError
        If the file or folder does not hold the expected data.
    """
    inputs = read_labelled([path], kind, labels, written)
    if inputs.kind == "vectors":
        raise ValueError(
            f"{path} holds vectors of {inputs.examples.shape[1]} entries, but the methods to compare take matrices, "
            "series or images; `covmetric fit` and `covmetric evaluate` take vectors"
        )

    from covmetric.tasks import describe_inputs

    return describe_inputs(inputs, features, skip_broken=skip_broken, n_jobs=n_jobs, progress=progress)


def read_model_view(path: Path) -> ModelView:
    """Load a model file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    ModelView
        The model.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not a model, or has a newer format.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder, but a model is a file that `covmetric fit DATA -o MODEL` writes")
    if not path.exists():
        raise FileNotFoundError(f"there is no model {path}; `covmetric fit DATA -o {path}` writes one")
    from covmetric.tasks import ModelView

    return ModelView(load_for_command(path))


def load_for_command(path: Path) -> Any:
    """Load a model file without the warning about metadata routing, since commands hand groups to the steps themselves.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    object
        What `covmetric.load_model` returns.

    Raises
    ------
    ValueError
        If the file is not a model, or has a newer format.
    """
    from sklearn import config_context

    from covmetric.models import load_model

    with config_context(enable_metadata_routing=True):
        return load_model(path)


def usable_images(view: ModelView, inputs: Inputs, skip_broken: bool) -> tuple[Inputs, Sequence[tuple[str, str]]]:
    """Leave out files that are not images, if the user asked for it.

    Parameters
    ----------
    view : ModelView
        The model.
    inputs : Inputs
        The examples.
    skip_broken : bool
        Whether to leave files out. If not, the model raises an error that names the file.

    Returns
    -------
    inputs : Inputs
        The examples that the model can take.
    skipped : sequence of (str, str)
        The names of the others, and the reasons.
    """
    if not skip_broken or view.image_descriptor is None:
        return inputs, ()
    from covmetric.tasks import without_broken_images

    kept, skipped = without_broken_images(view.image_descriptor, inputs)
    if not len(kept):
        raise ValueError(f"no image can be read, the first because {skipped[0][1]}")
    return kept, skipped


def print_skipped(skipped: Sequence[tuple[str, str]], command: str) -> None:
    """Print on the standard error which files were left out, and why.

    Parameters
    ----------
    skipped : sequence of (str, str)
        Names and reasons.
    command : str
        The subcommand.
    """
    for name, reason in skipped:
        words = in_words_of_the_command(reason, command).removeprefix(f"cannot read {name!r}: ")
        print(f"left out {name}: {words}", file=sys.stderr)


def short(value: Any, width: int) -> str:
    """Return a text that is cut in the middle if it is too long for a column.

    Parameters
    ----------
    value : object
        The text.
    width : int
        The largest length.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> short("a/very/long/path/of/an/image.png", 15)
    'a/very...ge.png'
    """
    text = str(value)
    half = (width - 3) // 2
    return text if len(text) <= width else f"{text[:half]}...{text[-half:]}"

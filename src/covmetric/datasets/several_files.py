"""Examples of several files together: labelled ones, each file a session, and new ones to be classified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric.datasets.inputs import Inputs, read_inputs


def read_queries(
    paths: list[Path],
    kind: str,
    check_channels: Callable[[Path, list[str] | None], None] | None = None,
    files_are_groups: bool = False,
) -> Inputs:
    """Read examples without labels, from several files and folders.

    Parameters
    ----------
    paths : list of Path
        Images and folders of images; or .npz, .npy and .fif files with series, matrices or vectors.
    kind : {'images', 'series', 'matrices', 'vectors'}
        The kind of examples that is needed.
    check_channels : callable or None, default=None
        Called with each path and the names of its channels, or None if they are not known; may raise ValueError.
    files_are_groups : bool, default=False
        Whether each of several files without groups is a group of its own, such as a session. If there are
        several files of one example each, which has no mean to be compared with, they form one group together.

    Returns
    -------
    Inputs
        All examples. They have groups if all files have some, or by `files_are_groups`.

    Raises
    ------
    FileNotFoundError
        If a path does not exist.
    ValueError
        If a path holds examples of another kind, or if the channels of files have different names.
    """
    parts = []
    for path in paths:
        part = read_inputs(path, None if path.is_dir() or kind == "images" else kind, labelled=False)
        if part.kind != kind:
            raise ValueError(f"{path} holds {part.kind}, but the model takes {kind}")
        if check_channels is not None:
            check_channels(path, part.channels)
        parts.append(part)
    groups = None
    if (files_are_groups and len(parts) > 1) or all(part.groups is not None for part in parts):
        n_lone = sum(len(part) == 1 and part.groups is None for part in parts)
        named = zip(paths, parts, strict=True)
        groups = np.concatenate([_groups_of(path, part, lone=n_lone == 1) for path, part in named])
    return _joined(paths, parts, groups=groups)


def read_labelled_files(paths: Sequence[Path], kind: str | None = None, labels: Path | None = None) -> Inputs:
    """Read labelled examples from one file or folder, or from several files.

    Of several files, each without groups is a group of its own, such as a session. The group has the path of the file
    as its name. Groups of the same name in several files are one group.

    Parameters
    ----------
    paths : sequence of Path
        A file or folder, as in `read_inputs`, or .npz and .fif files with labels.
    kind : {'matrices', 'series', 'images', 'vectors'} or None, default=None
        The kind of examples. None means that it is detected.
    labels : Path or None, default=None
        A CSV file with labels, if there is one path.

    Returns
    -------
    Inputs
        All examples, in the order of the files.

    Raises
    ------
    FileNotFoundError
        If a path does not exist.
    ValueError
        If a path does not hold the expected examples, if it is given twice, or if the files do not belong together.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     paths = [Path(folder) / name for name in ("monday.npz", "tuesday.npz")]
    ...     for path in paths:
    ...         np.savez(path, X=np.stack([np.eye(3)] * 2), y=[0, 1])
    ...     inputs = read_labelled_files(paths)
    >>> inputs.y.tolist(), [Path(group).stem for group in inputs.groups]
    ([0, 1, 0, 1], ['monday', 'monday', 'tuesday', 'tuesday'])
    """
    if len(paths) == 1:
        return read_inputs(paths[0], kind, labels)
    for i, path in enumerate(paths):
        if path.is_dir():
            raise ValueError(f"{path} is a folder: pass either one folder or several files")
        if path.resolve() in [other.resolve() for other in paths[:i]]:
            raise ValueError(f"{path} is given twice")
    if labels is not None:
        raise ValueError(
            f"{labels} has the labels of one file, but there are {len(paths)} files: the labels must be in the files "
            "(y in an .npz file, the events of a .fif file)"
        )
    parts = [read_inputs(path, kind) for path in paths]
    for path, part in zip(paths, parts, strict=True):
        if part.kind != parts[0].kind:
            raise ValueError(f"{path} holds {part.kind}, but {paths[0]} holds {parts[0].kind}")
    groups = np.concatenate([_groups_or(path.as_posix(), part) for path, part in zip(paths, parts, strict=True)])
    return _joined(paths, parts, np.concatenate([part.y for part in parts if part.y is not None]), groups)


def _joined(paths: Sequence[Path], parts: list[Inputs], y: Any = None, groups: Any = None) -> Inputs:
    """Return the examples of several files of the same kind."""
    kind = parts[0].kind
    channels = _common_channels(paths, parts)  # first, because its message says how to get as many rows
    if kind != "images":
        _check_rows(paths, parts)
    examples = [one for part in parts for one in part.examples]
    stacked = np.stack(examples) if kind in ("matrices", "vectors") else examples
    names = np.concatenate([part.names for part in parts])
    return Inputs(kind, stacked, names, y, groups, channels)


def _check_rows(paths: Sequence[Path], parts: list[Inputs]) -> None:
    """Raise ValueError if not all examples have as many rows as the first one; vectors have entries."""
    rows = [(path, len(one)) for path, part in zip(paths, parts, strict=True) for one in part.examples]
    for path, n_rows in rows:
        first, expected = rows[0]
        if n_rows != expected:
            what = "entries" if parts[0].kind == "vectors" else "rows"
            raise ValueError(f"the examples in {path} have {n_rows} {what}, but those in {first} have {expected}")


def _groups_of(path: Path, part: Inputs, lone: bool) -> npt.NDArray[Any]:
    """Return the groups of the examples in a file: those that it has, or the file itself.

    Files of one example form one group, unless there is a single one (`lone`).
    A group of the training data may have the name of the file, so that the label is one that nobody writes.
    """
    return _groups_or(f"the file {path}" if len(part) > 1 or lone else "the files of one example", part)


def _groups_or(label: str, part: Inputs) -> npt.NDArray[Any]:
    """Return the groups of the examples in a file; if it has none, the label is the group of all."""
    return np.asarray([label] * len(part) if part.groups is None else part.groups, dtype=object)


def _common_channels(paths: Sequence[Path], parts: list[Inputs]) -> list[str] | None:
    """Return the names of the channels, from the files that have names."""
    named = [(path, part.channels) for path, part in zip(paths, parts, strict=True) if part.channels is not None]
    for path, channels in named:
        if channels != named[0][1]:
            raise ValueError(
                f"the channels in {path} have other names, or another order, than those in {named[0][0]}; choose the "
                "same channels in all files, in MNE with epochs.pick and epochs.reorder_channels; bad channels count "
                "as missing: epochs.interpolate_bads repairs them"
            )
    return named[0][1] if named else None

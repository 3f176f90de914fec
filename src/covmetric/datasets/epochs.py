"""Epochs in the .fif files of MNE."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray
from covmetric.descriptors.epochs import data_channels, data_of_epochs


@dataclass(frozen=True)
class Epochs:
    """Epochs of a recording.

    Attributes
    ----------
    X : array of shape (l, channels, times)
        The signals of the data channels (EEG, MEG, ...), or of EMG and the like if there are none, that are not marked
        as bad.
    y : array of str of shape (l,)
        The name of the event of each epoch.
    channels : list of str
        The names of the channels.
    """

    X: FloatArray
    y: npt.NDArray[Any]
    channels: list[str]


def read_epochs(path: Path) -> Epochs:
    """Read epochs with MNE.

    Parameters
    ----------
    path : Path
        A file that ``mne.Epochs.save`` wrote.

    Returns
    -------
    Epochs
        The epochs.

    Raises
    ------
    ImportError
        If MNE is not installed.
    ValueError
        If MNE cannot read the file, or it holds no epochs with channels to describe.

    Examples
    --------
    >>> epochs = read_epochs(Path("trials-epo.fif"))  # doctest: +SKIP
    >>> epochs.X.shape, set(epochs.y)  # doctest: +SKIP
    ((200, 22, 512), {'left', 'right'})
    """
    try:
        mne = import_module("mne")
    except ImportError as error:
        raise ImportError("reading .fif files needs the package mne: pip install mne") from error
    try:
        epochs = mne.read_epochs(path, preload=True, verbose="ERROR")
    except Exception as error:  # MNE raises errors of many kinds for files that it cannot read
        raise ValueError(f"cannot read the epochs in {path}: {error}") from None
    names = {code: name for name, code in epochs.event_id.items()}
    if len(epochs) == 0:
        raise ValueError(f"{path} holds no epochs")
    try:
        data, channels = data_of_epochs(epochs), data_channels(epochs)
    except ValueError as error:
        raise ValueError(f"cannot describe the epochs in {path}: {error}") from None
    return Epochs(
        np.asarray(data, dtype=np.float64),
        np.array([names[code] for code in epochs.events[:, 2].tolist()]),
        list(channels or []),
    )

"""Electromyograms of hand gestures, read from an installed geomstats."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from covmetric.descriptors import SeriesCovariances, sliding_windows

_FILE = Path("datasets", "data", "emg", "emg.csv")


def load_emg(window: int = 250, step: int | None = None, descriptor: Any = None) -> Bunch:
    """Load covariance matrices of electromyograms of five hand gestures, recorded by a bracelet of eight electrodes.

    Two people took part in two sessions each. A session has six rounds of the gestures rest, rock, paper, scissors and
    ok, held for 25 seconds each. The recordings are part of geomstats 2.8 (MIT licence) and are read from its
    installation: ``pip install "geomstats<3" pandas``.

    Parameters
    ----------
    window : int, default=250
        The number of samples per covariance matrix; 250 samples are about one second.
    step : int or None, default=None
        The number of samples between the starts of successive windows. None means `window`.
    descriptor : transformer or None, default=None
        Maps windows of shape (l, 8, window) to covariance matrices. None means ``SeriesCovariances()``.

    Returns
    -------
    Bunch
        With the fields, for l windows,

        - ``X``, array of shape (l, 8, 8): the covariance matrices;
        - ``y``, array of str of shape (l,): the gesture;
        - ``groups``, array of str of shape (l,): the round. Keep the windows of a round together in a split;
        - ``person``, array of str of shape (l,): the initials of the person;
        - ``session``, array of int of shape (l,): the session, 1 or 2;
        - ``feature_names``, list of 8 str: the electrodes;
        - ``target_names``, array of 5 str: the gestures, sorted.

    Raises
    ------
    ImportError
        If geomstats 2.8 is not installed.

    Examples
    --------
    >>> from covmetric.datasets import load_emg
    >>> data = load_emg(window=1000)
    >>> data.X.shape[1:], len(data.target_names)
    ((8, 8), 5)
    """
    path = _recordings_path()
    import pandas as pd  # a dependency of geomstats

    columns = [f"c{i}" for i in range(8)]
    types = {**dict.fromkeys(columns, np.float64), "label": "category", "exp": "category"}
    table = pd.read_csv(path, usecols=[*columns, "label", "exp"], dtype=types)
    label, recording = table["label"].to_numpy(str), table["exp"].to_numpy(str)
    # A gesture lasts until the label or the recording changes.
    changes = np.flatnonzero((label[1:] != label[:-1]) | (recording[1:] != recording[:-1])) + 1
    starts = np.concatenate([[0], changes])
    gestures = np.split(table[columns].to_numpy().T, changes, axis=1)
    windows = sliding_windows(gestures, window, step)
    y, names = label[starts][windows.series], recording[starts][windows.series]
    rounds = np.array([np.sum(recording[starts[:i]] == recording[starts[i]]) // 5 for i in range(len(starts))])
    described = (SeriesCovariances() if descriptor is None else descriptor).fit_transform(windows.X)
    return Bunch(
        X=described,
        y=y,
        groups=np.array([f"{name} round {r + 1}" for name, r in zip(names, rounds[windows.series], strict=True)]),
        person=np.array([name.split("_")[0] for name in names]),
        session=np.array([int(name[-1]) for name in names]),
        feature_names=[f"electrode {i + 1}" for i in range(8)],
        target_names=np.unique(y),
    )


def _recordings_path() -> Path:
    spec = find_spec("geomstats")  # without importing it
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (Path(folder) / _FILE).is_file():
            return Path(folder) / _FILE
    raise ImportError('the EMG recordings are part of geomstats 2.8: pip install "geomstats<3" pandas')

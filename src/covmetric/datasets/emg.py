"""Electromyograms of hand gestures, from the files of an installed geomstats."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from covmetric.descriptors import SeriesCovariances, sliding_windows

_FILE = Path("datasets", "data", "emg", "emg.csv")


def load_emg(window: int = 250, step: int | None = None, descriptor: Any = None) -> Bunch:
    """Covariances of windows of a bracelet of eight electrodes, during five hand gestures.

    Two people, two sessions each; a session is six rounds of the gestures rest, rock, paper, scissors and ok, held
    for 25 seconds each. The recordings are those of geomstats 2.8 (MIT licence), read from where it is installed:
    ``pip install "covmetric[demo]"``.

    Parameters
    ----------
    window : int, default=250
        Samples per covariance matrix: about a second.
    step : int or None, default=None
        Samples from one window to the next; None: `window`.
    descriptor : transformer of series (l, channels, times) or None, default=None
        None: ``SeriesCovariances()``.

    Returns
    -------
    Bunch
        ``X`` (l, 8, 8); ``y``, the gesture; ``person``, ``session`` (1 or 2); ``groups``, one per round of a session:
        windows of one round should stay together in a split; ``feature_names``, ``target_names``.
    """
    path = _file()
    import pandas as pd  # comes with geomstats

    columns = [f"c{i}" for i in range(8)]
    types = {**dict.fromkeys(columns, np.float64), "label": "category", "exp": "category"}
    table = pd.read_csv(path, usecols=[*columns, "label", "exp"], dtype=types)
    label, recording = table["label"].to_numpy(str), table["exp"].to_numpy(str)
    # A gesture is held until the label or the recording changes.
    changes = np.flatnonzero((label[1:] != label[:-1]) | (recording[1:] != recording[:-1])) + 1
    starts = np.concatenate([[0], changes])
    held = np.split(table[columns].to_numpy().T, changes, axis=1)
    windows = sliding_windows(held, window, step)
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


def _file() -> Path:
    spec = find_spec("geomstats")  # found, not imported
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (Path(folder) / _FILE).is_file():
            return Path(folder) / _FILE
    raise ImportError('the EMG recordings come with geomstats 2.8: pip install "covmetric[demo]"')

"""Epochs of MNE as series. MNE itself is not imported."""

from __future__ import annotations

from typing import Any

#: Types of channels that are never described: stimuli, eyes, heart, references, and what the device records of itself.
_NOT_DESCRIBED = frozenset(
    {"stim", "eog", "eyegaze", "pupil", "ecg", "ref_meg", "chpi", "exci", "ias", "syst", "dipole", "gof"}
)


def is_epochs(X: Any) -> bool:
    """Return whether an object has the interface of MNE's epochs.

    Parameters
    ----------
    X : object
        Any object.

    Returns
    -------
    bool
    """
    return all(hasattr(X, name) for name in ("get_data", "pick", "ch_names", "events"))


def refuse_recordings(X: Any) -> None:
    """Raise ValueError if X is a recording that was not cut into epochs.

    Parameters
    ----------
    X : object
        Any object.

    Raises
    ------
    ValueError
        If X has the interface of MNE's `Raw` or `Evoked`.
    """
    if hasattr(X, "get_data") and hasattr(X, "ch_names") and not is_epochs(X):
        raise ValueError(
            f"X is an object of the class {type(X).__name__}, which holds no epochs: cut the recording into trials, "
            "with mne.Epochs or mne.make_fixed_length_epochs"
        )


def data_channels(X: Any) -> list[str] | None:
    """Return the names of the channels of epochs that are described, none of which is marked as bad.

    These are the data channels (EEG, MEG, ...). Epochs without any, such as those of EMG or of type "misc", give all
    channels but stimuli, EOG, gaze and pupils, ECG, references and records of the device.

    Parameters
    ----------
    X : object
        Epochs of MNE, which need not be loaded, or series of another type.

    Returns
    -------
    list of str or None
        The names, or None for other series.

    Raises
    ------
    ValueError
        If the epochs have no such channels.
    """
    return [X.ch_names[i] for i in _chosen(X)] if is_epochs(X) else None


def data_of_epochs(X: Any) -> Any:
    """Return the signals of the channels `data_channels` of epochs, and series of any other type as they are.

    Parameters
    ----------
    X : object
        Epochs of MNE, which need not be loaded, or series of another type.

    Returns
    -------
    array of shape (l, channels, times), or X

    Raises
    ------
    ValueError
        If X is a recording that was not cut into epochs, if no epoch is left, or if the epochs have no such channels.
    """
    refuse_recordings(X)
    if not is_epochs(X):
        return X
    data = X.get_data(picks=_chosen(X), verbose="ERROR")
    if len(data) == 0:  # epochs that are not loaded have no length before
        raise ValueError("X holds no epochs")
    return data


def _chosen(X: Any) -> list[int]:
    """Return the indices of the channels `data_channels`: a name may also be that of a type."""
    types = X.get_channel_types()
    try:
        described = set(X.get_channel_types(unique=True, only_data_chs=True))
    except ValueError:  # MNE's answer if there are none
        described = set()
    described = described or set(types) - _NOT_DESCRIBED
    if not described:
        raise ValueError(
            f"the {len(types)} channels of the epochs are of the types {', '.join(sorted(set(types)))}, none of which "
            "is described: correct them with epochs.set_channel_types, or pass epochs.get_data()"
        )
    candidates = [i for i, one in enumerate(types) if one in described]
    chosen = [i for i in candidates if X.ch_names[i] not in X.info["bads"]]
    if not chosen:
        raise ValueError(
            f"all {len(candidates)} channels of the epochs of the types {', '.join(sorted(described))} are marked as "
            "bad: repair them with epochs.interpolate_bads, or remove the marks from epochs.info['bads']"
        )
    return chosen

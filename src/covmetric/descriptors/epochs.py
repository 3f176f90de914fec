"""Epochs of MNE as series. MNE itself is not imported."""

from __future__ import annotations

from typing import Any


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
    """Return the names of the channels that MNE picks by default: data channels that are not marked as bad.

    Parameters
    ----------
    X : object
        Epochs of MNE, or series of another type.

    Returns
    -------
    list of str or None
        The names, or None for other series.

    Raises
    ------
    ValueError
        If the epochs have no such channels.
    """
    if not is_epochs(X):
        return None
    if len(X) == 0:  # MNE does not pick channels of nothing
        raise ValueError("X holds no epochs")
    try:
        return list(X[:1].pick("data", exclude="bads", verbose="ERROR").ch_names)
    except ValueError as error:
        raise ValueError(
            f"the {len(X.ch_names)} channels of the epochs hold no data, or are marked as bad: {error}"
        ) from None


def data_of_epochs(X: Any) -> Any:
    """Return the signals of the data channels of epochs, and series of any other type as they are.

    Parameters
    ----------
    X : object
        Epochs of MNE, or series of another type.

    Returns
    -------
    array of shape (l, channels, times), or X
    """
    refuse_recordings(X)
    names = data_channels(X)
    return X if names is None else X.get_data(picks=names)

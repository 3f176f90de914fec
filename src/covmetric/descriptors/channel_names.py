"""The names of the channels of series, which the transformers of series keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from covmetric.descriptors.saving import SavedDescriptor


class NamedChannels(SavedDescriptor):
    """Transformers of series that know the names of the channels if `fit` has seen epochs of MNE."""

    fitted_counts = ("n_channels_",)
    fitted_names = ("feature_names_",)
    n_channels_: int

    def set_names(self, names: Sequence[str] | None) -> Self:
        """Set the names of the channels, which plots, reports and explanations show.

        Parameters
        ----------
        names : sequence of str or None
            One name per channel; None if they are not known.

        Returns
        -------
        self
            The descriptor.

        Raises
        ------
        ValueError
            If the number of names differs from the number of channels.
        """
        check_is_fitted(self, "n_channels_")
        if hasattr(self, "feature_names_"):
            delattr(self, "feature_names_")
        if names is not None:
            if len(names) != self.n_channels_:
                raise ValueError(f"there are {len(names)} names, but {self.n_channels_} channels")
            self.feature_names_: list[str] = [str(name) for name in names]
        return self

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        descriptor = super().from_state(state)
        names = getattr(descriptor, "feature_names_", None)
        if names is not None and len(names) != getattr(descriptor, "n_channels_", None):
            raise ValueError(f"feature_names_ of {cls.__name__} must have one name per channel, got {len(names)}")
        return descriptor

    def check_names(self, names: Sequence[str] | None) -> None:
        """Raise ValueError if series have other channels, or in another order, than those of `fit`.

        Parameters
        ----------
        names : sequence of str or None
            The names of the channels; None if they are not known.

        Raises
        ------
        ValueError
            If both are known and differ.
        """
        expected = getattr(self, "feature_names_", None)
        if names is None or expected is None or list(names) == expected:
            return
        if sorted(names) == sorted(expected):
            i = next(i for i, name in enumerate(names) if name != expected[i])
            raise ValueError(
                f"the channels are in another order than those of the training data: channel {i} is {names[i]} instead "
                f"of {expected[i]}; reorder them, in MNE with epochs.reorder_channels"
            )
        missing = [name for name in expected if name not in names]
        unknown = [name for name in names if name not in expected]
        raise ValueError(
            f"the channels differ from those of the training data (missing: {_listed(missing)}; unknown: "
            f"{_listed(unknown)}): choose the same ones, in MNE with epochs.pick, or rename them; bad channels count "
            "as missing; epochs.interpolate_bads repairs them"
        )


def _listed(names: Sequence[str]) -> str:
    """Return the first names."""
    return (", ".join(names[:4]) or "none") + (", ..." if len(names) > 4 else "")

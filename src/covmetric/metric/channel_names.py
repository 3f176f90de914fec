"""The names of the channels or features that a learned metric at the end of a pipeline compares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covmetric.embeddings import Embedding


def names_in_pipeline(steps: Sequence[Any], embedding: Embedding) -> list[str] | None:
    """Return the names that the steps before a learned metric know.

    Parameters
    ----------
    steps : sequence of fitted transformers
        The steps before the metric, such as a descriptor and `Recentre`.
    embedding : Embedding
        The embedding of the metric.

    Returns
    -------
    list of str or None
        One name per channel. None if no step knows names, or if the matrices have fewer rows than the channels that
        are named, as after `Recentre` has left out a null space: their rows are then not channels.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import get_embedding
    >>> from covmetric.descriptors import SeriesCovariances
    >>> series = np.random.default_rng(0).standard_normal((5, 2, 30))
    >>> descriptor = SeriesCovariances().fit(series).set_names(["Fz", "Cz"])
    >>> names_in_pipeline([descriptor], get_embedding("log").fit(descriptor.transform(series)))
    ['Fz', 'Cz']
    """
    known = [names for step in steps if (names := getattr(step, "feature_names_", None)) is not None]
    if not known or len(known[-1]) != len(embedding.channel_names()):
        return None
    return list(known[-1])

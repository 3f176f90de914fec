"""The names of the channels or features that a learned metric at the end of a pipeline compares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covmetric.embeddings import Embedding


def names_in_pipeline(steps: Sequence[Any], embedding: Embedding) -> list[str] | None:
    """Return the names that a fitted model knows.

    Parameters
    ----------
    steps : sequence of fitted estimators
        The steps of the model, such as a descriptor, `Recentre` and a classifier.
    embedding : Embedding
        The embedding of the metric.

    Returns
    -------
    list of str or None
        One name per channel: those of a descriptor, otherwise those of the data frame that the step with the metric
        was fitted on. None if no step knows names, or if the matrices have fewer rows than the channels that are named,
        as after `Recentre` has left out a null space: their rows are then not channels.

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
    if not known:
        learner = next((step for step in steps if hasattr(step, "metric_")), None)
        known = [getattr(learner, "feature_names_in_", ())]
    return list(known[-1]) if len(known[-1]) == len(embedding.channel_names()) else None

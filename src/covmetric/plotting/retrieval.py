"""A sheet of query images with the images that are nearest to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline

from covmetric._utils.validation import FloatArray, IntArray, check_counts
from covmetric.descriptors import read_image
from covmetric.plotting.axes import panels_for
from covmetric.plotting.bars import COLOURS
from covmetric.plotting.heat_map import shortened

_RIGHT, _WRONG = COLOURS[5], COLOURS[2]


class RetrievalDisplay:
    """A row for each query: its image, and the images of its nearest neighbours in the learned metric.

    Neighbours of the class of the query have a solid blue frame, the others a dashed orange one and a cross in their
    title.

    Use `from_estimator` to create it.

    Parameters
    ----------
    queries : sequence of paths or arrays
        The images of the queries.
    neighbors : sequence of sequences of paths or arrays
        The images of the neighbours of each query, nearest first.
    distances : array of shape (n_queries, k)
        Their distances from the query.
    query_labels : sequence or None, default=None
        The classes of the queries. None means unknown.
    neighbor_labels : sequence of sequences or None, default=None
        The classes of the neighbours.

    Attributes
    ----------
    ax_ : array of matplotlib Axes, of shape (n_queries, k + 1)
        The axes, after `plot`.
    figure_ : matplotlib Figure
        The figure, after `plot`.

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> from covmetric.datasets import make_textures
    >>> from covmetric.descriptors import ImageCovariances
    >>> from covmetric.plotting import RetrievalDisplay
    >>> data = make_textures(n_classes=2, n_per_class=6, size=32)
    >>> X = ImageCovariances().fit_transform(data.images)
    >>> classifier = CovMetricClassifier(random_state=0).fit(X[2:], data.y[2:])
    >>> display = RetrievalDisplay.from_estimator(
    ...     classifier, X[:2], data.images[:2], data.images[2:], y=data.y[:2], reference_labels=data.y[2:], k=3
    ... )
    >>> display.ax_.shape
    (2, 4)
    """

    def __init__(
        self,
        queries: Sequence[Any],
        neighbors: Sequence[Sequence[Any]],
        distances: FloatArray,
        *,
        query_labels: Sequence[Any] | None = None,
        neighbor_labels: Sequence[Sequence[Any]] | None = None,
    ) -> None:
        self.queries = queries
        self.neighbors = neighbors
        self.distances = distances
        self.query_labels = query_labels
        self.neighbor_labels = neighbor_labels

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        images: Sequence[Any] | None = None,
        references: Sequence[Any] | None = None,
        *,
        y: Any = None,
        reference_labels: Any = None,
        k: int = 5,
        ax: Any = None,
    ) -> Self:
        """Find the neighbours of queries and draw them.

        Parameters
        ----------
        estimator : CovMetricClassifier, ImagePatchClassifier, or Pipeline with one as its last step
            The fitted classifier, which searches among its training examples.
        X : array of shape (n_queries, n, n), or list of images
            The queries, as the estimator takes them.
        images : sequence of paths or arrays, or None, default=None
            The images of the queries. None means X, for an estimator that takes images.
        references : sequence of paths or arrays, or None, default=None
            The images of the training examples, in their order. None means the thumbnails that the estimator holds.
        y : array of shape (n_queries,) or None, default=None
            The classes of the queries.
        reference_labels : array of shape (l,) or None, default=None
            The classes of the training examples.
        k : int, default=5
            The number of neighbours.
        ax : matplotlib Axes, sequence of matplotlib Axes, or None, default=None
            The axes. None means a new figure.

        Returns
        -------
        RetrievalDisplay
            The display.

        Raises
        ------
        ValueError
            If there is not one image per query, or if there are no images of the training examples.
        """
        check_counts(k=k)
        classifier = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        described = estimator[:-1].transform(X) if isinstance(estimator, Pipeline) else X
        images = X if images is None else images
        references = classifier.references_.thumbnails if references is None else references
        if references is None:
            raise ValueError("references must be the images of the training examples: the estimator has no thumbnails")
        distances, indices = classifier.kneighbors(described, k)
        if len(images) != len(indices):
            raise ValueError(f"images must have one image per query, {len(indices)}; got {len(images)}")
        return cls(
            images,
            [[references[i] for i in row] for row in indices],
            distances,
            query_labels=y,
            neighbor_labels=None if reference_labels is None else _taken(reference_labels, indices),
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the sheet.

        Parameters
        ----------
        ax : matplotlib Axes, sequence of matplotlib Axes, or None, default=None
            The axes. None means a new figure. Single axes are divided.

        Returns
        -------
        RetrievalDisplay
            The display itself.
        """
        rows, columns = len(self.queries), 1 + max(len(row) for row in self.neighbors)
        panels = panels_for(ax, "RetrievalDisplay.plot", columns, rows, 1.35 * columns, 1.6 * rows)
        self.ax_ = panels.reshape(rows, columns)
        self.figure_ = panels[0].figure
        for panel in panels:
            panel.set_axis_off()
        for i, query in enumerate(self.queries):
            label = None if self.query_labels is None else self.query_labels[i]
            _show(self.ax_[i, 0], query, "query" if label is None else f"query: {shortened(label, 14)}")
            for j, neighbor in enumerate(self.neighbors[i]):
                other = None if self.neighbor_labels is None else self.neighbor_labels[i][j]
                name = "" if other is None else f"{shortened(other, 12)}  "
                right = None if label is None or other is None else bool(label == other)
                mark = "\u00d7 " if right is False else ""
                _show(self.ax_[i, j + 1], neighbor, f"{mark}{name}{_shown_distance(self.distances[i][j])}", right)
        return self


def _shown_distance(distance: float) -> str:
    """Return a distance with three digits, or as a whole number if it has more digits before the point."""
    return f"{distance:.0f}" if 99.95 <= distance < 1e6 else f"{distance:#.3g}"


def _taken(labels: Any, indices: IntArray) -> list[list[Any]]:
    array = np.asarray(labels)
    return [array[row].tolist() for row in indices]


def _show(axes: Any, image: Any, title: str, right: bool | None = None) -> None:
    """Draw an image with a title, and a frame that says whether its class is right."""
    pixels = read_image(image)
    low, high = (
        (0.0, 255.0) if pixels.max(initial=0.0) > 1.0 and pixels.max() <= 255.0 else (pixels.min(), pixels.max())
    )
    shown = np.clip((pixels - low) / (high - low if high > low else 1.0), 0.0, 1.0)
    axes.imshow(shown, cmap="gray", vmin=0.0, vmax=1.0)
    axes.set_title(title, fontsize=8)
    if right is None:
        return
    axes.set_axis_on()
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(visible=True, edgecolor=_RIGHT if right else _WRONG, linewidth=2.5, linestyle="-" if right else "--")

"""Histograms of the distances of similar and dissimilar pairs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from covmetric._utils.distances import squared_distances
from covmetric._utils.validation import FloatArray
from covmetric.constraints import AbsoluteBounds, LabelledPairs, get_bounds, get_pairs, select_pairs
from covmetric.metric import LearnedMetric
from covmetric.plotting.axes import panels_for
from covmetric.plotting.bars import COLOURS
from covmetric.plotting.fitted import describe_examples, find_learner, find_metric

_SIMILAR, _DISSIMILAR = COLOURS[5], COLOURS[2]
# At most this many examples give pairs: 2,000 examples have two million pairs.
_MAX_EXAMPLES = 2000
_BINS = 40


class PairDistancesDisplay:
    """Histograms of the distances of similar and dissimilar pairs, before and after learning, with the bounds.

    Before learning, the distances are those of W = I, in the unit that the learner chose (`scale_`). The bounds ask for
    similar pairs to the left of the first line, and for dissimilar pairs to the right of the second.

    Use `from_estimator` to create it.

    Parameters
    ----------
    before, after : arrays of shape (K,)
        The distances sqrt(D) of the pairs before and after learning.
    similar : array of bool of shape (K,)
        Whether the two examples of a pair have the same class.
    bounds : (float, float) or None, default=None
        The upper bound on the squared distances of similar pairs and the lower bound on those of dissimilar pairs.

    Attributes
    ----------
    ax_ : array of two matplotlib Axes
        The axes, after `plot`.
    figure_ : matplotlib Figure
        The figure, after `plot`.

    Examples
    --------
    >>> from covmetric import CovMetric
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.plotting import PairDistancesDisplay
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> learner = CovMetric(random_state=0).fit(data.X, data.y)
    >>> display = PairDistancesDisplay.from_estimator(learner, data.X, data.y)
    >>> len(display.after), display.bounds
    (190, (0.05, 0.95))
    """

    def __init__(
        self, before: FloatArray, after: FloatArray, similar: Any, *, bounds: tuple[float, float] | None = None
    ) -> None:
        self.before = before
        self.after = after
        self.similar = similar
        self.bounds = bounds

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        pairs: Any = "all",
        bounds: tuple[float, float] | None = None,
        random_state: Any = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the distances between examples.

        Parameters
        ----------
        estimator : LearnedMetric, fitted estimator of covmetric, or Pipeline with one
            The estimator.
        X : array or list
            The examples, as the estimator takes them.
        y : array of shape (l,)
            Their classes.
        pairs : 'all', str or PairSelection, default='all'
            The pairs: all of them (of 2,000 examples at random if there are more), or a selection as in `CovMetric`,
            such as 'neighbors', which selects under W = I.
        bounds : (float, float) or None, default=None
            The bounds on squared distances. None means those of the estimator, if they do not depend on its pairs.
        random_state : int, RandomState, Generator or None, default=0
            The source of random pairs.
        ax : matplotlib Axes, two matplotlib Axes, or None, default=None
            The axes. None means a new figure.

        Returns
        -------
        PairDistancesDisplay
            The display.

        Raises
        ------
        ValueError
            If X and y have different lengths, or if there are no pairs.
        """
        embedded = find_metric(estimator).embedding.transform(describe_examples(estimator, X))
        return cls.from_embedded(estimator, embedded, y, pairs=pairs, bounds=bounds, random_state=random_state, ax=ax)

    @classmethod
    def from_embedded(
        cls,
        estimator: Any,
        embedded: FloatArray,
        y: Any,
        *,
        pairs: Any = "all",
        bounds: tuple[float, float] | None = None,
        random_state: Any = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the distances between examples that are already embedded, such as the references of a classifier.

        Parameters
        ----------
        estimator : LearnedMetric, fitted estimator of covmetric, or Pipeline with one
            The estimator.
        embedded : array of shape (l, n, m)
            The embedded examples Phi(X).
        y : array of shape (l,)
            Their classes.
        pairs, bounds, random_state, ax : object
            As in `from_estimator`.

        Returns
        -------
        PairDistancesDisplay
            The display.

        Raises
        ------
        ValueError
            If the examples and y have different lengths, or if there are no pairs.
        """
        labels = np.asarray(y)
        if labels.shape != (len(embedded),):
            raise ValueError(f"y must have one class per example, shape ({len(embedded)},); got shape {labels.shape}")
        rng = np.random.default_rng(random_state)
        if len(labels) > _MAX_EXAMPLES:
            chosen = np.sort(rng.choice(len(labels), _MAX_EXAMPLES, replace=False))
            embedded, labels = embedded[chosen], labels[chosen]
        vectors, codes = embedded.reshape(len(embedded), -1), np.unique(labels, return_inverse=True)[1]
        found = (
            _all_pairs(codes) if isinstance(pairs, str) and pairs == "all" else _selected(pairs, vectors, codes, rng)
        )
        if len(found.pairs) == 0:
            raise ValueError("there are no pairs to draw: pass at least two examples")
        after = _distances(find_metric(estimator).map(embedded), found.pairs)
        before = _distances(vectors, found.pairs)
        scale, fitted_bounds = _unit_and_bounds(estimator, before)
        return cls(before / np.sqrt(scale), after, found.similar > 0.0, bounds=bounds or fitted_bounds).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the histograms.

        Parameters
        ----------
        ax : matplotlib Axes, two matplotlib Axes, or None, default=None
            The axes. None means a new figure. Single axes are divided.

        Returns
        -------
        PairDistancesDisplay
            The display itself.
        """
        self.ax_ = panels_for(ax, "PairDistancesDisplay.plot", 1, 2, width=6.4, height=4.8)
        self.figure_ = self.ax_[0].figure
        similar = np.asarray(self.similar, dtype=bool)
        handles: dict[str, Any] = {}
        for panel, distances, title in zip(self.ax_, (self.before, self.after), ("before", "after"), strict=True):
            # A few very long distances would squeeze the rest.
            end = 1.05 * max(float(np.quantile(distances, 0.995)), np.sqrt(self.bounds[1]) if self.bounds else 0.0)
            edges = np.linspace(0.0, end or 1.0, _BINS + 1)
            shown = np.minimum(distances, edges[-1])
            for chosen, colour, hatch, label in (
                (similar, _SIMILAR, "", "similar pairs"),
                (~similar, _DISSIMILAR, "////", "dissimilar pairs"),
            ):
                if chosen.any():
                    drawn = _draw_histogram(panel, shown[chosen], edges, colour, hatch)
                    handles[f"{label} ({int(chosen.sum()):,})"] = drawn
            self._mark_bounds(panel, handles)
            panel.set_title(f"{title} learning", fontsize=10)
            panel.set_ylabel("percent of pairs", fontsize=9)
            panel.set_xlim(0.0, edges[-1])
            panel.spines[["top", "right"]].set_visible(False)
        self.ax_[1].set_xlabel("distance (longer ones in the last bar)", fontsize=9)
        self.ax_[1].legend(
            handles.values(), handles.keys(), loc="upper center", bbox_to_anchor=(0.5, -0.3), ncols=2, fontsize=8,
            frameon=False,
        )  # fmt: skip
        return self

    def _mark_bounds(self, panel: Any, handles: dict[str, Any]) -> None:
        if self.bounds is None:
            return
        for bound, colour, style, label in zip(
            self.bounds, (_SIMILAR, _DISSIMILAR), ("--", "-."), ("upper bound, similar", "lower bound, dissimilar"),
            strict=True,
        ):  # fmt: skip
            handles[label] = panel.axvline(float(np.sqrt(bound)), color=colour, linestyle=style, linewidth=1.5)


def _draw_histogram(panel: Any, distances: FloatArray, edges: FloatArray, colour: str, hatch: str) -> tuple[Any, ...]:
    """Draw a histogram in percent, and return its patches.

    The hatching is a patch of its own: as a part of the filling, it would be as transparent as the filling in SVG
    files, and could not be seen.
    """
    settings: dict[str, Any] = {"weights": np.full(len(distances), 100.0 / len(distances)), "histtype": "stepfilled"}
    looks: list[dict[str, Any]] = [
        {"facecolor": (colour, 0.4)},
        *([{"facecolor": "none", "hatch": hatch}] if hatch else []),
    ]
    return tuple(panel.hist(distances, edges, edgecolor=colour, **settings, **look)[2][0] for look in looks)


def _all_pairs(codes: Any) -> LabelledPairs:
    pairs = np.stack(np.triu_indices(len(codes), 1), axis=1)
    return LabelledPairs(pairs, np.where(codes[pairs[:, 0]] == codes[pairs[:, 1]], 1.0, -1.0))


def _selected(pairs: Any, vectors: FloatArray, codes: Any, rng: np.random.Generator) -> LabelledPairs:
    return select_pairs(get_pairs(pairs), vectors, codes, rng)


def _distances(vectors: FloatArray, pairs: Any) -> FloatArray:
    return np.sqrt(squared_distances(vectors, vectors, *pairs.T))


def _unit_and_bounds(estimator: Any, before: FloatArray) -> tuple[float, tuple[float, float] | None]:
    """Return the unit of squared distances before learning, and the bounds if they are two fixed numbers."""
    learner, _ = find_learner(estimator)
    learner = getattr(learner, "best_estimator_", learner)
    if isinstance(learner, LearnedMetric) or learner.result_ is None:
        return float(np.median(before) ** 2) or 1.0, None
    bounds = get_bounds(learner.bounds)
    return learner.scale_, bounds.limits(before**2) if isinstance(bounds, AbsoluteBounds) else None

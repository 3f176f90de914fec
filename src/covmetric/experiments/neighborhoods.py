"""The nearest training examples of a few test examples of a comparison, in its fixed and learned metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from covmetric._utils.distances import cross_distances, nearest_columns
from covmetric._utils.turns import choose_in_turn
from covmetric._utils.validation import IntArray

#: The number of test examples of a comparison whose neighbours are kept, and the number of neighbours of each.
MAX_QUERIES, N_NEIGHBORS = 48, 6


@dataclass(frozen=True)
class Neighborhood:
    """The neighbours of a test example in one metric.

    Attributes
    ----------
    example : int
        The index of the example.
    predicted : int
        The predicted class, as a number.
    nearest : tuple of (int, float)
        The index and the distance of each of the nearest training examples of the fold, nearest first.
    """

    example: int
    predicted: int
    nearest: tuple[tuple[int, float], ...]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Create a neighbourhood from the result of `dataclasses.asdict`.

        Parameters
        ----------
        values : dict
            The attributes, which may come from JSON.

        Returns
        -------
        Neighborhood
        """
        nearest = tuple((int(index), float(distance)) for index, distance in values["nearest"])
        return cls(int(values["example"]), int(values["predicted"]), nearest)


@dataclass(frozen=True)
class NeighborTable:
    """The same test examples in the best fixed metric and in the best learned metric.

    Attributes
    ----------
    fixed, learned : str
        The names of the two methods. `fixed` is "" if the comparison has no fixed metric.
    names, labels : dict from str to str, dict from str to int
        The name and the class, as a number, of each example that occurs, by its index as text, as JSON has it.
    before, after : tuple of Neighborhood
        The neighbours in the fixed metric and in the learned metric, of the same examples in the same order. `before`
        is empty if the comparison has no fixed metric.
    """

    fixed: str
    learned: str
    names: dict[str, str]
    labels: dict[str, int]
    before: tuple[Neighborhood, ...]
    after: tuple[Neighborhood, ...]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Create a table from the result of `dataclasses.asdict`.

        Parameters
        ----------
        values : dict
            The attributes, which may come from JSON.

        Returns
        -------
        NeighborTable

        Raises
        ------
        ValueError
            If the examples of the two metrics differ, or an example has no name or class.
        """
        before, after = (tuple(Neighborhood.from_dict(one) for one in values[name]) for name in ("before", "after"))
        if before and [one.example for one in before] != [one.example for one in after]:
            raise ValueError("the neighbours of the fixed and of the learned metric belong to different examples")
        names, labels = values["names"], values["labels"]
        for one in (*before, *after):
            for i in (one.example, *(index for index, _ in one.nearest)):
                if str(i) not in names or str(i) not in labels:
                    raise ValueError(f"the example {i} among the neighbours has no name or no class")
        return cls(
            str(values["fixed"]),
            str(values["learned"]),
            {str(key): str(name) for key, name in names.items()},
            {str(key): int(label) for key, label in labels.items()},
            before,
            after,
        )


def find_neighborhoods(
    classifier: Any, X: Any, codes: IntArray, train: IntArray, test: IntArray, predicted: IntArray, count: int
) -> tuple[Neighborhood, ...]:
    """Return the nearest training examples of a few test examples in the metric of a classifier.

    Parameters
    ----------
    classifier : object
        A fitted classifier with a method `kneighbors`, or a search over pipelines whose first step has a metric.
    X : array of shape (l, n, n)
        All matrices, as the classifier takes them.
    codes : array of int of shape (l,)
        Their classes.
    train, test : arrays of int
        The training part and the test part.
    predicted : array of int
        The predictions for the test part.
    count : int
        The number of test examples, which are chosen in turn by class.

    Returns
    -------
    tuple of Neighborhood
        One for each chosen example; empty if the classifier has no metric.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, codes = np.array([[0.0], [1.0], [5.0], [0.4]]), np.array([0, 0, 1, 0])
    >>> nearest = KNeighborsClassifier(1).fit(X[:3], codes[:3])
    >>> find_neighborhoods(nearest, X, codes, np.arange(3), np.array([3]), np.array([0]), 1)[0].nearest
    ((0, 0.4), (1, 0.6), (2, 4.6))
    """
    chosen = choose_in_turn(codes[test].tolist(), count)
    found = _nearest(classifier, X[train], X[test[chosen]], min(N_NEIGHBORS, len(train)))
    if found is None:
        return ()
    distances, indices = found
    return tuple(
        Neighborhood(
            int(test[i]),
            int(predicted[i]),
            tuple((int(train[j]), float(d)) for j, d in zip(indices[q], distances[q], strict=True)),
        )
        for q, i in enumerate(chosen)
    )


def _nearest(classifier: Any, references: Any, queries: Any, k: int) -> tuple[Any, Any] | None:
    """Return the distances and indices of the nearest references, or None if the classifier has no metric."""
    if hasattr(classifier, "kneighbors"):
        distances, indices = classifier.kneighbors(queries, k)
        return distances, indices
    steps = getattr(getattr(classifier, "best_estimator_", classifier), "steps", None)
    if not steps or not hasattr(steps[0][1], "metric_"):
        return None
    transform = steps[0][1].transform
    squared = cross_distances(transform(queries), transform(references))
    nearest = nearest_columns(squared, k)
    return np.sqrt(np.take_along_axis(squared, nearest, axis=1)), nearest


def make_neighbor_table(
    fixed: tuple[str, Sequence[Neighborhood]] | None,
    learned: tuple[str, Sequence[Neighborhood]],
    names: Sequence[str],
    codes: IntArray,
) -> NeighborTable | None:
    """Return the test examples that have neighbours in both metrics.

    Parameters
    ----------
    fixed : (str, sequence of Neighborhood) or None
        The name of the best fixed metric and its neighbours. None if the comparison has no fixed metric.
    learned : (str, sequence of Neighborhood)
        The same of the best learned metric.
    names : sequence of l str
        The names of all examples.
    codes : array of int of shape (l,)
        Their classes.

    Returns
    -------
    NeighborTable or None
        The table; None if no example has neighbours in both metrics.

    Examples
    --------
    >>> one = Neighborhood(0, 1, ((2, 0.5),))
    >>> make_neighbor_table(None, ("covmetric-3nn", [one]), ["a", "b", "c"], np.array([1, 1, 0])).names
    {'0': 'a', '2': 'c'}
    """
    after = {one.example: one for one in learned[1]}
    before = after if fixed is None else {one.example: one for one in fixed[1]}
    common = [example for example in after if example in before]
    if not common:
        return None
    kept_before = () if fixed is None else tuple(before[example] for example in common)
    kept_after = tuple(after[example] for example in common)
    used = sorted({i for one in (*kept_before, *kept_after) for i in (one.example, *(j for j, _ in one.nearest))})
    return NeighborTable(
        "" if fixed is None else fixed[0],
        learned[0],
        {str(i): str(names[i]) for i in used},
        {str(i): int(codes[i]) for i in used},
        kept_before,
        kept_after,
    )

"""Few-shot classification: some examples of each class are known, and the others are classified by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, check_counts, generator
from covmetric.model_selection.distances import LabelledDistances, labelled_distances
from covmetric.model_selection.retrieval import share_of_smallest


def few_shot_accuracy(
    X: Any,
    y: Any,
    *,
    n_shots: int = 1,
    n_draws: int = 20,
    groups: Any = None,
    metric: str = "euclidean",
    random_state: Any = 0,
) -> float:
    """Compute the accuracy of classification by a few examples of each class.

    In each draw, `n_shots` random examples of each class are known. The other examples are classified by the nearest
    class, where the squared distance of an example from a class is the mean of its squared distances from the shots
    minus half the mean squared distance between two of the shots, drawn with replacement. For vectors, this is the
    squared distance from the mean of the shots; for one shot, it is the nearest neighbour.

    If several classes are nearest, the example counts as the fraction that its class is of them. Classes with too few
    examples to leave one for the test are left out.

    Parameters
    ----------
    X : array of shape (l, q) or (l, l)
        Vectors, or distances if `metric` is 'precomputed'.
    y : array of shape (l,)
        The class of each example, of any type.
    n_shots : int, default=1
        The number of known examples of each class.
    n_draws : int, default=20
        The number of times that known examples are drawn.
    groups : array of shape (l,) or None, default=None
        The group of each example. Examples of the class and the group of a shot are not tested.
    metric : {'euclidean', 'precomputed'}, default='euclidean'
        Whether X holds vectors or distances.
    random_state : int, RandomState, Generator or None, default=0
        The seed of the draws. Equal seeds draw the same examples for all metrics.

    Returns
    -------
    float
        The mean accuracy over the draws, from 0 to 1.

    Raises
    ------
    ValueError
        If an argument is invalid, or if fewer than two classes have enough examples.

    Examples
    --------
    >>> from covmetric.model_selection import few_shot_accuracy
    >>> few_shot_accuracy([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"], n_shots=1)
    1.0
    """
    examples = labelled_distances(X, y, groups, metric)
    check_counts(n_shots=n_shots, n_draws=n_draws)
    rng = generator(random_state)
    classes = _large_classes(examples, n_shots)
    return float(np.mean([_accuracy(examples, *_draw(examples, classes, n_shots, rng)) for _ in range(n_draws)]))


def _large_classes(examples: LabelledDistances, n_shots: int) -> list[IntArray]:
    """Return the examples of each class from which shots can be drawn while another group is left for the test."""
    classes = [np.flatnonzero(examples.codes == c) for c in range(int(examples.codes.max()) + 1)]
    large = [members for members in classes if len(_test_groups(examples, members, n_shots))]
    if len(large) < 2:
        raise ValueError(
            f"n_shots={n_shots} needs two classes with more than {n_shots} examples (if there are groups, with "
            f"{n_shots} examples outside of one of their groups), but y has {len(large)}"
        )
    return large


def _test_groups(examples: LabelledDistances, members: IntArray, n_shots: int) -> IntArray:
    """Return the groups of a class outside of which it has at least `n_shots` examples."""
    groups, counts = np.unique(examples.groups[members], return_counts=True)
    return groups[len(members) - counts >= n_shots]


def _draw(
    examples: LabelledDistances, classes: list[IntArray], n_shots: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return the shots, shape (n_classes, n_shots), and for each example the number of its class, or -1."""
    shots = np.empty((len(classes), n_shots), dtype=np.int64)
    tested = np.full(len(examples), -1)
    for number, members in enumerate(classes):
        groups = examples.groups[members]
        kept_for_test = rng.choice(_test_groups(examples, members, n_shots))
        shots[number] = rng.choice(members[groups != kept_for_test], n_shots, replace=False)
        tested[members[~np.isin(groups, examples.groups[shots[number]])]] = number
    return shots, tested


def _accuracy(examples: LabelledDistances, shots: IntArray, tested: IntArray) -> float:
    n_classes, n_shots = shots.shape
    correct: list[FloatArray] = []
    spread = np.array([_spread(examples, own) for own in shots])
    for rows, squared in examples.blocks(shots.ravel()):
        queries = tested[rows] >= 0
        from_classes = squared[queries].reshape(-1, n_classes, n_shots).mean(axis=2) - spread
        correct.append(share_of_smallest(from_classes, tested[rows[queries], None] == np.arange(n_classes)))
    return float(np.concatenate(correct).mean())


def _spread(examples: LabelledDistances, shots: IntArray) -> float:
    """Return half the mean squared distance between two shots of a class."""
    return 0.5 * float(examples.between(shots).mean())

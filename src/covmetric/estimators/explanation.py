"""The explanation of a decision: what decided, and what separates the example from the class that came second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.estimators.references import References, shown_name
from covmetric.learning.rules import describe_rule
from covmetric.metric import LearnedMetric
from covmetric.metric.interpretation import Explanation, explain_embedded

_N_PRINTED = 10  # rows of a printed table


@dataclass(frozen=True)
class Neighbor:
    """A reference near the example.

    Attributes
    ----------
    index : int
        The index of the reference.
    label : object
        Its class.
    distance : float
        Its learned distance sqrt(D) from the example.
    name : str or None
        Its name, if names were passed to `fit`.
    """

    index: int
    label: Any
    distance: float
    name: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as values for JSON.

        Returns
        -------
        dict
            The attributes by name.
        """
        return {"index": self.index, "label": self.label, "distance": self.distance, "name": self.name}

    def describe(self) -> str:
        """Return the name, or the index if there is none, as text.

        Returns
        -------
        str
            Text such as "textures/wood.png" or "example 3".
        """
        return shown_name(self.name, self.index)


@dataclass(frozen=True, eq=False)
class DecisionExplanation:
    """Why a classifier decided as it did.

    Attributes
    ----------
    label : object
        The predicted class.
    probabilities : dict
        The probability of each class, from the most probable class to the least.
    rule : dict
        The decision rule and its parameter, as in `rule_`.
    decided_by : str
        What the rule decides by: "references", "class means" or "decision boundaries".
    neighbors : list of Neighbor
        The nearest references, in ascending order of distance. If the references decided, these are those that voted.
    mean_distances : dict
        The distance sqrt(D) of the example from the mean of each class, in ascending order.
    runner_up : object
        The most probable of the other classes; among equally probable ones, the nearest.
    opposite : Neighbor or None
        The nearest reference of the runner-up, if the references decided. Otherwise its class mean takes this place.
    separation : Explanation
        The parts, by pattern and by channel, of the squared distance between the example and `opposite`, or the mean of
        the runner-up.

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> X, y = [[0.0, 0.0], [1.0, 0.1], [7.0, 0.0], [9.0, 0.2]], ["low", "low", "high", "high"]
    >>> clf = CovMetricClassifier(random_state=0, n_neighbors=1).fit(X, y, names=["a", "b", "c", "d"])
    >>> explanation = clf.explain([8.5, 0.1], channel_names=["height", "width"])
    >>> explanation.label, explanation.neighbors[0].name, explanation.opposite.name
    ('high', 'd', 'b')
    >>> explanation.to_dict()["separation"]["channels"][0]["name"]
    'height'
    """

    label: Any
    probabilities: dict[Any, float]
    rule: dict[str, Any]
    decided_by: str
    neighbors: list[Neighbor]
    mean_distances: dict[Any, float]
    runner_up: Any
    opposite: Neighbor | None
    separation: Explanation

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as values for JSON.

        Returns
        -------
        dict
            The attributes by name. Classes and their numbers are lists of dicts, because the keys of JSON are text.
        """
        return {
            "label": self.label,
            "probabilities": [{"label": c, "probability": p} for c, p in self.probabilities.items()],
            "rule": self.rule,
            "decided_by": self.decided_by,
            "neighbors": [one.to_dict() for one in self.neighbors],
            "mean_distances": [{"label": c, "distance": d} for c, d in self.mean_distances.items()],
            "runner_up": self.runner_up,
            "opposite": None if self.opposite is None else self.opposite.to_dict(),
            "separation": self.separation.to_dict(),
        }

    def __str__(self) -> str:
        first, second = self.probabilities[self.label], self.probabilities[self.runner_up]
        lines = [
            f"class {self.label} with probability {first:.3f}, then {self.runner_up} with {second:.3f}",
            f"decided by {self.decided_by}; rule: {describe_rule(self.rule)}",
            *(self._means() + self._neighbors() if self.opposite is None else self._neighbors() + self._means()),
        ]
        place = f"the mean of {self.runner_up}"
        if self.opposite is not None:
            place = f"the nearest reference of {self.runner_up}, {self.opposite.describe()}"
        return "\n".join([*lines, f"what separates the example from {place}:", str(self.separation)])

    def _neighbors(self) -> list[str]:
        rows = [(one.distance, one.label, one.describe()) for one in self.neighbors[:_N_PRINTED]]
        return ["nearest references", *self._table(("class", "name"), rows)]

    def _means(self) -> list[str]:
        rows = [(distance, label) for label, distance in list(self.mean_distances.items())[:_N_PRINTED]]
        return ["nearest class means", *self._table(("class",), rows)]

    def _table(self, header: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> list[str]:
        """Return the lines of a table of distances, classes and names."""
        width = max(len(str(label)) for label in ("class", *self.probabilities))
        texts = [("distance", *header), *((f"{distance:.6g}", *rest) for distance, *rest in rows)]
        return [f"{text:>10}  {label!s:<{width}}  {'  '.join(rest)}".rstrip() for text, label, *rest in texts]


@dataclass(frozen=True, eq=False)
class Decision:
    """A decision of a classifier, before it is explained.

    Attributes
    ----------
    embedded : array of shape (n, m)
        Phi of the example.
    classes : array of shape (n_classes,)
        The classes.
    probabilities : array of shape (n_classes,)
        Their probabilities.
    rule : dict
        The decision rule and its parameter.
    decided_by : str
        What the rule decides by.
    distances : array of shape (k,)
        The distances of the nearest references.
    indices : array of int of shape (k,)
        The indices of the nearest references.
    """

    embedded: FloatArray
    classes: Any
    probabilities: FloatArray
    rule: dict[str, Any]
    decided_by: str
    distances: FloatArray
    indices: IntArray


def explain_decision(
    decision: Decision,
    metric: LearnedMetric,
    references: References,
    means: FloatArray,
    channel_names: Sequence[str] | None = None,
) -> DecisionExplanation:
    """Explain a decision; see `CovMetricClassifier.explain`.

    Parameters
    ----------
    decision : Decision
        The decision.
    metric : LearnedMetric
        The learned metric.
    references : References
        The training examples.
    means : array of shape (n_classes, n, m)
        The mean of the embedded references of each class; NaN for a class without references.
    channel_names : sequence of str or None, default=None
        The names of the channels.

    Returns
    -------
    DecisionExplanation
        The explanation.
    """
    by_references = decision.decided_by == "references"
    vector = metric.map(decision.embedded[None])[0]
    to_means = _distances(metric, means, vector)
    to_classes = to_means
    if by_references:
        nearest = [_nearest(metric, references, decision.classes[c], vector) for c in range(len(decision.classes))]
        to_classes = np.array([np.inf if one is None else one.distance for one in nearest])
    winner = int(decision.probabilities.argmax())
    order = [int(c) for c in np.lexsort((to_classes, -decision.probabilities)) if c != winner]
    # A class without references has the probability 0 and no place.
    runner_up = next((c for c in order if np.isfinite(to_classes[c])), order[0])
    opposite = nearest[runner_up] if by_references else None
    place = means[runner_up] if opposite is None else references.embedded[opposite.index]
    labels = [_plain(label) for label in decision.classes]
    return DecisionExplanation(
        label=labels[winner],
        probabilities={labels[c]: float(decision.probabilities[c]) for c in (winner, *order)},
        rule=decision.rule,
        decided_by=decision.decided_by,
        neighbors=[
            _neighbor(references, int(i), float(d)) for d, i in zip(decision.distances, decision.indices, strict=True)
        ],
        mean_distances={labels[c]: float(to_means[c]) for c in np.argsort(to_means) if np.isfinite(to_means[c])},
        runner_up=labels[runner_up],
        opposite=opposite,
        separation=explain_embedded(metric.embedding, metric.W, decision.embedded, place, channel_names),
    )


def _distances(metric: LearnedMetric, embedded: FloatArray, vector: FloatArray) -> FloatArray:
    """Return the distances of embedded examples from a vector; infinity for NaN."""
    distances = np.linalg.norm(metric.map(embedded) - vector, axis=1)
    return np.where(np.isnan(distances), np.inf, distances)


def _nearest(metric: LearnedMetric, references: References, label: Any, vector: FloatArray) -> Neighbor | None:
    """Return the nearest reference of a class; None if it has none."""
    members = np.flatnonzero(references.labels == label)
    if len(members) == 0:
        return None
    distances = _distances(metric, references.embedded[members], vector)
    return _neighbor(references, int(members[distances.argmin()]), float(distances.min()))


def _neighbor(references: References, index: int, distance: float) -> Neighbor:
    name = None if references.names is None else str(references.names[index]) or None
    return Neighbor(index, _plain(references.labels[index]), distance, name)


def _plain(label: Any) -> Any:
    """Return a label as a Python value, for JSON."""
    return label.item() if isinstance(label, np.generic) else label

"""Predictions of a model, and how they agree with labels."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from covmetric._utils.validation import IntArray
from covmetric.tasks.model_view import ModelView
from covmetric.tasks.naming import example_names


@dataclass(frozen=True)
class Prediction:
    """The prediction for one example.

    Attributes
    ----------
    name : str
        The name of the example.
    predicted : str
        The predicted class.
    probability : float
        The estimated probability of the predicted class.
    probabilities : dict of str to float
        The estimated probability of each class.
    """

    name: str
    predicted: str
    probability: float
    probabilities: dict[str, float]


def predict(view: ModelView, names: Any, examples: Any, groups: Any = None) -> list[Prediction]:
    """Return the predicted class of each example.

    Parameters
    ----------
    view : ModelView
        The model.
    names : sequence of l str
        The names of the examples.
    examples : list or array of length l
        Examples of the kind that the model takes.
    groups : array of shape (l,) or None, default=None
        The groups of the examples, which a step `Recentre` uses and other models ignore.

    Returns
    -------
    list of Prediction
        One prediction per example.

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> view = ModelView(CovMetricClassifier(rule="mean", random_state=0).fit(data.X, data.y))
    >>> [one.name for one in predict(view, ["a", "b"], data.X[:2])]
    ['a', 'b']
    """
    with example_names(names):
        rows = view.predict_proba(examples, groups)
    predictions = []
    for name, row in zip(names, rows.tolist(), strict=True):
        best = int(np.argmax(row))
        predictions.append(
            Prediction(str(name), view.classes[best], row[best], dict(zip(view.classes, row, strict=True)))
        )
    return predictions


@dataclass(frozen=True)
class Evaluation:
    """Predictions for labelled examples.

    Attributes
    ----------
    predictions : list of Prediction
        The predictions.
    labels : list of str
        The true classes.
    classes : list of str
        All classes: those of the model, and those that only the labels have.
    """

    predictions: list[Prediction]
    labels: list[str]
    classes: list[str]

    @property
    def unknown(self) -> list[str]:
        """The classes of the labels that the model was not trained on. Their examples always count as errors."""
        trained = self.predictions[0].probabilities if self.predictions else {}
        return [name for name in self.classes if name not in trained]

    @cached_property
    def confusion(self) -> IntArray:
        """The number of examples by true class (rows) and predicted class (columns)."""
        index = {name: i for i, name in enumerate(self.classes)}
        matrix = np.zeros((len(index), len(index)), dtype=np.int64)
        for label, prediction in zip(self.labels, self.predictions, strict=True):
            matrix[index[label], index[prediction.predicted]] += 1
        return matrix

    @property
    def accuracy(self) -> float:
        """The fraction of correct predictions."""
        return float(np.trace(self.confusion) / len(self.labels))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 percent interval of Wilson for the accuracy, if the examples are independent."""
        return wilson_interval(int(np.trace(self.confusion)), len(self.labels))

    @property
    def errors(self) -> list[tuple[str, Prediction]]:
        """The true class and the prediction of each example that is predicted wrongly."""
        pairs = zip(self.labels, self.predictions, strict=True)
        return [(label, prediction) for label, prediction in pairs if label != prediction.predicted]

    def per_class(self) -> list[dict[str, Any]]:
        """Return the number of examples, recall and precision of each class.

        Returns
        -------
        list of dicts
            The entries `class`, `n`, `recall` and `precision`; None where nothing can be divided by.
        """
        hits, n_true, n_predicted = np.diag(self.confusion), self.confusion.sum(axis=1), self.confusion.sum(axis=0)
        return [
            {
                "class": name,
                "n": int(n_true[i]),
                "recall": float(hits[i] / n_true[i]) if n_true[i] else None,
                "precision": float(hits[i] / n_predicted[i]) if n_predicted[i] else None,
            }
            for i, name in enumerate(self.classes)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON.

        Returns
        -------
        dict
            The entries `accuracy`, `interval`, `confusion`, `per_class` and `predictions`.
        """
        rows = []
        for label, prediction in zip(self.labels, self.predictions, strict=True):
            row = asdict(prediction)
            del row["probabilities"]
            rows.append({"name": row.pop("name"), "label": label, **row})
        return {
            "accuracy": self.accuracy,
            "interval": list(self.interval),
            "confusion": {"classes": self.classes, "matrix": self.confusion.tolist()},
            "per_class": self.per_class(),
            "predictions": rows,
        }


def evaluate(view: ModelView, names: Any, examples: Any, labels: Any, groups: Any = None) -> Evaluation:
    """Classify labelled examples.

    Parameters
    ----------
    view : ModelView
        The model.
    names : sequence of l str
        The names of the examples.
    examples : list or array of length l
        Examples of the kind that the model takes.
    labels : sequence of length l
        Their classes. A class that the model does not know counts as an error.
    groups : array of shape (l,) or None, default=None
        The groups of the examples, which a step `Recentre` uses and other models ignore.

    Returns
    -------
    Evaluation
        The predictions, with the labels.

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n_classes=2, n_per_class=20, n=4)
    >>> view = ModelView(CovMetricClassifier(rule="mean", random_state=0).fit(data.X[::2], data.y[::2]))
    >>> evaluate(view, range(20), data.X[1::2], data.y[1::2]).confusion.sum()
    np.int64(20)
    """
    texts = [str(label) for label in np.asarray(labels).tolist()]
    unknown = sorted(set(texts) - set(view.classes))
    return Evaluation(predict(view, names, examples, groups), texts, [*view.classes, *unknown])


def wilson_interval(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """Return the interval of Wilson for a probability [1]_.

    Parameters
    ----------
    successes : int
        The number of successes.
    trials : int
        The number of independent trials, at least 1.
    z : float, default=1.96
        The quantile of the normal distribution; 1.96 for 95 percent.

    Returns
    -------
    tuple of two floats
        The ends of the interval, from 0 to 1.

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).

    Examples
    --------
    >>> [round(end, 3) for end in wilson_interval(8, 10)]
    [0.49, 0.943]
    """
    p, weight = successes / trials, z**2 / trials
    centre = (p + weight / 2) / (1 + weight)
    half = z * math.sqrt(p * (1 - p) / trials + weight / (4 * trials)) / (1 + weight)
    return max(0.0, centre - half), min(1.0, centre + half)

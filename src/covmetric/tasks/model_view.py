"""One interface to every kind of saved model: its inputs, its classes, its predictions and its nearest references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import euclidean_distances
from sklearn.pipeline import Pipeline

from covmetric._utils.validation import FloatArray
from covmetric.descriptors import Descriptor, ImageCovariances, feature_names
from covmetric.descriptors.channel_names import NamedChannels
from covmetric.estimators import CovMetricClassifier, CovMetricCV, CovMetricPairs, ImagePatchClassifier, Recentre
from covmetric.estimators.grid import RULE_PARAMS, prior_choices
from covmetric.learning.rules import describe_rule, note_on_probabilities
from covmetric.metric import LearnedMetric
from covmetric.metric.channel_names import names_in_pipeline
from covmetric.metric.pipeline_steps import without_empty_steps


@dataclass(frozen=True)
class Neighbor:
    """A training example that is near a query.

    Attributes
    ----------
    index : int
        Its index among the training examples.
    name : str
        Its name, or its number in words if the model has no names.
    label : str
        Its class.
    distance : float
        The learned distance to the query.
    thumbnail : array of uint8 of shape (rows, columns, 3) or None
        A small picture, if the model has one.
    """

    index: int
    name: str
    label: str
    distance: float
    thumbnail: npt.NDArray[np.uint8] | None = None


class ModelView:
    """A fitted model, seen through what the commands need.

    Parameters
    ----------
    model : object
        What `covmetric.load_model` returns.

    Attributes
    ----------
    model : object
        The model.
    classifier : CovMetricClassifier or None
        The classifier of matrices or vectors inside the model, or None if it has none.

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> view = ModelView(CovMetricClassifier(random_state=0).fit(data.X, data.y))
    >>> view.kind, view.classes, view.n_references
    ('matrices', ['0', '1'], 20)
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
        last = self._steps[-1]
        inner = last.classifier_ if isinstance(last, ImagePatchClassifier) else last
        self.classifier: CovMetricClassifier | None = inner if isinstance(inner, CovMetricClassifier) else None

    @property
    def _first(self) -> Any:
        """The first step that does something."""
        return next(iter(without_empty_steps(self._steps)), None)

    @property
    def last_step(self) -> Any:
        """The last step of the model, which predicts."""
        return self._steps[-1]

    @property
    def kind(self) -> str:
        """What the model takes: 'images', 'series', 'matrices' or 'vectors'."""
        first = self._first
        if isinstance(first, ImagePatchClassifier):
            return "images"
        if isinstance(first, Descriptor):
            return first.input_kind
        if isinstance(first, Recentre):
            return "vectors" if first.means_.ndim == 2 else "matrices"
        metric = self.metric
        if metric is not None and (hasattr(first, "metric_") or first is metric):
            return "vectors" if metric.embedding.takes_vectors else "matrices"
        if hasattr(first, "n_features_in_"):
            return "vectors"  # a scaler of scikit-learn
        return "series"  # pyRiemann's Covariances

    @property
    def metric(self) -> LearnedMetric | None:
        """The learned metric, or None if the model has none."""
        for step in self._steps:
            if isinstance(step, LearnedMetric):
                return step
            if hasattr(step, "metric_"):
                found: LearnedMetric = step.metric_
                return found
        return None

    @property
    def learner(self) -> Any:
        """The fitted learner of the metric, with its result and certificate; None if the model has none."""
        if self.classifier is not None:
            return self.classifier.learner_
        return next((step for step in self._steps if hasattr(step, "result_")), None)

    @property
    def steps(self) -> list[str]:
        """The classes of the steps, without those that do nothing."""
        return [type(step).__name__ for step in without_empty_steps(self._steps)]

    @property
    def classes(self) -> list[str]:
        """The classes that the model can predict, as text; none if it compares pairs."""
        if self.compares_pairs:
            return []
        return [str(c) for c in getattr(self._steps[-1], "classes_", [])]

    @property
    def compares_pairs(self) -> bool:
        """Whether the model takes pairs, which it calls similar or not."""
        return isinstance(self._steps[-1], CovMetricPairs)

    @property
    def how_to_measure(self) -> str:
        """How to measure the accuracy on new data, in a sentence. Only classifiers of examples have a command."""
        if self.compares_pairs:
            return "To measure the area under the ROC curve on new pairs, call score(pairs, y) of the model in Python."
        if self.classifier is None:
            return (
                "A metric does not classify: to measure an accuracy, put its learner into a CovMetricClassifier, and "
                "call score(X, y) in Python."
            )
        return "To measure the accuracy on new examples, run covmetric evaluate."

    @property
    def threshold(self) -> float | None:
        """The distance up to which a pair is similar; None if the model takes no pairs or has no threshold."""
        return getattr(self._steps[-1], "threshold_", None)

    @property
    def rule(self) -> dict[str, Any]:
        """The decision rule and its parameter."""
        if self.classifier is None:
            return {"rule": type(self._steps[-1]).__name__}
        last = self._steps[-1]
        extra = {"decision": last.decision} if isinstance(last, ImagePatchClassifier) else {}
        return {**self.classifier.rule_, **extra}

    @property
    def note_on_probabilities(self) -> str:
        """What to know about the probabilities, as a sentence, or ""."""
        return note_on_probabilities(self.rule)

    @property
    def labels(self) -> list[str]:
        """The labels of the training examples."""
        return [] if self.classifier is None else [str(label) for label in self._steps[-1].references_.labels]

    @property
    def n_references(self) -> int:
        """The number of training examples that the model holds."""
        return len(self.labels)

    @property
    def image_descriptor(self) -> ImageCovariances | None:
        """The descriptor of images, or None if the model takes other examples."""
        first = self._first
        descriptor = first.descriptor_ if isinstance(first, ImagePatchClassifier) else first
        return descriptor if isinstance(descriptor, ImageCovariances) else None

    @property
    def features(self) -> list[str]:
        """The names of the rows of a matrix: features of pixels, channels, or x0, x1 and so on, as in plots."""
        if self.metric is None:
            return [] if self.image_descriptor is None else feature_names(self.image_descriptor.features)
        embedding = self.metric.embedding
        return embedding.channel_names(names_in_pipeline(self._steps, embedding))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that define the model, as text and numbers.

        Returns
        -------
        dict
            Settings of the descriptor, the embedding, lambda, the chosen candidates and the rule.
        """
        found: dict[str, Any] = {"steps": " > ".join(self.steps)}
        learner = self.learner
        for name, value in getattr(learner, "best_params_", {}).items():
            found[name] = value
        metric = self.metric
        if metric is not None:
            found["phi"] = metric.embedding.name
        for name in ("lam", "pairs", "slack", "prior", "solver", "reg", "tol", "random_state"):
            if hasattr(learner, name) and name not in found:
                found[name] = getattr(learner, name)
        for step in self._steps:
            if isinstance(step, Recentre):
                found |= {"new_groups": step.new_groups, "recentre_reg": step.reg}
        if isinstance(learner, CovMetricCV) and "prior" not in learner.best_params_:
            found["prior"] = prior_choices(learner)[0]["prior"]  # what prior='auto' stands for
        if self.classifier is not None:
            found |= {name: value for name, value in self.rule.items() if name != "rules"}
        if "rules" in self.rule:
            found = {
                name: value for name, value in found.items() if name not in RULE_PARAMS
            }  # of one rule in the search
            found |= {"rule": "auto", "rules": describe_rule(self.rule)}
        plain = (str, int, float, bool, type(None))
        return {name: value if isinstance(value, plain) else str(value) for name, value in found.items()}

    def certificate(self) -> dict[str, Any] | None:
        """Return the certificate of the solve as numbers and words.

        Returns
        -------
        dict or None
            None if nothing was solved, because the metric is fixed.
        """
        result = getattr(self.learner, "result_", None)
        if result is None:
            return None
        certificate = result.certificate
        return {
            **asdict(certificate),
            "relative_gap": certificate.relative_gap,
            "bound": certificate.bound,
            "distance_factor": list(certificate.distance_factor),
            "status": result.status.name,
            "text": str(certificate),
        }

    @property
    def takes_sessions(self) -> bool:
        """Whether examples of a new group, such as a session, are recentred among themselves."""
        recentred = (step for step in self._steps if isinstance(step, Recentre))
        return any(step.new_groups != "raise" and step.groups_ != [None] for step in recentred)

    @property
    def recentres(self) -> bool:
        """Whether the model moves groups to their means, so that what it returns may depend on the other examples."""
        return any(isinstance(step, Recentre) for step in self._steps)

    def predict_proba(self, examples: Any, groups: Any = None) -> FloatArray:
        """Return the probability of each class for each example.

        Parameters
        ----------
        examples : list or array
            Examples of the kind that the model takes.
        groups : array of shape (l,) or None, default=None
            The groups of the examples, which a step `Recentre` uses and other models ignore.

        Returns
        -------
        array of shape (l, n_classes)
            The probabilities, in the order of `classes`.

        Raises
        ------
        ValueError
            If the model does not classify, or the examples are invalid.
        """
        self.check_classifies()
        if groups is None or not self.recentres:
            return np.asarray(self.model.predict_proba(examples))
        return np.asarray(self._steps[-1].predict_proba(self.matrices(examples, groups)))

    def check_classifies(self) -> None:
        """Raise ValueError if the model does not classify examples.

        Raises
        ------
        ValueError
            If the model is a metric, or compares pairs.
        """
        if not hasattr(self._steps[-1], "predict_proba"):
            raise ValueError(
                f"the model ends with a {self.steps[-1]}, which does not classify: fit one with covmetric fit"
                + (", or use this one in Python, with predict(pairs)" if self.compares_pairs else "")
            )

    def check_channels(self, path: Path, names: list[str] | None) -> None:
        """Raise ValueError if the series in a file have other channels than those of the training data.

        Parameters
        ----------
        path : Path
            The file, for the message.
        names : list of str or None
            The names of its channels; None if they are not known.

        Raises
        ------
        ValueError
            If they are known and differ.
        """
        if isinstance(self._first, NamedChannels):
            try:
                self._first.check_names(names)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from None

    def matrices(self, examples: Any, groups: Any = None) -> Any:
        """Return what the last step of the model takes.

        Parameters
        ----------
        examples : list or array
            Examples of the kind that the model takes.
        groups : array of shape (l,) or None, default=None
            The groups of the examples, which a step `Recentre` uses and other models ignore.

        Returns
        -------
        array of shape (l, n, n) or (l, d)
            Matrices or vectors.
        """
        if len(self._steps) == 1:
            return np.asarray(examples)
        if groups is None or not self.recentres:
            return self.model[:-1].transform(examples)
        for step in without_empty_steps(self._steps[:-1]):
            if isinstance(step, Recentre):
                examples = step.transform(examples, groups=groups if _uses_groups(step) else None)
            else:
                examples = step.transform(examples)
        return examples

    def neighbors(self, examples: Any, k: int, groups: Any = None) -> list[list[Neighbor]]:
        """Return the training examples that are nearest to each example.

        Parameters
        ----------
        examples : list or array
            Examples of the kind that the model takes.
        k : int
            The number of neighbours.
        groups : array of shape (l,) or None, default=None
            The groups of the examples, which a step `Recentre` uses and other models ignore.

        Returns
        -------
        list of lists of Neighbor
            For each example, the k nearest training examples, nearest first.

        Raises
        ------
        ValueError
            If the model holds no training examples, or fewer than k.
        """
        last = self._steps[-1]
        if self.classifier is None:
            raise ValueError(f"the model ends with a {self.steps[-1]}, which holds no examples to search")
        inputs = examples if isinstance(last, ImagePatchClassifier) else self.matrices(examples, groups)
        distances, indices = last.kneighbors(inputs, k)
        return self._as_neighbors(distances, indices)

    def neighbors_of_references(self, indices: Sequence[int], k: int) -> list[list[Neighbor]]:
        """Return the training examples that are nearest to other training examples.

        Parameters
        ----------
        indices : sequence of int
            The indices of training examples.
        k : int
            The number of neighbours, which is reduced if there are fewer other examples.

        Returns
        -------
        list of lists of Neighbor
            For each index, the nearest other training examples, nearest first.
        """
        if self.classifier is None:
            raise ValueError(f"the model ends with a {self.steps[-1]}, which holds no examples to search")
        last = self._steps[-1]
        if isinstance(last, ImagePatchClassifier):
            rows = last.reference_distances(indices)
        else:
            vectors = self.classifier.metric_.map(self.classifier.references_.embedded)
            rows = euclidean_distances(vectors[list(indices)], vectors)
        rows[np.arange(len(rows)), list(indices)] = np.inf
        order = np.argsort(rows, axis=1, kind="stable")[:, : min(k, self.n_references - 1)]
        return self._as_neighbors(np.take_along_axis(rows, order, axis=1), order)

    def _as_neighbors(self, distances: FloatArray, indices: npt.NDArray[Any]) -> list[list[Neighbor]]:
        """Add names, labels and thumbnails to the result of a search."""
        references, labels = self._steps[-1].references_, self.labels
        names, thumbnails = references.shown_names, references.thumbnails
        return [
            [
                Neighbor(
                    i,
                    names[i],
                    labels[i],
                    distance,
                    None if thumbnails is None else thumbnails[i],
                )
                for distance, i in zip(row, near, strict=True)
            ]
            for row, near in zip(distances.tolist(), indices.tolist(), strict=True)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return what the model is, for JSON.

        Returns
        -------
        dict
            The entries `kind`, `steps`, `rule`, `n_references`, `classes` and `features`.
        """
        return {
            "kind": self.kind,
            "steps": self.steps,
            "rule": self.rule,
            "n_references": self.n_references,
            "classes": self.classes,
            "features": self.features,
        }


def _uses_groups(step: Recentre) -> bool:
    """Return whether a step can use groups: not if it was fitted without any and refuses new ones."""
    return step.new_groups != "raise" or step.groups_ != [None]

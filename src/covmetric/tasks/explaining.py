"""Why a model decides about an example as it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric.estimators import ImagePatchClassifier
from covmetric.tasks.model_view import ModelView, Neighbor


@dataclass(frozen=True)
class QueryExplanation:
    """The explanation of a decision.

    Attributes
    ----------
    name : str
        The name of the example.
    decision : DecisionExplanation
        What decided, and what separates the example from the class that came second.
    region : list of int or None
        For an image with several regions: the region [top, left, height, width] that `decision` is about, which is the
        one with the highest probability of the class of the image. None otherwise.
    label : str
        The predicted class of the example.
    images : list of Neighbor
        For an image with several regions: the nearest training images. Empty otherwise.
    """

    name: str
    decision: Any
    label: str
    region: list[int] | None = None
    images: tuple[Neighbor, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the explanation for JSON.

        Returns
        -------
        dict
            The entries `query`, `label`, `region`, `images` and `decision`.
        """
        near = [{"name": one.name, "label": one.label, "distance": one.distance} for one in self.images]
        return {
            "query": self.name,
            "label": self.label,
            "region": self.region,
            "images": near,
            "decision": self.decision.to_dict(),
        }

    def __str__(self) -> str:
        if self.region is None:
            return f"{self.name}\n{self.decision}"
        rows = [f"{one.distance:>10.6g}  {one.label}  {one.name}" for one in self.images]
        return "\n".join(
            [
                f"{self.name}: class {self.label}",
                "nearest training images (distance between the sets of regions, class, name)",
                *rows,
                f"the region with the highest probability of {self.label}, [top, left, height, width] = {self.region}:",
                str(self.decision),
            ]
        )


def explain(view: ModelView, name: str, example: Any, n_neighbors: int = 5, matrix: Any = None) -> QueryExplanation:
    """Explain the decision about one example.

    Parameters
    ----------
    view : ModelView
        The model.
    name : str
        The name of the example.
    example : path, array of shape (channels, times), or array of shape (n, n)
        An example of the kind that the model takes.
    n_neighbors : int, default=5
        The number of nearest training examples to list, which is reduced if there are fewer.
    matrix : array of shape (n, n) or None, default=None
        What the last step of the model takes for this example, if it depends on other examples (`Recentre`).

    Returns
    -------
    QueryExplanation
        The explanation. It prints as text.

    Raises
    ------
    ValueError
        If the model has no classifier of covmetric.

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> view = ModelView(CovMetricClassifier(random_state=0).fit(data.X, data.y))
    >>> explain(view, "first", data.X[0]).decision.decided_by
    'references'
    """
    if view.classifier is None:
        raise ValueError(f"the model ends with a {view.steps[-1]}, whose decisions covmetric cannot explain")
    k = min(n_neighbors, view.n_references)
    patches = view.model if isinstance(view.model, ImagePatchClassifier) else None
    if patches is None:
        given = view.matrices([example])[0] if matrix is None else matrix
        decision = view.classifier.explain(given, view.features, k)
        return QueryExplanation(name, decision, str(decision.label))
    described = patches.describe([example])
    label = view.classes[int(view.predict_proba([example])[0].argmax())]
    probabilities = view.classifier.predict_proba(described.X)[:, view.classes.index(label)]
    chosen = int(np.argmax(probabilities))
    decision = view.classifier.explain(described.X[chosen], view.features, k)
    near = view.neighbors([example], k)[0]
    return QueryExplanation(name, decision, label, described.boxes[chosen].tolist(), tuple(near))

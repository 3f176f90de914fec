"""A model card: what a model is, what it was learned from, what it proves, and what it does not."""

from __future__ import annotations

from collections import Counter
from typing import Any

from covmetric.slacks import SLACKS
from covmetric.tasks.measured import measured_accuracies
from covmetric.tasks.model_view import ModelView

_TAKES = {
    "images": "images (files that Pillow reads)",
    "series": "series of shape (channels, times)",
    "matrices": "symmetric or Hermitian matrices of shape (n, n)",
    "vectors": "vectors of shape (d,)",
}


def summary(view: ModelView) -> dict[str, Any]:
    """Return what a model holds.

    Parameters
    ----------
    view : ModelView
        The model.

    Returns
    -------
    dict
        The entries of `ModelView.as_dict`, `class_counts`, `parameters`, `certificate`, `score` (the accuracy of what
        predicts, in cross-validation on the training data, or None), `patch_score` (the same of single patches),
        `accuracy` (both in words) and, for a model of pairs, `threshold`.

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> summary(ModelView(CovMetricClassifier(random_state=0).fit(data.X, data.y)))["class_counts"]
    {'0': 10, '1': 10}
    """
    counts = Counter(view.labels)
    found = measured_accuracies(view)
    return {
        **view.as_dict(),
        "class_counts": {name: counts[name] for name in view.classes},
        "parameters": view.parameters(),
        "score": None if found.whole is None else found.whole.accuracy,
        "patch_score": None if found.patches is None else found.patches.accuracy,
        "accuracy": found.sentences(),
        "certificate": view.certificate(),
        **({"threshold": view.threshold} if view.compares_pairs else {}),
    }


def setting_in_words(name: str, value: Any) -> str:
    """Return the value of a setting as text for people.

    Parameters
    ----------
    name : str
        The name of the setting, from `ModelView.parameters`.
    value : object
        Its value.

    Returns
    -------
    str
        The value, with the meaning of an abbreviation.

    Examples
    --------
    >>> setting_in_words("slack", "is"), setting_in_words("lam", 0.01)
    ('is (Itakura-Saito divergence)', '0.01')
    """
    return f"{value} ({SLACKS[value].title})" if name == "slack" and value in SLACKS else str(value)


def pairs_in_words(view: ModelView) -> str:
    """Return what a model of pairs decides.

    Parameters
    ----------
    view : ModelView
        A model that compares pairs.

    Returns
    -------
    str
        A sentence.
    """
    if view.threshold is None:
        return "It compares pairs of examples, and has no threshold: set_threshold or calibrate_threshold sets one."
    return f"It calls a pair of examples similar if their distance is at most {view.threshold:.6g}, the threshold."


def model_card(view: ModelView, name: str) -> str:
    """Return a model card in Markdown.

    Parameters
    ----------
    view : ModelView
        The model.
    name : str
        The name of the model.

    Returns
    -------
    str
        The card.

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> print(model_card(ModelView(CovMetricClassifier(random_state=0).fit(data.X, data.y)), "spd")[:17])
    # Model card: spd
    """
    facts = summary(view)
    parts = [
        f"# Model card: {name}",
        _use(view),
        _data(view, facts),
        _quality(view, facts),
        _certificate(facts),
        _settings(facts),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _use(view: ModelView) -> str:
    if view.compares_pairs:
        return f"## Use\n\nThe model takes pairs of {_TAKES.get(view.kind, view.kind)}. {pairs_in_words(view)}"
    classes = f" It tells {len(view.classes)} classes apart: {', '.join(view.classes)}." if view.classes else ""
    return (
        f"## Use\n\nThe model takes {_TAKES.get(view.kind, view.kind)}.{classes} A new example that belongs to none of "
        "these classes is still assigned to one of them; its distance to the nearest training examples (`covmetric "
        "search`) can reveal it."
    )


def _data(view: ModelView, facts: dict[str, Any]) -> str:
    rows = "\n".join(f"| {name} | {count} |" for name, count in facts["class_counts"].items())
    if not view.n_references:
        return ""
    return (
        f"## Training data\n\n{view.n_references} examples, which the model file holds as references.\n\n"
        f"| class | examples |\n|---|---|\n{rows}"
    )


def _quality(view: ModelView, facts: dict[str, Any]) -> str:
    measured = " ".join(facts["accuracy"])
    return f"## Accuracy\n\n{measured} {view.how_to_measure}"


def _certificate(facts: dict[str, Any]) -> str:
    certificate = facts["certificate"]
    if certificate is None:
        text = "The metric is fixed: nothing was optimised, so there is nothing to certify."
    else:
        text = (
            f"{certificate['status']}: {certificate['text']}.\n\nThis is a statement about the optimiser. It proves "
            "nothing about the accuracy, about new data, or about the choice of the embedding, the pairs or lambda."
        )
    return f"## Certificate\n\n{text}"


def _settings(facts: dict[str, Any]) -> str:
    rows = "\n".join(
        f"| {name} | {setting_in_words(name, value)} |"
        for name, value in facts["parameters"].items()
        if value is not None
    )
    features = f"Rows of a matrix, or entries of a vector: {', '.join(facts['features'])}."
    return f"## Settings\n\n| setting | value |\n|---|---|\n{rows}\n\n{features}"

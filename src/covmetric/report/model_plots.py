"""The plots of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.turns import choose_in_turn
from covmetric.metric.interpretation import compute_importance
from covmetric.plotting import (
    ConvergenceDisplay,
    EmbeddingDisplay,
    ImportanceDisplay,
    MetricMatrixDisplay,
    PairDistancesDisplay,
    PatternsDisplay,
    SearchDisplay,
)
from covmetric.plotting.figures import new_figure
from covmetric.plotting.fitted import find_learner, find_metric, find_names
from covmetric.report.content import Plot
from covmetric.report.neighbors import LabelledExamples
from covmetric.report.svg import inline_svg

# A point of a scatter plot takes 100 bytes.
_MAX_POINTS = 500


def model_plots(model: Any, references: LabelledExamples | None) -> list[Plot]:
    """Draw what a model has learned.

    Parameters
    ----------
    model : fitted estimator of covmetric, or Pipeline with one
        The model.
    references : LabelledExamples or None
        Its training examples, if it holds them.

    Returns
    -------
    list of Plot
        The plots that make sense for this model.

    Examples
    --------
    >>> from covmetric import CovMetric
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> [plot.title for plot in model_plots(CovMetric(random_state=0).fit(data.X, data.y), None)]
    ['The matrix W', 'Patterns', 'Importance of the channels', 'Convergence']
    """
    learner, _ = find_learner(model)
    plots = [] if references is None else [_embedding(model, references), _pairs(model, references)]
    if hasattr(learner, "cv_results_"):
        plots.append(_search(model))
    plots += [_matrix(model), _patterns(model), _importance(model, references)]
    if getattr(learner, "result_", None) is not None:
        plots.append(_convergence(model))
    return plots


def _embedding(model: Any, references: LabelledExamples) -> Plot:
    chosen = choose_in_turn(references.labels, _MAX_POINTS)
    embedded, labels = references.embedded[chosen], np.asarray(references.labels)[chosen]
    figure, (axes,) = new_figure(8.6, 4.0, 1)
    display = EmbeddingDisplay(embedded.reshape(len(embedded), -1), find_metric(model).map(embedded), labels)
    display.plot(axes)
    what, total = references.what, len(references.labels)
    chosen_ones = f"{len(chosen)} of the {total} training {what}, in turn by class"
    some = chosen_ones if len(chosen) < total else f"The training {what}"
    caption = (
        f"{some}, in the two principal components with the largest variance, before and after learning. The metric was "
        f"learned from these {what}, so new ones will mix more."
    )
    return Plot(f"{what.capitalize()} before and after learning", inline_svg(figure, "embedding"), caption, wide=True)


def _pairs(model: Any, references: LabelledExamples) -> Plot:
    figure, (axes,) = new_figure(6.0, 4.4, 1)
    PairDistancesDisplay.from_embedded(model, references.embedded, references.labels, ax=axes)
    caption = (
        f"Distances of all pairs of training {references.what} of the same class (blue) and of different classes "
        "(orange, hatched). The vertical lines are the bounds that the learner aims at; it learns from some of the "
        "pairs."
    )
    return Plot("Distances of pairs", inline_svg(figure, "pairs"), caption)


def _search(model: Any) -> Plot:
    figure, (axes,) = new_figure(6.4, 3.8, 1)
    SearchDisplay.from_estimator(model, ax=axes)
    caption = (
        "Mean accuracy in cross-validation on the training data, with standard errors. The star is the choice. It need "
        "not be the highest point: among candidates that count as equally good, the preferred one is chosen."
    )
    return Plot("The search", inline_svg(figure, "search"), caption)


def _matrix(model: Any) -> Plot:
    figure, (axes,) = new_figure(6.2, 5.0, 1)
    MetricMatrixDisplay.from_estimator(model, ax=axes)
    caption = "The learned matrix. Large diagonal entries are rows that count much in the distance."
    return Plot("The matrix W", inline_svg(figure, "matrix"), caption)


def _patterns(model: Any) -> Plot:
    figure, (axes,) = new_figure(6.2, 5.0, 1)
    display = PatternsDisplay.from_estimator(model, ax=axes)
    shares = ", ".join(f"{100 * share:.0f}" for share in display.patterns.shares[: display.n_patterns])
    caption = (
        f"The directions with the largest weights in the distance ({shares} percent of the trace of W), as they appear "
        "in the channels or features."
    )
    return Plot("Patterns", inline_svg(figure, "patterns"), caption)


def _importance(model: Any, references: LabelledExamples | None) -> Plot:
    metric = find_metric(model)
    count = metric.embedding.shape_in_[0]
    figure, (axes,) = new_figure(5.6, 1.2 + 0.24 * min(count, 24), 1)
    if references is None or len(references.labels) < 2:
        ImportanceDisplay.from_estimator(model, ax=axes)
        caption = "The weight of each channel or feature in W, in percent of its trace."
    else:
        importance = compute_importance(metric.embedding, metric.W, references.embedded)
        ImportanceDisplay(importance, find_names(model)).plot(axes)
        caption = (
            f"The part of each channel or feature in the mean squared distance between training {references.what}, in "
            "percent. After recentring or whitening, channels are directions near the recorded ones."
        )
    return Plot("Importance of the channels", inline_svg(figure, "importance"), caption)


def _convergence(model: Any) -> Plot:
    figure, (axes,) = new_figure(5.6, 3.8, 1)
    ConvergenceDisplay.from_estimator(model, ax=axes)
    caption = (
        "The certified gap between the objective and its lower bound, from the start to the end of the solve. The "
        "dashed line is the tolerance."
    )
    return Plot("Convergence", inline_svg(figure, "convergence"), caption)

"""The page of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from covmetric.estimators import ImagePatchClassifier
from covmetric.estimators.grid import distance_scorer
from covmetric.experiments.estimates import Estimate, mean_and_standard_error
from covmetric.plotting.fitted import find_learner, find_metric, find_names
from covmetric.report.certificate import certificate_section
from covmetric.report.content import Page, Paragraphs, Part, Plots, Section, Table
from covmetric.report.data import data_section
from covmetric.report.model_plots import model_plots
from covmetric.report.neighbors import LabelledExamples, neighbors_part, same_class_rates
from covmetric.report.origin import made_by, origin_sections
from covmetric.tasks import Accuracies, Measured, ModelView, measured_accuracies, package_versions, pairs_in_words


def model_page(model: Any, name: str = "model", command: str | None = None) -> Page:
    """Return the page of a fitted model.

    Parameters
    ----------
    model : fitted estimator of covmetric, LearnedMetric, or Pipeline with one
        The model, for example from `load_model`.
    name : str, default="model"
        Its name.
    command : str or None, default=None
        What makes the page, for its last section. None means a call of this function and of `write_page`.

    Returns
    -------
    Page
        The page.

    Raises
    ------
    ValueError
        If the model has no metric of covmetric.

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> page = model_page(CovMetricClassifier(random_state=0).fit(data.X, data.y), "spd")
    >>> [section.title for section in page.sections]
    ['Accuracy', 'Neighbours', 'What was learned', 'Data', 'Certificate', 'Parameters', 'How this page was made']
    """
    view, learner = ModelView(model), find_learner(model)[0]
    references = find_references(model)
    measured = measured_accuracies(view)
    sections = [Section("Accuracy", _accuracy(learner, model, view, references, measured))]
    if references is not None and len(references.labels) > 1:
        sections.append(Section("Neighbours", [neighbors_part(find_metric(model), references)]))
    sections += [
        Section("What was learned", [Plots(model_plots(model, references))]),
        data_section({}, _facts(model, view, references)),
        certificate_section(view.certificate()),
        *origin_sections(
            view.parameters(),
            package_versions(),
            command or f"write_page(model_page(model, {name!r}), 'report.html')",
            title="How this page was made",
        ),
    ]
    return Page(f"Model {name}", _headline(model, view, references, measured, _score(learner)), sections, made_by())


def find_references(model: Any) -> LabelledExamples | None:
    """Return the training examples that a model holds, or their regions if it describes images by regions.

    Parameters
    ----------
    model : object
        The model.

    Returns
    -------
    LabelledExamples or None
        None if the model holds none.

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> find_references(CovMetricClassifier(random_state=0).fit([[0.0], [1.0], [7.0], [9.0]], [0, 0, 1, 1])).labels
    ['0', '0', '1', '1']
    """
    last = model[-1] if isinstance(model, Pipeline) else model
    classifier = getattr(last, "classifier_", last)
    references = getattr(classifier, "references_", None)
    what = "regions" if isinstance(last, ImagePatchClassifier) else "examples"
    return None if references is None else LabelledExamples.of_references(references, what)


def _score_name(learner: Any) -> str:
    """Return what a search scored: the accuracy of a rule, or a score of distances."""
    scorer = distance_scorer(learner)
    return "accuracy" if scorer is None else scorer.name.replace("_", " ")


def _score(learner: Any) -> tuple[str, Estimate, Estimate | None] | None:
    """Return what a search scored, the score of its choice, and the difference to W = I with the same Phi and rule."""
    results = getattr(learner, "cv_results_", None)
    if results is None:
        return None
    folds = np.stack([v for k, v in results.items() if k.startswith("split") and k.endswith("_test_score")], axis=1)
    chosen = results["params"][learner.best_index_]
    fixed = [i for i, one in enumerate(results["params"]) if one["lam"] == np.inf and _same_but_metric(one, chosen)]
    name, score = _score_name(learner), mean_and_standard_error((100 * folds[learner.best_index_]).tolist())
    if not fixed or chosen["lam"] == np.inf:
        return name, score, None
    differences = 100 * (folds[learner.best_index_] - folds[fixed[0]])
    return name, score, None if np.isnan(differences).any() else mean_and_standard_error(differences.tolist())


def _same_but_metric(one: Mapping[str, Any], chosen: Mapping[str, Any]) -> bool:
    """Return whether two candidates differ in lambda, pairs and slack only."""
    names = (set(one) | set(chosen)) - {"lam", "pairs", "slack"}
    return all(str(one.get(name)) == str(chosen.get(name)) for name in names)


def _headline(
    model: Any,
    view: ModelView,
    references: LabelledExamples | None,
    measured: Accuracies,
    score: tuple[str, Estimate, Estimate | None] | None,
) -> str:
    classes = ""
    if references is not None:
        classes = f" for {len(set(view.labels))} classes from {view.n_references} examples"
    text = f"A metric was learned{classes} (embedding {find_metric(model).embedding.name})."
    if measured.whole is not None:
        votes = " by the vote of their patches" if measured.patches is not None else ""
        text += (
            f" Outside the training folds, in cross-validation on the training data, the accuracy of {measured.of}"
            f"{votes} is {measured.whole.text(measured.of)}."
        )
    if score is None and measured.whole is None:
        return f"{text} No accuracy was measured while it was learned. {view.how_to_measure}"
    if score is not None:
        name, value, difference = score
        rule = " With a single rule, the" if name == "accuracy" else " The"
        text += f"{rule} metric has {value.text()} percent {name}"
        if difference is not None:
            text += f", a difference of {difference.text(sign=True)} points to the same settings without learning"
        text += "."
        if name == "accuracy" and measured.whole is not None and _differ_little(measured.whole, value):
            text += " The two accuracies differ by less than a standard error, so that neither is clearly higher."
    return text + f" These numbers are optimistic, because {measured.chosen} were chosen on the same folds."


def _differ_little(one: Measured, other: Estimate) -> bool:
    """Return whether two accuracies differ, as printed, by less than the larger one of their standard errors."""
    errors = [100 * (one.standard_error or 0.0), other.standard_error or 0.0]
    return 0.05 <= abs(100 * one.accuracy - other.mean) < max(errors)


def _accuracy(
    learner: Any, model: Any, view: ModelView, references: LabelledExamples | None, measured: Accuracies
) -> list[Part]:
    """Return what is known about the accuracy, and the table of the best candidates with paired differences."""
    parts: list[Part] = [Paragraphs([" ".join(measured.sentences())])]
    if references is not None and len(references.labels) > 5:
        what = references.what
        before, after = same_class_rates(find_metric(model), references)
        text = (
            f"Of the five training {what} that are nearest to a training {what.removesuffix('s')}, {100 * after:.1f} "
            f"percent have its class; before learning, {100 * before:.1f} percent. The metric was learned from these "
            f"{what}, so that the first number is optimistic."
        )
        parts.append(Paragraphs([text]))
    results = getattr(learner, "cv_results_", None)
    if results is not None:
        parts.append(_candidates(results, learner.best_index_, _score_name(learner), learner.n_std_errors))
    if view.compares_pairs:
        return [*parts, Paragraphs([pairs_in_words(view)])]
    return [*parts, Paragraphs([view.how_to_measure])]


def _candidates(results: Mapping[str, Any], best: int, score: str, n_std_errors: float, count: int = 10) -> Table:
    """Return the candidates with the highest scores, and their differences to the chosen one, paired by fold."""
    folds = np.stack([v for k, v in results.items() if k.startswith("split") and k.endswith("_test_score")], axis=1)
    mean = np.asarray(results["mean_test_score"], dtype=np.float64)
    order = [int(i) for i in np.argsort(-np.nan_to_num(mean, nan=-1.0), kind="stable")[:count] if not np.isnan(mean[i])]
    rows = []
    for i in dict.fromkeys([best, *order]):
        accuracy = mean_and_standard_error((100 * folds[i]).tolist())
        difference = mean_and_standard_error((100 * (folds[i] - folds[best])).tolist())
        settings = ", ".join(
            f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}"
            for k, v in results["params"][i].items()
            if v is not None  # such as C of a rule that has none
        )
        rows.append([settings, accuracy.text(), "chosen" if i == best else difference.text(sign=True)])
    note = (
        "In percent, mean and standard error over the folds. Differences to the chosen candidate are paired by fold. "
        "Folds share training examples, so that the standard errors are too small."
    )
    if np.nanmax(mean) > mean[best]:
        note += (
            " The best score of many candidates is partly luck: the chosen candidate is the first one, in the order of "
            f"preference, whose mean is at most {n_std_errors:g} standard errors of the differences (pooled over the "
            "candidates) below the best."
        )
    caption = f"The chosen candidate and the best {len(order)} of {len(mean)} candidates"
    return Table(caption, ("candidate", score, "difference to the chosen one"), rows, note)


def _facts(model: Any, view: ModelView, references: LabelledExamples | None) -> list[tuple[str, str]]:
    metric = find_metric(model)
    names = find_names(model)
    facts = [("rows of a matrix" if len(metric.embedding.shape_in_) == 2 else "entries of a vector", str(len(names)))]
    if names != [f"x{i}" for i in range(len(names))]:
        facts.append(("names of the rows", ", ".join(names)))
    if references is not None:
        counts = Counter(view.labels)
        facts.append(("training examples", str(view.n_references)))
        if references.what == "regions":
            facts.append(("regions", str(len(references.labels))))
        facts.append(("examples by class", ", ".join(f"{label}: {count}" for label, count in sorted(counts.items()))))
    return facts

"""What all displays have in common, as in scikit-learn: construction, `plot(ax=None)`, `ax_`, `figure_`."""

from __future__ import annotations

import inspect
import io
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import covmetric.plotting
from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, make_paper_problem, solve
from covmetric.datasets import make_spd_classes, make_textures
from covmetric.descriptors import ImageCovariances
from covmetric.plotting import (
    ConfusionDisplay,
    ConvergenceDisplay,
    EmbeddingDisplay,
    ImportanceDisplay,
    MetricMatrixDisplay,
    PairDistancesDisplay,
    PatternsDisplay,
    RetrievalDisplay,
    SearchDisplay,
    pair_distances,
)
from covmetric.plotting.figures import new_figure
from tests.model_file.pipelines import images, named_pipeline, patch_classifier

DATA = make_spd_classes(n_classes=3, n_per_class=12, n=4, random_state=0)
NAMES = np.array(["rest", "left", "right"])[DATA.y]


@pytest.fixture(scope="module")
def classifier():
    search = CovMetricCV(["log", "sqrt"], lambdas=[1e-1, 1e-2], random_state=0)
    return CovMetricClassifier(search).fit(DATA.X, NAMES)


#: How each display is made from a fitted classifier.
CALLS = {
    ConfusionDisplay: lambda clf, **kw: ConfusionDisplay.from_estimator(clf, DATA.X, NAMES, **kw),
    ConvergenceDisplay: lambda clf, **kw: ConvergenceDisplay.from_estimator(clf, **kw),
    EmbeddingDisplay: lambda clf, **kw: EmbeddingDisplay.from_estimator(clf, DATA.X, NAMES, **kw),
    ImportanceDisplay: lambda clf, **kw: ImportanceDisplay.from_estimator(clf, DATA.X, **kw),
    MetricMatrixDisplay: lambda clf, **kw: MetricMatrixDisplay.from_estimator(clf, **kw),
    PairDistancesDisplay: lambda clf, **kw: PairDistancesDisplay.from_estimator(clf, DATA.X, NAMES, **kw),
    PatternsDisplay: lambda clf, **kw: PatternsDisplay.from_estimator(clf, **kw),
    RetrievalDisplay: lambda clf, **kw: RetrievalDisplay.from_estimator(clf, DATA.X[:2], DATA.X[:2], DATA.X, **kw),
    SearchDisplay: lambda clf, **kw: SearchDisplay.from_estimator(clf, **kw),
}
DISPLAYS = [getattr(covmetric.plotting, name) for name in covmetric.plotting.__all__ if name.endswith("Display")]


def test_every_display_is_tested():
    assert set(DISPLAYS) == set(CALLS)


@pytest.mark.parametrize("display", DISPLAYS)
def test_display_makes_a_figure_of_pyplot_and_draws_again_on_other_axes(display, classifier):
    drawn = CALLS[display](classifier)
    assert isinstance(drawn, display) and drawn.figure_ in map(plt.figure, plt.get_fignums())
    assert all(ax.figure is drawn.figure_ for ax in np.ravel(drawn.ax_))
    figure, (axes,) = new_figure(6, 5, 1)
    before = drawn.figure_
    assert drawn.plot(axes) is drawn  # like scikit-learn's
    assert drawn.figure_ is figure is not before
    assert all(ax.figure is figure for ax in np.ravel(drawn.ax_))
    figure.draw_without_rendering()


@pytest.mark.parametrize("display", DISPLAYS)
def test_display_is_drawn_on_given_axes_without_a_new_figure(display, classifier):
    figure, (axes,) = new_figure(6, 5, 1)
    assert CALLS[display](classifier, ax=axes).figure_ is figure
    assert plt.get_fignums() == []


@pytest.mark.parametrize("display", DISPLAYS)
def test_display_has_a_constructor_from_fitted_objects_and_a_plain_one(display):
    makers = [name for name in ("from_estimator", "from_predictions", "from_result") if hasattr(display, name)]
    assert makers
    for name in makers:
        assert "ax" in inspect.signature(getattr(display, name)).parameters
    assert next(iter(inspect.signature(display.plot).parameters.values())).name == "self"
    assert inspect.signature(display.plot).parameters["ax"].default is None


@pytest.mark.parametrize("display", [d for d in DISPLAYS if d not in (ConfusionDisplay, RetrievalDisplay)])
def test_estimator_that_is_not_fitted_gets_a_clear_message(display):
    with pytest.raises(ValueError, match="CovMetricClassifier, which has no metric_: call fit first"):
        CALLS[display](CovMetricClassifier())


def test_matplotlib_is_imported_when_a_display_is_drawn():
    code = "import sys, covmetric.plotting; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("display", DISPLAYS)
def test_missing_matplotlib_gets_a_clear_message(display, classifier, monkeypatch):
    drawn = CALLS[display](classifier)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=rf"{display.__name__}.plot needs the package matplotlib: pip install"):
        drawn.plot()


def texts(labels):
    return [label.get_text() for label in labels]


def test_convergence_shows_the_finite_gaps_and_the_tolerance():
    result = solve(make_paper_problem(n=10, K=300, lam=1e-3, seed=0), "dykstra", tol=1e-5)
    display = ConvergenceDisplay.from_result(result, x="projections")
    line, *points, tolerance = display.ax_.lines
    assert len(result.history.gap) >= 3
    np.testing.assert_array_equal(line.get_xdata(), result.history.projections)
    np.testing.assert_allclose(line.get_ydata(), result.history.gap)
    assert sum(len(part.get_xdata()) for part in points) == len(result.history.gap)
    assert tolerance.get_ydata()[0] == 1e-5 * max(1.0, abs(result.certificate.primal))
    assert display.ax_.get_yscale() == "log" and display.ax_.get_xlabel() == "projections onto a half-space"
    assert texts(display.ax_.get_legend().get_texts()) == ["dykstra", "tolerance"]
    with pytest.raises(ValueError, match="x must be one of 'n_iter', 'projections', 'seconds', got 'epochs'"):
        display.plot(x="epochs")


def test_convergence_of_a_fixed_metric_has_nothing_to_show():
    learner = CovMetric("log", lam=np.inf).fit(DATA.X, DATA.y)
    with pytest.raises(ValueError, match="its metric is fixed"):
        ConvergenceDisplay.from_estimator(learner)


def test_matrix_has_the_names_of_the_channels(classifier):
    display = MetricMatrixDisplay.from_estimator(classifier, names=["Fz", "C3", "C4", "Pz"])
    np.testing.assert_array_equal(display.image_.get_array(), classifier.metric_.W)
    assert texts(display.ax_.get_xticklabels()) == texts(display.ax_.get_yticklabels()) == ["Fz", "C3", "C4", "Pz"]
    low, high = display.image_.get_clim()
    assert -low == high == np.abs(classifier.metric_.W).max()  # white is zero
    with pytest.raises(ValueError, match="names must have one entry per channel, 4; got 2"):
        MetricMatrixDisplay.from_estimator(classifier, names=["C3", "C4"])


@pytest.mark.parametrize(
    ("phi", "rows", "first"), [("veclog", 10, "x0:x0"), ("tangent-pca", 10, "component 0"), ("vector", 4, "x0")]
)
def test_rows_of_the_matrix_are_named_by_the_embedding(phi, rows, first):
    X = DATA.X[:, 0] if phi == "vector" else DATA.X
    display = MetricMatrixDisplay.from_estimator(CovMetric(phi, random_state=0).fit(X, DATA.y))
    assert len(display.names) == rows and display.names[0] == first


def test_labels_of_many_rows_do_not_touch():
    display = MetricMatrixDisplay(np.eye(300), [f"x{i}" for i in range(300)]).plot()
    display.figure_.draw_without_rendering()
    boxes = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    assert 10 < len(boxes) < 100
    assert all(upper.y0 >= lower.y1 - 0.5 for upper, lower in pairwise(boxes))


def test_patterns_are_scaled_to_their_largest_entry(classifier):
    display = PatternsDisplay.from_estimator(classifier, n_patterns=2, names=["Fz", "C3", "C4", "Pz"])
    expected = classifier.metric_.patterns().patterns[:2]
    expected = expected / np.abs(expected).max(axis=1, keepdims=True)
    np.testing.assert_allclose(display.ax_.images[0].get_array(), expected.T)
    assert texts(display.ax_.get_yticklabels()) == ["Fz", "C3", "C4", "Pz"]
    assert texts(display.ax_.get_xticklabels())[0].startswith("pattern 0")


def test_importance_is_sorted(classifier):
    display = ImportanceDisplay.from_estimator(classifier, DATA.X, names=["Fz", "C3", "C4", "Pz"])
    importance = classifier.metric_.importance(DATA.X)
    widths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_allclose(widths, 100 * np.sort(importance)[::-1])
    assert texts(display.ax_.get_yticklabels())[0] == ["Fz", "C3", "C4", "Pz"][int(importance.argmax())]


def test_embedding_keeps_the_sides_of_the_points(classifier):
    display = EmbeddingDisplay.from_estimator(classifier, DATA.X, NAMES)
    before, after = (np.concatenate([part.get_offsets() for part in ax.collections]) for ax in display.ax_)
    assert ((before * after).sum(axis=0) >= 0.0).all()
    np.testing.assert_allclose(display.after, classifier.metric_.transform(DATA.X))
    assert texts(display.ax_[1].get_legend().get_texts()) == ["left", "rest", "right"]
    with pytest.raises(ValueError, match="y must have one class per example"):
        EmbeddingDisplay.from_estimator(classifier, DATA.X, NAMES[:-1])


def test_pair_distances_are_the_distances_of_all_pairs(classifier):
    display = PairDistancesDisplay.from_estimator(classifier, DATA.X, NAMES)
    first, second = np.triu_indices(len(NAMES), 1)
    np.testing.assert_allclose(display.after, classifier.metric_.pairwise(DATA.X)[first, second], atol=1e-10)
    np.testing.assert_array_equal(display.similar, NAMES[first] == NAMES[second])
    lines = [[line.get_xdata()[0] for line in ax.lines] for ax in display.ax_]
    np.testing.assert_allclose(lines, [np.sqrt([0.05, 0.95])] * 2)
    for ax in display.ax_:  # each histogram sums to 100 percent, the long distances included
        tops = [patch.get_xy()[1:80:2, 1] for patch in ax.patches]
        np.testing.assert_allclose([top.sum() for top in tops], 100.0)


def test_pairs_may_be_those_of_a_selection_and_bounds_may_be_given(classifier):
    everything = PairDistancesDisplay.from_estimator(classifier, DATA.X, NAMES)
    chosen = PairDistancesDisplay.from_estimator(classifier, DATA.X, NAMES, pairs="neighbors", bounds=(0.1, 2.0))
    assert 0 < len(chosen.after) < len(everything.after) and chosen.bounds == (0.1, 2.0)
    quantile = CovMetric("log", bounds="quantile", random_state=0).fit(DATA.X, DATA.y)
    assert PairDistancesDisplay.from_estimator(quantile, DATA.X, DATA.y).bounds is None


def test_search_shows_means_and_standard_errors_and_marks_the_choice(classifier):
    search = classifier.learner_
    display = SearchDisplay.from_estimator(classifier)
    assert texts(display.ax_.get_xticklabels()) == ["0.01", "0.1", "inf"]
    handles, labels = display.ax_.get_legend_handles_labels()
    assert sorted(labels) == ["chosen", "log", "sqrt"]
    star = next(line for line in display.ax_.lines if line.get_label() == "chosen")
    assert star.get_ydata()[0] == 100 * search.best_score_
    drawn = next(h for h, label in zip(handles, labels, strict=True) if label == "log").lines[0].get_ydata()
    scores = {c["lam"]: s for c, s in zip(*(search.cv_results_[k] for k in ("params", "mean_test_score")), strict=True)
              if c["phi"] == "log"}  # fmt: skip
    np.testing.assert_allclose(drawn, [100 * scores[lam] for lam in sorted(scores)])
    _, error = display._percent()
    folds = np.stack([v for k, v in search.cv_results_.items() if k.startswith("split")])
    np.testing.assert_allclose(error, 100 * folds.std(axis=0, ddof=1) / np.sqrt(len(folds)))
    with pytest.raises(ValueError, match="did not search"):
        SearchDisplay.from_estimator(CovMetric("log", random_state=0).fit(DATA.X, DATA.y))


def test_search_with_many_rules_has_a_line_per_rule():
    rules, phis = ["a", "b", "c"], ["p", "q", "r", "s"]
    params = [{"phi": phi, "rule": rule, "lam": lam} for phi in phis for rule in rules for lam in (0.1, np.inf)]
    scores = np.linspace(0.5, 0.9, len(params))
    results = {"params": params, "mean_test_score": scores, "std_test_score": 0 * scores, "split0_test_score": scores}
    display = SearchDisplay.from_result(results, best_index=0)
    assert display.ax_.get_legend_handles_labels()[1] == ["chosen", "a", "b", "c"]


def test_confusion_counts_and_colours():
    display = ConfusionDisplay.from_predictions(["a", "a", "a", "b"], ["a", "a", "b", "c"])
    assert display.confusion_matrix.tolist() == [[2, 1, 0], [0, 0, 1], [0, 0, 0]]
    np.testing.assert_allclose(display.ax_.images[0].get_array()[0], [200 / 3, 100 / 3, 0.0])
    assert texts(display.ax_.texts) == ["2", "1", "1"] and texts(display.ax_.get_yticklabels()) == ["a", "b", "c"]


def test_confusion_of_many_classes_shows_no_numbers():
    y = np.arange(40)
    assert texts(ConfusionDisplay.from_predictions(y, y).ax_.texts) == []


def test_retrieval_marks_wrong_neighbours():
    data = make_textures(n_classes=2, n_per_class=4, size=32)
    X = ImageCovariances().fit_transform(data.images)
    classifier = CovMetricClassifier(random_state=0).fit(X, data.y)
    display = RetrievalDisplay.from_estimator(
        classifier, X[:1], data.images[:1], data.images, y=data.y[:1], reference_labels=data.y, k=8
    )
    distances, indices = classifier.kneighbors(X[:1], 8)
    titles = [ax.get_title() for ax in display.ax_[0]]
    assert titles[0] == f"query: {data.y[0]}" and len(titles) == 9
    for title, i, distance in zip(titles[1:], indices[0], distances[0], strict=True):
        assert title.endswith(f"{distance:.3g}") and ("\u00d7" in title) == (data.y[i] != data.y[0])
    with pytest.raises(ValueError, match="images must have one image per query, 1; got 2"):
        RetrievalDisplay.from_estimator(classifier, X[:1], data.images[:2], data.images)


def test_distances_have_three_digits():
    values = [0.0, 0.5, 12.3, 99.96, 123.4, 999.9, 12345.6, 1.5e-5]
    image = np.eye(4)
    display = RetrievalDisplay([image], [[image] * len(values)], np.array([values])).plot()
    titles = [axes.get_title() for axes in display.ax_[0, 1:]]
    assert titles == ["0.00", "0.500", "12.3", "100", "123", "1000", "12346", "1.50e-05"]


def test_displays_take_pipelines_that_start_with_a_descriptor():
    data = make_textures(n_classes=2, n_per_class=8, size=32)
    model = make_pipeline(ImageCovariances(["I", "Ix", "Iy"]), CovMetricClassifier(random_state=0))
    model.fit(data.images, data.y)
    assert MetricMatrixDisplay.from_estimator(model).names == ["I", "Ix", "Iy"]
    assert len(EmbeddingDisplay.from_estimator(model, data.images, data.y).after) == 16
    assert ConfusionDisplay.from_estimator(model, data.images, data.y).confusion_matrix.sum() == 16


def test_axes_that_cannot_be_divided_get_a_clear_message(classifier):
    figure, _ = new_figure(4, 4, 1)
    free = figure.add_axes([0.1, 0.1, 0.8, 0.8])
    with pytest.raises(ValueError, match="ax cannot be divided into 2 panels"):
        EmbeddingDisplay.from_estimator(classifier, DATA.X, NAMES, ax=free)
    with pytest.raises(ValueError, match="ax must be None, one matplotlib Axes or 2 of them, got 3"):
        EmbeddingDisplay.from_estimator(classifier, DATA.X, NAMES, ax=new_figure(4, 4, 3)[1])


def test_the_page_on_plots_names_every_display_and_its_example_runs(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "guide" / "plotting.md").read_text()
    table = re.findall(r"^\| \{class\}`~covmetric\.plotting\.(\w+)` \|", page, re.MULTILINE)
    assert sorted(table) == sorted(display.__name__ for display in DISPLAYS)
    monkeypatch.chdir(tmp_path)
    exec(compile(page.split("```python\n")[1].split("```")[0], "plotting.md", "exec"), {})
    assert (tmp_path / "pairs.svg").stat().st_size > 10_000


def test_retrieval_sheet_of_a_model_of_images_needs_only_the_images():
    """A pipeline as `covmetric fit` makes it holds the thumbnails of its references."""
    model = named_pipeline()
    X, _ = images()
    display = RetrievalDisplay.from_estimator(model, X[:2], k=3)
    _, indices = model[-1].kneighbors(model[0].transform(X[:2]), 3)
    assert len(display.queries) == 2
    for row, found in zip(indices, display.neighbors, strict=True):
        for i, picture in zip(row, found, strict=True):
            np.testing.assert_array_equal(picture, model[-1].references_.thumbnails[i])
    patches = patch_classifier()
    assert len(RetrievalDisplay.from_estimator(patches, X[:2], k=3).neighbors[0]) == 3
    bare = CovMetricClassifier(random_state=0).fit(model[0].transform(X), np.arange(16) // 8)
    with pytest.raises(ValueError, match="references must be the images of the training examples"):
        RetrievalDisplay.from_estimator(bare, model[0].transform(X[:2]), X[:2], k=3)


def test_pair_distances_of_many_examples_are_those_of_a_sample(classifier, monkeypatch):
    monkeypatch.setattr(pair_distances, "_MAX_EXAMPLES", 10)
    one, two, other = (
        PairDistancesDisplay.from_estimator(classifier, DATA.X, NAMES, random_state=seed) for seed in (0, 0, 1)
    )
    assert len(one.before) == len(one.after) == len(one.similar) == 45
    np.testing.assert_array_equal(one.after, two.after)
    assert not np.array_equal(one.after, other.after)
    everything = PairDistancesDisplay.from_estimator(classifier, DATA.X, NAMES, pairs="all")
    assert len(everything.before) == 45


def test_pair_distances_need_labels_of_all_examples_and_a_pair(classifier):
    with pytest.raises(ValueError, match=r"y must have one class per example, shape \(36,\); got shape \(35,\)"):
        PairDistancesDisplay.from_estimator(classifier, DATA.X, NAMES[1:])
    with pytest.raises(ValueError, match="no pairs to draw: pass at least two examples"):
        PairDistancesDisplay.from_estimator(classifier, DATA.X[:1], NAMES[:1])


def test_pair_distances_of_one_kind_of_pairs(classifier):
    one_class = NAMES == "rest"
    display = PairDistancesDisplay.from_estimator(classifier, DATA.X[one_class], NAMES[one_class])
    assert display.similar.all()
    shown = [text.get_text() for text in display.ax_[1].get_legend().get_texts()]
    assert "similar pairs (66)" in shown and not any("dissimilar pairs" in text for text in shown)


def test_pair_distances_have_a_legend_below_the_histograms(classifier):
    display = PairDistancesDisplay.from_estimator(classifier, DATA.X, NAMES)
    display.figure_.draw_without_rendering()
    assert all(ax.get_legend() is None or ax is display.ax_[1] for ax in display.ax_)
    legend, axes = display.ax_[1].get_legend(), display.ax_[1]
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown == [
        "similar pairs (198)", "dissimilar pairs (432)", "upper bound, similar", "lower bound, dissimilar"
    ]  # fmt: skip
    assert legend.get_window_extent().y1 < axes.xaxis.label.get_window_extent().y0


def test_hatching_is_as_opaque_in_svg_as_on_the_screen(classifier):
    display = PairDistancesDisplay.from_estimator(classifier, DATA.X, NAMES)
    hatched = [patch for ax in display.ax_ for patch in ax.patches if patch.get_hatch()]
    assert len(hatched) == 2 and all(patch.get_facecolor()[3] == 0.0 for patch in hatched)
    file = io.StringIO()
    display.figure_.savefig(file, format="svg")
    styles = re.findall(r'style="(fill: url[^"]*)"', file.getvalue())
    assert styles and not any("opacity" in style for style in styles)


def test_matrix_of_a_hermitian_metric_names_both_parts():
    X = DATA.X + 0.1j * (np.triu(np.ones((4, 4)), 1) - np.tril(np.ones((4, 4)), -1))
    learner = CovMetric("log", random_state=0).fit(X + 5.0 * np.eye(4), NAMES)
    assert MetricMatrixDisplay.from_estimator(learner).names[::4] == ["Re x0", "Im x0"]


def test_convergence_without_a_tolerance_has_no_legend():
    result = solve(make_paper_problem(4, 6, 1e-1, 0), "newton")
    history = replace(result.history, phase=np.array([]))
    display = ConvergenceDisplay(history, tolerance=None).plot(x="seconds")
    assert display.ax_.get_legend() is None

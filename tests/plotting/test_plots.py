"""The content of the pictures, and their files."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer
from sklearn.decomposition import PCA

from covmetric import CovMetric
from covmetric.datasets import make_spd_classes
from covmetric.experiments.convergence_table import Point
from covmetric.plotting import plot_accuracies, plot_convergence, plot_embedding, plot_excess, plot_groups, save_figure
from covmetric.plotting.figures import new_figure


@pytest.fixture
def axes():
    return new_figure(5, 4, 1)[1][0]


@pytest.fixture
def written(tmp_path):
    """A function that writes the figure of axes and returns the size of the picture in pixels."""
    Image = pytest.importorskip("PIL.Image")

    def write(figure):
        with Image.open(save_figure(figure, tmp_path / "picture.png")) as picture:
            pixels = np.asarray(picture.convert("L"))
        assert pixels.min() < 50 and pixels.max() == 255  # not an empty page
        return pixels.shape[::-1]

    return write


def labels(ticks):
    return [tick.get_text() for tick in ticks]


def colours(bars):
    return [bar.get_facecolor() for bar in bars]


def legend(axes_or_figure):
    (found,) = axes_or_figure.legends if hasattr(axes_or_figure, "legends") else [axes_or_figure.get_legend()]
    return labels(found.get_texts())


def test_accuracies_are_bars_with_a_dot_for_each_value(axes, written):
    values = [[0.5, 0.7], [0.8, 0.9, 1.0], [0.4]]
    plot_accuracies(axes, ["log", "ours", "id"], values, ["fixed", "learned", "fixed"], "one fold each")
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], [60.0, 90.0, 40.0])
    first, second, third = colours(axes.patches)
    assert first == third != second
    assert labels(axes.get_yticklabels()) == ["log", "ours", "id"]
    np.testing.assert_allclose(np.concatenate([line.get_xdata() for line in axes.lines]), [50, 70, 80, 90, 100, 40])
    assert [len(line.get_ydata()) for line in axes.lines] == [2, 3, 1]
    assert labels(axes.texts) == ["60.0", "90.0", "40.0"]
    assert labels(axes.get_legend().get_texts()) == ["fixed", "learned"]
    assert axes.get_xlabel() == "accuracy, percent; dots: one fold each"
    assert axes.yaxis_inverted()
    assert written(axes.figure) == (750, 600)


def test_groups_are_bars_with_standard_errors(axes, written):
    values = {("log", "eye"): (90.0, 1.0), ("log", "is"): (92.0, 0.5), ("id", "eye"): (80.0, 2.0)}
    plot_groups(axes, ["log", "id"], ["eye", "is"], values, "Textures")
    heights = np.array([bar.get_height() for bar in axes.patches])
    np.testing.assert_array_equal(heights, [90.0, 80.0, 92.0, np.nan])
    centres = np.array([bar.get_x() + bar.get_width() / 2 for bar in axes.patches])
    np.testing.assert_allclose(centres, [-0.23, 0.77, 0.23, 1.23])
    assert labels(axes.texts) == ["90.0", "80.0", "92.0"]
    whiskers = next(one for one in axes.containers if isinstance(one, ErrorbarContainer))
    segments = whiskers.lines[2][0].get_segments()
    np.testing.assert_allclose([segment[:, 1] for segment in segments], [[89.0, 91.0], [78.0, 82.0]])
    assert labels(axes.get_xticklabels()) == ["log", "id"] and axes.get_title() == "Textures"
    assert axes.get_legend_handles_labels()[1] == ["eye", "is"]
    bottom, top = axes.get_ylim()
    assert bottom <= 78.0 and top > 92.5 and "does not start at 0" in axes.get_ylabel()
    written(axes.figure)


def test_groups_and_bars_have_the_given_labels(axes):
    values = {(group, bar): (90.0, 1.0) for group in ("log", "id") for bar in ("eye", "is")}
    plot_groups(axes, ["log", "id"], ["eye", "is"], values, labels={"log": "Log", "is": "IS"})
    assert labels(axes.get_xticklabels()) == ["Log", "id"]
    assert axes.get_legend_handles_labels()[1] == ["eye", "IS"]
    assert len(axes.texts) == 4


@pytest.mark.parametrize("height", [88.8, 99.6])
def test_numbers_of_a_figure_of_the_results_do_not_overlap(height):
    """Four groups of four bars in a panel of 8 by 3.8 inches, as in the figures of the results, with equal heights."""
    figure, (panel,) = new_figure(8.0, 3.8, 1)
    groups, bars = ["id", "log", "sqrt", "chol"], ["eye", "is", "l2", "re"]
    plot_groups(panel, groups, bars, {(group, bar): (height, 0.4) for group in groups for bar in bars}, "Textures")
    figure.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in panel.texts), key=lambda box: box.x0)
    assert len(boxes) == 16 and all(text.get_fontsize() >= 10 for text in panel.texts)
    assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))
    top = panel.get_window_extent().y1
    assert all(box.y1 <= top for box in boxes)


def test_embedding_shows_the_first_two_principal_components(axes, written):
    data = make_spd_classes(n_classes=3, n_per_class=8, n=3)
    names = np.array(["rest", "left", "right"])[data.y]
    metric = CovMetric("log", lam=np.inf).fit(data.X, names).metric_
    plot_embedding(axes, metric, data.X, names, "Windows")
    expected = PCA(2).fit(metric.transform(data.X))
    plane = expected.transform(metric.transform(data.X))
    for points, name in zip(axes.collections, ["left", "rest", "right"], strict=True):
        assert points.get_label() == name
        np.testing.assert_allclose(np.abs(points.get_offsets()), np.abs(plane[names == name]), atol=1e-8)
    percent = round(100 * expected.explained_variance_ratio_.sum())
    assert f"two of 9 principal components, {percent} % of the variance" == axes.get_xlabel()
    assert axes.get_title() == "Windows"
    written(axes.figure)


def test_embedding_of_one_dimension_is_a_line(axes):
    X = np.arange(1.0, 7.0).reshape(6, 1, 1)
    plot_embedding(axes, CovMetric("log", lam=np.inf).fit(X, [0, 1] * 3).metric_, X, [0, 1] * 3)
    assert all((points.get_offsets()[:, 1] == 0.0).all() for points in axes.collections)


#: P(W_t, xi-bar_t) - P* of three seeds after 0 to 4 epochs; the last two runs end earlier.
OBJECTIVE_GAPS = [[9.0, 0.5, 0.01, 0.02, -1e-15], [9.0, 0.2, 0.04, 0.01], [9.0, 0.1, 0.02]]


def make_points(orders=("cyclic", "perm")):
    return [
        Point(n, 50, lam, "is", order, seed, 1e-6, 99, epoch, 0.1 * epoch, 1.0, gap, 2.0 * gap, 10.0**-epoch, 0.0)
        for n in (5, 8)
        for lam in (1e-2, 1e-1, 1e-3)
        for order in orders
        for seed, gaps in enumerate(OBJECTIVE_GAPS)
        for epoch, gap in enumerate(gaps)
    ]


def test_convergence_has_a_panel_per_size_and_lambda(written):
    figure = plot_convergence(make_points())
    assert [axes.get_title() for axes in figure.axes] == [
        f"n = {n}, lambda = {lam}" for n in (5, 8) for lam in ("1e-01", "1e-02", "1e-03")
    ]
    assert [axes.get_xlabel() for axes in figure.axes] == [""] * 3 + ["epochs"] * 3
    assert [axes.get_ylabel() for axes in figure.axes] == ["objective gap", "", ""] * 2
    written(figure)


def test_convergence_has_one_legend_with_a_colour_per_order_and_two_styles():
    figure = plot_convergence(make_points())
    names = legend(figure)
    assert names[:2] == ["cyclic", "perm"] and len(names) == 4
    assert "xi-bar" in names[2] and "certified" in names[3]
    cyclic, perm, solid, dashed = figure.legends[0].get_lines()
    assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")
    lines = figure.axes[0].lines
    assert [line.get_color() for line in lines] == [cyclic.get_color()] * 2 + [perm.get_color()] * 2
    assert all(axes.get_legend() is None for axes in figure.axes)


@pytest.mark.parametrize(("x", "factor"), [("epoch", 1.0), ("projections", 50.0), ("seconds", 0.1)])
def test_convergence_draws_medians_of_both_gaps(x, factor):
    """The medians end where the second of three runs has ended, after epoch 3; the start is not drawn."""
    panel = plot_convergence(make_points(), x).axes[0]
    assert len(panel.lines) == 2 * 2
    solid, dashed = panel.lines[:2]
    assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")
    np.testing.assert_allclose(solid.get_xdata(), factor * np.arange(1, 4))
    np.testing.assert_allclose(solid.get_ydata(), [0.2, 0.02, 0.02])
    np.testing.assert_allclose(dashed.get_ydata(), [1e-1, 1e-2, 1e-3])
    assert panel.get_yscale() == "log" and panel.get_xscale() == ("linear" if x == "epoch" else "log")


def test_band_reaches_from_the_smallest_to_the_largest_gap():
    panel = plot_convergence(make_points()).axes[0]
    assert len(panel.collections) == 2
    corners = panel.collections[0].get_paths()[0].vertices
    for epoch, low, high in [(1, 0.1, 0.5), (2, 0.01, 0.04), (3, 0.01, 0.02), (4, 1e-12, 0.02)]:
        heights = corners[corners[:, 0] == epoch, 1]
        assert heights.min() == pytest.approx(low) and heights.max() == pytest.approx(high)


def test_gaps_between_kept_epochs_are_interpolated_on_the_logarithmic_scale():
    points = [p for p in make_points(["perm"]) if (p.seed, p.epoch) in {(0, 1), (0, 3), (1, 1), (1, 2), (1, 3)}]
    solid = plot_convergence(points).axes[0].lines[0]
    np.testing.assert_allclose(solid.get_ydata()[1], (np.sqrt(0.5 * 0.02) + 0.04) / 2.0)


def test_convergence_gives_each_order_its_own_colour():
    names = [f"order {i}" for i in range(5)]
    panel = plot_convergence(make_points(names)).axes[0]
    assert len({line.get_color() for line in panel.lines}) == len(names)


def test_convergence_over_an_unknown_axis_raises():
    with pytest.raises(ValueError, match="x must be one of 'epoch', 'projections', 'seconds', got 'hours'"):
        plot_convergence([], "hours")


def test_excess_has_a_line_per_run_and_the_certified_gap(axes, written):
    plot_excess(axes, [([0, 1, 2], [1.0, 0.3, -1e-15]), ([0, 1], [2.0, 1.0])], certified=1e-9, title="lambda = 0.1")
    first, second, certified = axes.lines
    np.testing.assert_allclose(first.get_ydata(), [1.0, 0.3, 1e-12])
    np.testing.assert_allclose(second.get_xdata(), [0, 1])
    assert certified.get_linestyle() == "--" and set(certified.get_ydata()) == {1e-9}
    assert axes.get_title() == "lambda = 0.1" and axes.get_yscale() == "log" and axes.get_xlim()[0] == 0
    written(axes.figure)


def test_figures_have_a_grid_of_axes():
    figure, axes = new_figure(6, 3, 2)
    assert axes.shape == (2,) and figure.axes == list(axes) and tuple(figure.get_size_inches()) == (6, 3)
    assert new_figure(6, 3, 2, rows=3)[1].shape == (3, 2)


def test_figures_do_not_use_pyplot():
    code = (
        "import sys; from covmetric.plotting.figures import new_figure\n"
        "new_figure(1, 1, 1); print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_ending_selects_the_format(ending, start, tmp_path):
    path = save_figure(new_figure(2, 2, 1)[0], str(tmp_path / f"a.{ending}"))
    assert path == tmp_path / f"a.{ending}" and path.read_bytes().startswith(start)


@pytest.mark.parametrize(("ending", "entry"), [("svg", "dc:description>"), ("pdf", "/Subject (")])
def test_description_is_stored_in_the_metadata(ending, entry, tmp_path):
    path = save_figure(new_figure(2, 2, 1)[0], tmp_path / f"a.{ending}", "Dots of commit 012")
    assert f"{entry}Dots of commit 012" in path.read_bytes().decode("latin-1")


def test_description_of_a_png_is_a_text_entry(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    with Image.open(save_figure(new_figure(2, 2, 1)[0], tmp_path / "a.PNG", "Dots of commit 012")) as picture:
        assert picture.text["Description"] == "Dots of commit 012"
    with Image.open(save_figure(new_figure(2, 2, 1)[0], tmp_path / "b.png")) as picture:
        assert "Description" not in picture.text


def test_formats_without_descriptions_are_written(tmp_path):
    assert save_figure(new_figure(2, 2, 1)[0], tmp_path / "a.eps", "Dots").is_file()


def test_missing_folder_raises(tmp_path):
    with pytest.raises(ValueError, match=r"there is no folder .*missing"):
        save_figure(new_figure(2, 2, 1)[0], tmp_path / "missing" / "a.png")

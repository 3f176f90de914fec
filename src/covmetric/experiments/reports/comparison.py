"""The picture of a comparison."""

from __future__ import annotations

from typing import Any

from covmetric.experiments.fold_results import ComparisonTable
from covmetric.plotting import plot_accuracies
from covmetric.plotting.figures import new_figure


def comparison_figure(table: ComparisonTable, title: str) -> Any:
    """Draw the accuracies as bars, with standard errors and a dot for each fold.

    Parameters
    ----------
    table : ComparisonTable
        The result of `compare`.
    title : str
        The beginning of the title.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    ValueError
        If every method failed.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.experiments.compare import compare
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> table = compare(data.X, data.y, methods=["log-3nn", "id-3nn"], folds=2)
    >>> [label.get_text() for label in comparison_figure(table, "simulated").axes[0].get_yticklabels()]
    ['log-3nn', 'id-3nn']
    """
    rows = [row for row in table.rows if not row.failure]
    if not rows:
        raise ValueError("there is nothing to draw: every method failed")
    height = 1.6 + 0.27 * len(rows)
    figure, (axes,) = new_figure(8, height, 1)
    values = [list(row.accuracies.values()) for row in rows]
    plot_accuracies(axes, [row.method for row in rows], values, [row.kind for row in rows], "one fold each")
    errors = [100 * (row.standard_error or 0.0) for row in rows]
    means = [100 * (row.accuracy or 0.0) for row in rows]
    axes.errorbar(means, range(len(rows)), xerr=errors, fmt="none", ecolor="black", capsize=3, elinewidth=1)
    heading = f"{title}: {table.folds} folds; whiskers: standard error"
    best = table.best_fixed
    if best is not None and best.accuracy is not None:
        axes.axvline(100 * best.accuracy, color="#666666", linewidth=0.8, linestyle="--")
        heading += f"; dashed: {best.method}, the best fixed metric"
    axes.set_title(heading, fontsize=9)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.get_legend().set_bbox_to_anchor((0.5, -0.5 / (height - 1.3)), axes.transAxes)  # half an inch below the axes
    return figure

"""Plots of confusions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covmetric._utils.validation import IntArray
from covmetric.plotting import ConfusionDisplay
from covmetric.plotting.figures import new_figure
from covmetric.report.content import Plot
from covmetric.report.svg import inline_svg


def confusion_plot(matrix: IntArray, classes: Sequence[str], title: str, name: str, what: str, more: str = "") -> Plot:
    """Return the plot of a confusion matrix.

    Parameters
    ----------
    matrix : array of int of shape (n_classes, n_classes)
        The counts. Rows are true classes, columns are predicted classes.
    classes : sequence of str
        The names of the classes.
    title : str
        The title of the plot.
    name : str
        A name for the plot that no other plot of the page has.
    what : str
        What was predicted, such as "examples".
    more : str, default=""
        A sentence to add to the caption.

    Returns
    -------
    Plot
        The plot.

    Raises
    ------
    ValueError
        If the matrix does not have one row and one column for each class.

    Examples
    --------
    >>> confusion_plot(np.array([[2, 0], [1, 1]]), ["a", "b"], "Confusion", "confusion", "examples").caption[:72]
    'Rows are true classes, columns are predicted classes. 3 of 4 examples ar'
    """
    counts = np.asarray(matrix, dtype=np.int64)
    if counts.shape != (len(classes), len(classes)):
        raise ValueError(f"the confusion of {len(classes)} classes has shape {counts.shape}")
    side = float(np.clip(2.8 + 0.28 * len(classes), 3.8, 8.0))
    figure, (axes,) = new_figure(side + 0.8, side, 1)
    ConfusionDisplay(counts, classes).plot(axes)
    caption = (
        f"Rows are true classes, columns are predicted classes. {int(np.trace(counts))} of {int(counts.sum())} {what} "
        "are on the diagonal."
    )
    return Plot(title, inline_svg(figure, name), " ".join([caption, more]).strip())

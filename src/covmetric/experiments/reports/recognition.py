"""The report of the recognition experiments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covmetric.experiments.recognition import PHIS, SLACKS, RecognitionRow, RecognitionSummary, summarize_recognition
from covmetric.experiments.reports.report import Picture, Report, TextTable
from covmetric.plotting import plot_groups
from covmetric.plotting.figures import new_figure

_BARS = ("eye", *SLACKS)
_EXPLANATION = (
    "3-NN accuracy in percent, mean and standard error over {splits} splits, with K = 100 n_c pairs. Squared distances "
    "are divided by their median over the pairs. The bounds are 0.05 (similar) and 0.95 (dissimilar), or the 5th and "
    "the 95th percentile of the squared distances. The paper does not give lambda. Here, it is chosen from 1e-1 to "
    "1e-4 by three-fold cross-validation of 3-NN on at most 4,000 examples of the training part; W = I is not a "
    "candidate. The final problems are solved to a certified relative gap of 1e-6."
)


def recognition_report(name: str, title: str, rows: Sequence[RecognitionRow]) -> Report:
    """Report the accuracies of all protocols and variants.

    Parameters
    ----------
    name : str
        The name of the experiment.
    title : str
        The title of the page.
    rows : sequence of RecognitionRow
        The result of `recognition` for all embeddings and slacks.

    Returns
    -------
    Report

    Examples
    --------
    >>> settings = [(phi, W) for phi in PHIS for W in ("eye", *SLACKS)]
    >>> rows = [
    ...     RecognitionRow("p", "" if W == "eye" else "paper", seed, phi, W, 1e-2, 0.8 + 0.1 * seed, 0.0, 1.0)
    ...     for seed in (0, 1)
    ...     for phi, W in settings
    ... ]
    >>> report = recognition_report("textures", "Textures", rows)
    >>> report.parts[-1].rows[0]
    ['id', '85.0 ± 5.0', '85.0 ± 5.0', '85.0 ± 5.0', '85.0 ± 5.0', '0.01, 0.01']
    """
    summary = summarize_recognition(rows)
    protocols = list(dict.fromkeys(row.protocol for row in summary))
    variants = list(dict.fromkeys(row.variant for row in summary if row.variant))
    splits = len({row.seed for row in rows})
    return Report(
        name=name,
        title=title,
        parts=[
            _EXPLANATION.format(splits=splits),
            Picture(f"{name}.png", "3-NN accuracies", lambda: _figure(summary, protocols)),
            *(_table(summary, protocol, variant) for protocol in protocols for variant in variants),
        ],
        records=rows,
        summary=summary,
    )


def _table(summary: Sequence[RecognitionSummary], protocol: str, variant: str) -> TextTable:
    cells = {(row.variant, row.phi, row.W): row for row in summary if row.protocol == protocol}
    rows = []
    for phi in PHIS:
        accuracies = [cells["" if W == "eye" else variant, phi, W].accuracy.text() for W in _BARS]
        lambdas = cells[variant, phi, "is"].lambdas
        rows.append([phi, *accuracies, ", ".join(f"{lam:g}" for lam in lambdas)])
    head = ["Phi", "W = I", *(f"learned, {slack}" for slack in SLACKS), "lambda chosen for `is`"]
    return TextTable(head, rows, title=f"{protocol}, {variant}")


def _figure(summary: Sequence[RecognitionSummary], protocols: Sequence[str]) -> Any:
    """Draw the paper's variant, with one panel per protocol."""
    figure, axes = new_figure(5.5 * len(protocols), 3.6, len(protocols))
    for panel, protocol in zip(axes, protocols, strict=True):
        values = {
            (row.phi, row.W): (row.accuracy.mean, row.accuracy.standard_error or 0.0)
            for row in summary
            if row.protocol == protocol and row.variant in ("", "paper")
        }
        plot_groups(panel, PHIS, _BARS, values, protocol)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=8, frameon=False)
    return figure

"""The report of the recognition experiments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covmetric.experiments.estimates import STANDARD_ERRORS, Estimate, verdict
from covmetric.experiments.evaluation import FOLDS, REG, TOL, TUNING_EXAMPLES, grid_values
from covmetric.experiments.protocols import PROTOCOLS
from covmetric.experiments.recognition import BALANCED, EYE, LOOSE_SEARCH, PHIS, SLACKS, RecognitionRow
from covmetric.experiments.recognition_summary import (
    RecognitionSummary,
    compare_phi,
    count_flips,
    summarize_recognition,
)
from covmetric.experiments.reports.report import Picture, Report, TextTable
from covmetric.plotting import plot_groups
from covmetric.plotting.figures import new_figure

#: The names of W, as the head of a table and the legend of the figure have them.
W_NAMES = {EYE: "W = I", **{slack: f"learned, {slack}" for slack in SLACKS}}
#: The Phi that the paper calls the best one, for each data set.
PAPER_BEST = {"brodatz": "chol", "eth80": "log"}
#: The titles of the panels of the figure.
PANEL_TITLES = {
    "brodatz 3/1": "Brodatz, 3 quarters to train on and 1 to test (3/1)",
    "brodatz 2/2": "Brodatz, 2 quarters to train on and 2 to test (2/2)",
    "eth80 by image": "ETH-80, split by image",
    "eth80 by object": "ETH-80, split by object",
}
#: The data and the splits, for each data set.
DATA_TEXTS = {
    "brodatz": (
        "Each of the 111 textures is one grey image of 640 x 640 pixels, divided into four quarters. In each quarter, "
        "50 patches of {region} pixels are drawn at random. They are drawn once: all splits share these patches, and "
        "differ only in the quarters that they train on. A patch is described by the covariance matrix of I, |Ix|, "
        '|Iy|, |Ixx| and |Iyy|. "3/1" means that three quarters of each texture are the training part and one is the '
        'test part, as in the text of the paper; "2/2" means two and two, as in its numbers (11,100 matrices each).'
    ),
    "eth80": (
        "ETH-80 has 8 classes of 10 objects with 41 views each, here as images of {region} pixels. An image is "
        "described by the covariance matrix of the nine features x, y, R, G, B, |Ix|, |Iy|, |Ixx| and |Iyy|. "
        '"By image" means that 20 random views of each object are the training part, as in the paper, so that both '
        'parts show the same objects; "by object" means five random objects of each class, with all their views.'
    ),
}
_FOLD_TEXTS = {
    "brodatz": 'A fold is one training quarter of each texture, so that there are two folds with "2/2".',
    "eth80": 'The folds are random images with "by image", and whole objects with "by object".',
}
#: The descriptor and the classifier, which all recognition experiments share.
METHOD_TEXT = (
    "Grey values and colours range from 0 to 255. First derivatives are computed by the filter [-1 0 1] and second "
    "derivatives by [-1 2 -1], as in Tuzel et al. (2006); the paper does not say which filters it uses. "
    f"{REG:g} of the mean eigenvalue is added to the diagonal of each matrix. The classifier is 3-NN; if three "
    "neighbours have three different classes, the class that comes first in sorted order wins."
)
_LEARNING_TEXT = (
    "W is learned from K = 100 n_c pairs for n_c classes, as in the paper. The paper does not say how the pairs are "
    "drawn, which unit the distances have, and what lambda is. These are choices of ours, and not of the paper: half "
    "of the pairs are similar, and squared distances are divided by their median over the pairs. In this unit, the "
    "bounds are the numbers of the paper, 0.05 (similar) and 0.95 (dissimilar)."
)
_VARIANT_TEXTS = {
    "quantile bounds": "the bounds are the 5th and the 95th percentile of the squared distances",
    "uniform pairs": "all pairs of training examples have the same probability to be drawn",
    "neighbour pairs": "each example forms pairs with its five nearest neighbours in its own class and with its five "
    "nearest neighbours in the other classes",
}


def lambda_text(grid: str, n_tuning: int) -> str:
    """Describe how lambda is chosen.

    Parameters
    ----------
    grid : str
        The text of the grid.
    n_tuning : int
        The largest number of examples that choose lambda.

    Returns
    -------
    str
        A few sentences.
    """
    values = ", ".join(f"{lam:g}" for lam in grid_values(grid))
    drawn = n_tuning == TUNING_EXAMPLES
    limit = f"at most {n_tuning:,} random examples" if drawn else f"all (at most {n_tuning:,}) examples"
    return (
        f"Lambda is chosen from {values} by {FOLDS}-fold cross-validation of 3-NN on {limit} of the training part; the "
        f"largest lambda wins ties, and W = I is not a candidate. All problems, those of the search included, are "
        f"solved to a certified relative gap of {TOL:g}."
    )


#: How differences are computed and judged.
DIFFERENCE_TEXT = (
    f"Accuracies are in percent, mean and standard error over {{splits}} splits. In brackets: the difference to W = I "
    f'with the same Phi, paired by split. It is called "better" or "worse" if it is more than {STANDARD_ERRORS:g} '
    f'standard errors away from zero, and "no difference" otherwise. This is a rule of thumb: the splits overlap, and '
    f"there are few of them."
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
        The result of `recognition` for the four embeddings and the three slacks of the paper, and possibly others.

    Returns
    -------
    Report
        The page with its tables and figure.

    Examples
    --------
    >>> settings = [(phi, W) for phi in PHIS for W in ("eye", *SLACKS)]
    >>> rows = [
    ...     RecognitionRow(
    ...         "brodatz 3/1", "" if W == "eye" else BALANCED, seed, phi, W, "" if W == "eye" else "0.1 0.01", 0.01,
    ...         0.8 + 0.1 * seed + (0.01 + 0.002 * seed) * (W != "eye"), 0.0, 1.0, 300, 100, 300, "128 x 128"
    ...     )
    ...     for seed in (0, 1)
    ...     for phi, W in settings
    ... ]
    >>> report = recognition_report("textures", "Textures", rows)
    >>> report.parts[-2].rows[0][:3]
    ['id', '85.0 ± 5.0', '86.1 ± 5.1 (+1.10 ± 0.10, better)']
    """
    summary = summarize_recognition(rows)
    protocols = list(dict.fromkeys(row.protocol for row in rows))
    variants = [v for v in dict.fromkeys(row.variant for row in rows) if v not in ("", LOOSE_SEARCH)]
    data_set = PROTOCOLS[protocols[0]][0]
    learned = [row for row in rows if row.variant]
    parts: list[str | TextTable | Picture] = [
        DATA_TEXTS[data_set].format(region=rows[0].region) + " " + _sizes_text(rows),
        METHOD_TEXT,
        _LEARNING_TEXT + _variants_text(variants),
        lambda_text(learned[0].lambdas, max(row.n_tuning for row in learned)) + " " + _FOLD_TEXTS[data_set],
        DIFFERENCE_TEXT.format(splits=len({row.seed for row in rows})),
        _ends_text(summary),
        *_flips_text(rows),
        Picture(f"{name}.png", "3-NN accuracies with W = I and with learned W", lambda: _figure(summary, protocols)),
    ]
    for protocol in protocols:
        parts += [_table(summary, protocol, variant) for variant in variants]
        parts.append(_phi_table(rows, protocol, PAPER_BEST[data_set]))
    return Report(name=name, title=title, parts=parts, summary=summary)


def _variants_text(variants: Sequence[str]) -> str:
    others = [f'with "{variant}", {_VARIANT_TEXTS[variant]}' for variant in variants if variant in _VARIANT_TEXTS]
    return f" The variants differ in one choice: {'; '.join(others)}." if others else ""


def _sizes_text(rows: Sequence[RecognitionRow]) -> str:
    sizes = {row.protocol: f"{row.n_train:,} training and {row.n_test:,} test matrices" for row in rows}
    return "; ".join(f'"{protocol}" has {size}' for protocol, size in sizes.items()) + "."


def _ends_text(summary: Sequence[RecognitionSummary]) -> str:
    """Say how many choices of lambda lie at the ends of the grid."""
    searched = [row for row in summary if row.variant and row.variant != LOOSE_SEARCH]
    choices = sum(len(row.lambdas) for row in searched)
    largest, smallest = sum(row.n_largest for row in searched), sum(row.n_smallest for row in searched)
    return (
        f"Of the {choices} choices of lambda, {largest} are the largest value of the grid, at which W is nearly a "
        f"multiple of I, and {smallest} are the smallest one, below which other choices would be possible. The tables "
        f"count both for slack `{SLACKS[0]}`."
    )


def _flips_text(rows: Sequence[RecognitionRow]) -> list[str]:
    """Say how many choices depend on the tolerance of the search."""
    flips, choices = count_flips(rows)
    if not choices:
        return []
    text = (
        "A search that solves to a relative gap of 1e-3 only, the default of `CovMetricCV`, chooses another lambda in "
        f"{flips} of {choices} cases (slack `{SLACKS[0]}`, {BALANCED})."
    )
    return [text]


def difference_text(difference: Estimate) -> str:
    """Return a difference with its verdict.

    Parameters
    ----------
    difference : Estimate
        The result of `paired_difference`.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> difference_text(Estimate(1.5, 0.5, 5))
    '+1.50 ± 0.50, better'
    """
    return f"{difference.text(2, sign=True)}, {verdict(difference)}"


def _table(summary: Sequence[RecognitionSummary], protocol: str, variant: str) -> TextTable:
    cells = {(row.variant, row.phi, row.W): row for row in summary if row.protocol == protocol}
    slacks = [slack for slack in SLACKS if any(key[0] == variant and key[2] == slack for key in cells)]
    lines = []
    for phi in dict.fromkeys(phi for v, phi, _ in cells if v == variant):
        learned = [cells[variant, phi, slack] for slack in slacks]
        chosen = learned[0]
        lines.append(
            [
                phi,
                cells["", phi, EYE].accuracy.text(),
                *(
                    row.accuracy.text() + (f" ({difference_text(row.difference)})" if row.difference else "")
                    for row in learned
                ),
                ", ".join(f"{lam:g}" for lam in chosen.lambdas),
                f"{chosen.n_largest}, {chosen.n_smallest} of {len(chosen.lambdas)}",
            ]
        )
    head = ["Phi", *(W_NAMES[W] for W in (EYE, *slacks))]
    head += [f"lambda chosen for `{slacks[0]}`", "largest, smallest"]
    return TextTable(head, lines, title=f"{protocol}, {variant}")


def _phi_table(rows: Sequence[RecognitionRow], protocol: str, phi: str) -> TextTable:
    """Compare the Phi that the paper calls the best one with the best of the other three."""
    lines = [
        [one.variant or "W = I", "" if one.W == EYE else one.W, one.other, difference_text(one.difference)]
        for one in compare_phi([row for row in rows if row.protocol == protocol], phi)
        if one.variant != LOOSE_SEARCH
    ]
    head = ["variant", "slack", "best other Phi", f"{phi} minus the best other Phi"]
    return TextTable(head, lines, title=f"{protocol}: is {phi} the best Phi?")


def _figure(summary: Sequence[RecognitionSummary], protocols: Sequence[str]) -> Any:
    """Draw the variant with balanced pairs, with the panels of the protocols below each other.

    A page shows the figure about 8 inches wide, so that its fonts have about their nominal size.
    """
    figure, axes = new_figure(8.0, 3.8 * len(protocols) + 0.3, 1, len(protocols))
    for panel, protocol in zip(axes.ravel(), protocols, strict=True):
        values = {
            (row.phi, row.W): (row.accuracy.mean, row.accuracy.standard_error or 0.0)
            for row in summary
            if row.protocol == protocol and row.variant in ("", BALANCED) and row.phi in PHIS
        }
        plot_groups(panel, PHIS, list(W_NAMES), values, PANEL_TITLES[protocol], W_NAMES)
    handles, labels = axes.ravel()[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(W_NAMES), fontsize=11, frameon=False)
    return figure

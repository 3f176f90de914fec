"""The report of the image-set experiment."""

from __future__ import annotations

from collections.abc import Sequence

from covmetric.experiments.estimates import verdict
from covmetric.experiments.evaluation import grid_end
from covmetric.experiments.image_sets import SetRow, summarize_image_sets
from covmetric.experiments.reports.report import Report, TextTable

_EXPLANATION = (
    "Each object is one 400 x 400 covariance matrix of its 41 views as 20 x 20 grey images, with 0.001 of the trace "
    "added to the diagonal. There are 8 classes of 10 objects. Each repeat draws five objects per class for training; "
    "the other five are the test part. The classifier is 1-NN, Phi is the logarithm, and the metric is learned from "
    "all pairs of training objects, with bounds at the 5th and the 95th percentile of their squared distances. "
    "Accuracies are in percent, mean and standard error over the repeats. Every problem is solved to a certified "
    "relative gap of {tol:g}. lambda = inf means W = I, the log-Euclidean distance. The difference to W = I is paired "
    'by repeat; it is called "better" or "worse" if it is more than two standard errors away from zero. This '
    "experiment is not in the paper."
)
_LITERATURE = (
    "For comparison, Table 4 of Chen et al., Pattern Recognition 2020, as found in a copy of the article, gives these "
    "accuracies for the same data and the same number of objects: AIRM 77.05, log-Euclidean 81.85, LEML 93.05, SPDNet "
    "95.50. Their splits, the cropping, resizing and regularisation of the images, and the choice of settings may "
    "differ from ours."
)


def image_set_report(rows: Sequence[SetRow]) -> Report:
    """Report the accuracies along the path of lambda.

    Parameters
    ----------
    rows : sequence of SetRow
        The result of `image_sets`.

    Returns
    -------
    Report

    Examples
    --------
    >>> from dataclasses import replace
    >>> row = SetRow("log", 0, "0.01", 1e-4, 1e-2, 0.8, 0.9, 0.0, "SOLVED", 18.0)
    >>> rows = [row, replace(row, repeat=1, accuracy=0.9)]
    >>> report = image_set_report(rows)
    >>> print(report.parts[1].text())
    lambda    1-NN, test  minus W = I  leave-one-out, training  solved  seconds since the start of the path
      0.01  85.00 ± 5.00                                  90.0       2                                   18
    """
    table = summarize_image_sets(rows)
    chosen = table.chosen
    lines = [
        [
            f"{row.lam:g}",
            row.accuracy.text(2),
            "" if row.difference is None else f"{row.difference.text(2, sign=True)}, {verdict(row.difference)}",
            f"{row.leave_one_out.mean:.1f}",
            str(row.solved),
            f"{row.seconds:.0f}",
        ]
        for row in table.rows
    ]
    head = [
        "lambda",
        "1-NN, test",
        "minus W = I",
        "leave-one-out, training",
        "solved",
        "seconds since the start of the path",
    ]
    end = grid_end(chosen.lam, rows[0].lambdas)
    end = f" It is the {end} lambda of the grid." if end else ""
    result = (
        f"Lambda = {chosen.lam:g} has the best leave-one-out accuracy on the training parts of the first two repeats "
        f"(the largest lambda wins ties).{end} The leave-one-out accuracy uses the metric that was learned from the "
        f"same objects, so that it favours small lambda. With the chosen lambda, the test accuracy over "
        f"{chosen.accuracy.count} repeats is {chosen.accuracy.text(2)} percent. All paths together took "
        f"{table.hours:.2f} hours."
    )
    return Report(
        name="eth80-sets",
        title="Image sets of ETH-80",
        parts=[_EXPLANATION.format(tol=rows[0].tol), TextTable(head, lines), result, _LITERATURE],
        summary=table.rows,
    )

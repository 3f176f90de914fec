"""The report of the readings of the paper."""

from __future__ import annotations

from collections.abc import Sequence

from covmetric.experiments.evaluation import TUNING_EXAMPLES
from covmetric.experiments.reading_claims import (
    CLAIMS,
    HOLDS,
    ReadingSummary,
    ReadingVerdict,
    judge_readings,
    summarize_readings,
)
from covmetric.experiments.reading_definitions import READINGS
from covmetric.experiments.readings import SLACK, ReadingRow
from covmetric.experiments.reports.recognition import DIFFERENCE_TEXT, METHOD_TEXT, difference_text, lambda_text
from covmetric.experiments.reports.report import Report, TextTable

_INTRODUCTION = (
    "The paper leaves choices open that recognition depends on: lambda, the filters of the derivatives, the unit of "
    "the distances to which the bounds apply, and how the pairs are drawn. This page makes some of these choices in "
    "other ways, one reading of the paper each, and checks the paper's claims in all of them. The protocols are "
    "{protocols}, with the data, the splits and the folds of the pages on [Brodatz](brodatz.md) and "
    "[ETH-80](eth80.md). W is learned with the slack `{slack}`. A reading differs from the first one only in what the "
    "table says."
)
_VERDICTS = (
    'A claim "holds" if all its differences are "better", it is "contradicted" if one of them is "worse", and it is '
    '"not shown" otherwise. Learning improves every Phi: the differences of the learned W to W = I, for the four Phi. '
    "The best Phi: the difference to the best of the other three, all with learned W."
)


def readings_report(rows: Sequence[ReadingRow]) -> Report:
    """Report the accuracies in all readings, and which of the paper's claims hold in each.

    Parameters
    ----------
    rows : sequence of ReadingRow
        The result of `readings`.

    Returns
    -------
    Report
        The page with its tables.

    Examples
    --------
    >>> rows = [
    ...     ReadingRow("ours", "eth80 by image", seed, phi, W, "" if W == "eye" else "0.1 0.01", 0.01,
    ...                0.8 + 0.1 * seed + (0.01 + 0.002 * seed) * (W != "eye"), 0.0, 1.0)
    ...     for seed in (0, 1)
    ...     for phi in ("id", "log", "sqrt", "chol")
    ...     for W in ("eye", "is")
    ... ]
    >>> [(one.claim, one.verdict) for one in readings_report(rows).summary]
    [('learning improves every Phi on ETH-80', 'holds'), ('log is best on ETH-80', 'not shown')]
    """
    summary, verdicts = summarize_readings(rows), judge_readings(rows)
    names = list(dict.fromkeys(row.reading for row in rows))
    protocols = list(dict.fromkeys(row.protocol for row in rows))
    grid = next(row.lambdas for row in rows if row.lambdas)
    return Report(
        name="readings",
        title="Readings of the paper's recognition experiments (section 5.2)",
        parts=[
            _INTRODUCTION.format(protocols=" and ".join(f'"{protocol}"' for protocol in protocols), slack=SLACK),
            TextTable(["reading", "what it changes"], [[name, READINGS[name].description] for name in names]),
            METHOD_TEXT,
            lambda_text(grid, TUNING_EXAMPLES),
            DIFFERENCE_TEXT.format(splits=len({row.seed for row in rows})),
            _VERDICTS,
            _conclusion(verdicts),
            _claims_table(verdicts, names),
            *(_table(summary, protocol) for protocol in protocols),
        ],
        summary=verdicts,
    )


def _conclusion(verdicts: Sequence[ReadingVerdict]) -> str:
    by_reading: dict[str, list[bool]] = {}
    for one in verdicts:
        by_reading.setdefault(one.reading, []).append(one.verdict == HOLDS)
    all_hold = [name for name, holds in by_reading.items() if all(holds)]
    result = f"{', '.join(all_hold)}" if all_hold else "none"
    counts = ", ".join(f"{name}: {sum(holds)}" for name, holds in by_reading.items())
    return (
        f"All {len(CLAIMS)} claims hold in {len(all_hold)} of {len(by_reading)} readings ({result}). The number of "
        f"claims that hold in each reading is {counts}."
    )


def _claims_table(verdicts: Sequence[ReadingVerdict], names: Sequence[str]) -> TextTable:
    cells = {(one.reading, one.claim): one for one in verdicts}
    claims = [claim for claim in CLAIMS if any(one.claim == claim for one in verdicts)]
    lines = []
    for name in names:
        line = [name]
        for claim in claims:
            one = cells[name, claim]
            evidence = "; ".join(f"{phi} {value.text(2, sign=True)}" for phi, value in one.differences.items())
            line.append(f"{one.verdict} ({evidence})")
        lines.append(line)
    return TextTable(["reading", *claims], lines, title="The paper's claims")


def _table(summary: Sequence[ReadingSummary], protocol: str) -> TextTable:
    """Show each accuracy with W = I, with the learned W, and the paired difference."""
    by_reading: dict[str, list[ReadingSummary]] = {}
    for row in summary:
        if row.protocol == protocol:
            by_reading.setdefault(row.reading, []).append(row)
    lines = [
        [
            name,
            *(f"{row.eye.mean:.1f} to {row.learned.mean:.1f} ({difference_text(row.difference)})" for row in group),
            _ends(group),
        ]
        for name, group in by_reading.items()
    ]
    phis = [row.phi for row in next(iter(by_reading.values()))]
    head = ["reading", *(f"{phi}, W = I to learned" for phi in phis), "largest, smallest lambda chosen"]
    return TextTable(head, lines, title=protocol)


def _ends(group: Sequence[ReadingSummary]) -> str:
    """Count the choices of lambda at the ends of the grid."""
    largest, smallest = sum(row.n_largest for row in group), sum(row.n_smallest for row in group)
    return f"{largest}, {smallest} of {sum(row.learned.count for row in group)}"

"""The table of `covmetric compare --unseen` as text on the standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from covmetric.experiments.estimates import Estimate
    from covmetric.experiments.unseen_results import UnseenTable

_HEADS = {
    "mean_average_precision": "mAP",
    "recall_at_1": "recall@1",
    "one_shot_accuracy": "1-shot",
    "five_shot_accuracy": "5-shot",
    "verification_auc": "AUC",
    "verification_eer": "EER",
}


def print_unseen(table: UnseenTable, content: str) -> None:
    """Print the scores on new classes, differences, times and chosen settings.

    Parameters
    ----------
    table : UnseenTable
        The result of `compare_unseen`.
    content : str
        What the matrices are.
    """
    grouped = "" if table.groups is None else f" {table.groups} groups; those of one class and group are not compared."
    print(f"{table.examples} matrices, {table.size} x {table.size}, {table.classes} classes ({content}).{grouped}")
    print(
        f"{table.splits} splits that hold out {table.test_classes} classes, the same for all methods. All numbers in "
        "percent, mean and standard error over the splits."
    )
    print("mAP: mean average precision of retrieval; recall@1: the nearest example has the same class;")
    print(
        "1-shot, 5-shot: accuracy with 1 and 5 known examples of each new class; "
        "AUC, EER: have two examples the same class?"
    )
    best = table.best_fixed
    if best is not None:
        print(f"difference: of mAP to {best.method}, the best fixed metric on these splits; paired by split.")
    print("fit: median seconds per split, with tuning. chosen: on training classes (in how many splits).\n")
    width = max(len(row.method) for row in table.rows)
    heads = "".join(f" {head:>11}" for head in _HEADS.values())
    print(f"{'kind':>9} {'method':<{width}}{heads} {'difference':>11} {'fit':>8}  chosen")
    for row, summary in zip(table.rows, table.summary(), strict=True):
        start = f"{row.kind:>9} {row.method:<{width}}"
        if row.failure:
            print(f"{start} failed: {row.failure}")
            continue
        cells = "".join(f" {_percent(row.estimate(measure)):>11}" for measure in _HEADS)
        difference = _percent(table.difference(row), sign=True)
        partial = f"[{len(row.splits)} of {table.splits} splits] " if table.interrupted else ""
        chosen = f"{summary.chosen}; {summary.candidates} candidates" if summary.chosen else ""
        print(f"{start}{cells} {difference:>11} {row.fit_seconds:>8.2f}  {partial}{chosen}".rstrip())


def _percent(estimate: Estimate | None, sign: bool = False) -> str:
    return "" if estimate is None else estimate.times(100.0).text(sign=sign)

"""Epochs to an objective gap and to a certified gap of 1e-6 for each selection order, over the paper's nine settings.

``python -m benchmarks.convergence`` runs five problems of each setting, which takes about half a minute, and ranks the
orders by the paper's objective gap.
"""

from __future__ import annotations

from itertools import groupby

from covmetric.cli.tables import print_report
from covmetric.experiments.convergence import convergence
from covmetric.experiments.reports import convergence_report

SEEDS = 5


def main() -> None:
    table = convergence(seeds=SEEDS, progress=True)
    print_report(convergence_report(table))
    print("\nRanking by the median number of epochs to the objective gap:")
    for (n, lam), rows in groupby(table.summary(), key=lambda row: (row.n, row.lam)):
        ranked = sorted(rows, key=lambda row: row.epochs)
        print(f"  n = {n:>3}, lambda = {lam:.0e}: " + " < ".join(f"{row.order} {row.epochs:g}" for row in ranked))


if __name__ == "__main__":
    main()

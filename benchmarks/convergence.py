"""Epochs to a relative gap of 1e-6 by order, over the paper's nine settings; the winners by name.

``python -m benchmarks.convergence`` runs 5 seeds of each (about a minute).
"""

from __future__ import annotations

from itertools import groupby

from covmetric.experiments.convergence import convergence, print_table

SEEDS = 5


def main() -> None:
    table = convergence(seeds=SEEDS, progress=True)
    print_table(table, SEEDS)
    print("\nFewest epochs (median):")
    for (n, lam), rows in groupby(table.summary(), key=lambda row: (row.n, row.lam)):
        ranked = sorted(rows, key=lambda row: row.epochs)
        print(f"  n = {n:>3}, lambda = {lam:.0e}: " + " < ".join(f"{row.order} {row.epochs:g}" for row in ranked))


if __name__ == "__main__":
    main()

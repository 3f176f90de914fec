"""Certificates of hostile problems against exact arithmetic; prints violations, of which there should be none.

``python -m benchmarks.proofs --seeds 3000 --file proofs.csv`` solves problems with weights, bounds and scales over ten
decades by both solvers, and certifies arbitrary points. Each result is compared with rational arithmetic. One
row per seed is appended to the file as it comes, and a second run goes on where the first stopped.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from tqdm import tqdm

from covmetric import MetricProblem, Status, solve
from covmetric.solvers import SOLVERS
from tests.exact import exact_gap

POINTS = 3


@dataclass
class Row:
    """What was found for one seed."""

    seed: int
    solved: int = 0
    not_solved: int = 0
    points: int = 0
    false_solved: int = 0
    violated: int = 0
    bad_rounding: int = 0


def hostile_problem(seed: int) -> MetricProblem | None:
    """A small problem with extreme scales, or None if it is refused."""
    rng = np.random.default_rng(seed)
    n, m, K = int(rng.integers(1, 7)), int(rng.integers(1, 6)), int(rng.integers(1, 9))
    F = rng.standard_normal((K, n, m)) * 10.0 ** rng.uniform(-1, 1, (K, 1, 1))
    F *= 10.0 ** (rng.uniform(-6, 6) if rng.random() < 0.5 else 0)
    if rng.random() < 0.3:
        F *= 10.0 ** rng.uniform(-6, 6, (1, n, 1))
    if rng.random() < 0.2 and K > 1:
        F[1] = F[0] * 10.0 ** rng.uniform(-5, 5)
    similar = rng.choice([-1.0, 1.0], K)
    norms = (F**2).sum(axis=(1, 2))
    bounds = 10.0 ** rng.uniform(-12, 12, K) if rng.random() < 0.3 else norms * 10.0 ** rng.uniform(-2, 2, K)
    equal = rng.random() < 0.5
    weights = 10.0 ** rng.uniform(-6, 8) * np.ones(K) if equal else 10.0 ** rng.uniform(-6, 6, K)
    try:
        return MetricProblem.from_differences(F, similar, bounds, weights, ("is", "l2", "re")[seed % 3])
    except ValueError:
        return None


def judge(row: Row, problem: MetricProblem, W, multipliers, certificate, solved: bool) -> None:
    """Compare a certificate with exact arithmetic."""
    try:
        gap = exact_gap(problem, SimpleNamespace(W=W, multipliers=multipliers))
    except AssertionError:  # W or I + S is not positive definite
        gap = np.inf
    row.violated += not gap <= certificate.bound
    row.bad_rounding += not certificate.rounding >= 0.0
    row.false_solved += solved and not gap <= certificate.tol * max(1.0, abs(certificate.primal))


def check(seed: int) -> Row:
    """Solve and certify one problem."""
    row, problem = Row(seed), hostile_problem(seed)
    if problem is None:
        return row
    for solver in SOLVERS:
        result = solve(problem, solver, max_iter=100, random_state=0)
        solved = result.status is Status.SOLVED
        row.solved += solved
        row.not_solved += not solved
        judge(row, problem, result.W, result.multipliers, result.certificate, solved)
    rng = np.random.default_rng([seed, 1])
    for number in range(POINTS):
        A = rng.standard_normal((problem.n, problem.n)) * 10.0 ** rng.uniform(-3, 3, (problem.n, 1))
        scale = problem.weights / problem.bounds if number else 1.0
        alpha = 10.0 ** rng.uniform(-6, 6) * rng.random(problem.n_pairs) * scale
        try:
            point = problem.certified(A @ A.T, alpha)
        except ValueError:
            continue
        row.points += 1
        judge(row, problem, point.W, point.multipliers, point.certificate, point.certificate.solved)
    return row


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3000, metavar="N", help="problems (default %(default)s)")
    parser.add_argument("--file", type=Path, metavar="CSV", help="append rows here, and skip the seeds that it has")
    options = parser.parse_args(arguments)
    rows = []
    if options.file is not None and options.file.exists():
        with options.file.open(newline="") as file:
            rows = [Row(**{name: int(value) for name, value in line.items()}) for line in csv.DictReader(file)]
    done = {row.seed for row in rows}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in tqdm([seed for seed in range(options.seeds) if seed not in done], "proofs"):
            rows.append(check(seed))
            if options.file is not None:
                new = not options.file.exists()
                with options.file.open("a", newline="") as file:
                    writer = csv.DictWriter(file, [field.name for field in fields(Row)])
                    if new:
                        writer.writeheader()
                    writer.writerow(asdict(rows[-1]))
    totals = {field.name: sum(getattr(row, field.name) for row in rows) for field in fields(Row)[1:]}
    print(f"{len(rows)} problems")
    for name, total in totals.items():
        print(f"{name.replace('_', ' '):>14} {total:>8}")


if __name__ == "__main__":
    main()

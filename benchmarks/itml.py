"""Our ITML and metric-learn's on vectors: objective, certified gap, accuracy and time.

metric-learn 0.7 needs scikit-learn below 1.8. It therefore runs in a separate environment, which this command creates
in build/, or in the one that `--python` names. Both learn from the same pairs, with the same bounds and weights.

    python -m benchmarks.itml [--python PATH]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from covmetric import MetricProblem, QuantileBounds, RandomPairs, solve
from covmetric.constraints import bounded

_ENVIRONMENT = Path(__file__).parents[1] / "build" / "itml-environment"
SPLITS, ROUNDS = 5, 3
GAMMA = 1.0

PEER = """
import json, sys, time, warnings
import numpy as np
from metric_learn import ITML
data = np.load(sys.argv[1])
pairs = data["X"][data["pairs"]]
best = np.inf
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for _ in range(int(sys.argv[3])):
        started = time.perf_counter()
        learner = ITML(gamma=float(data["gamma"]), max_iter=int(data["max_iter"]))._fit(
            pairs, data["similar"].astype(int), bounds=data["limits"])
        best = min(best, time.perf_counter() - started)
    said = [str(w.message) for w in seen if "onverge" in str(w.message)]
np.save(sys.argv[2], learner.get_mahalanobis_matrix())
print(json.dumps({"seconds": best, "n_iter": int(learner.n_iter_) + 1, "warned": bool(said)}))
"""


def environment() -> Path:
    """Return the interpreter of an environment with metric-learn 0.7, which is created on first use."""
    python = _ENVIRONMENT / "bin" / "python"
    if not python.exists():
        print(f"creating {_ENVIRONMENT} with metric-learn 0.7 ...", flush=True)
        venv.create(_ENVIRONMENT, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "metric-learn==0.7.0", "scikit-learn<1.8"], check=True)
    return python


def peer(python: Path, X, constraints, limits, max_iter: int):
    """Return metric-learn's matrix, and its time, iterations and warnings."""
    with tempfile.TemporaryDirectory() as folder:
        given, learned = Path(folder) / "given.npz", Path(folder) / "learned.npy"
        np.savez(
            given, X=X, pairs=constraints.pairs, similar=constraints.similar, limits=np.array(limits), gamma=GAMMA,
            max_iter=max_iter,
        )  # fmt: skip
        command = [str(python), "-c", PEER, str(given), str(learned), str(ROUNDS)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return np.load(learned), json.loads(output)


def accuracy(W, X, y, train, test) -> float:
    """Return the accuracy of 3-NN in the metric W."""
    L = np.linalg.cholesky((W + W.T) / 2 + 1e-14 * np.trace(W) * np.eye(len(W)))
    return KNeighborsClassifier(3).fit(X[train] @ L, y[train]).score(X[test] @ L, y[test])


def compare(python: Path, name: str, X, y, max_iter: int) -> None:
    rows = []
    for train, test in StratifiedShuffleSplit(SPLITS, test_size=0.3, random_state=0).split(X, y):
        codes = np.unique(y[train], return_inverse=True)[1]
        chosen = RandomPairs().select(X[train], codes, np.random.default_rng(0))
        constraints = bounded(X[train][:, :, None], chosen, QuantileBounds(), scale=None)
        problem = MetricProblem(
            X[train][:, :, None], constraints.pairs, constraints.similar, constraints.bounds, GAMMA, "is"
        )
        theirs, said = peer(python, X[train], constraints, constraints.limits, max_iter)
        solve(problem)  # compile before anything is timed
        ours = min((solve(problem, tol=1e-6) for _ in range(ROUNDS)), key=lambda result: result.seconds)
        certificate = problem.certify(theirs)
        assert ours.certificate.primal <= certificate.primal * (1.0 + 1e-6)
        rows.append(
            (
                ours.certificate.primal, certificate.primal, ours.certificate.relative_gap,
                (certificate.primal - ours.certificate.dual) / max(1.0, abs(ours.certificate.primal)),
                accuracy(ours.W, X, y, train, test), accuracy(theirs, X, y, train, test),
                1e3 * ours.seconds, 1e3 * said["seconds"], said["n_iter"], said["warned"],
                ours.status.name == "SOLVED",
            )
        )  # fmt: skip
    mean = np.mean(np.array(rows, dtype=float), axis=0)
    print(
        f"{name:>22} {problem.n_pairs:>5} {mean[0]:>11.4f} {mean[1]:>12.4f} {mean[2]:>9.0e} {mean[3]:>9.0e} "
        f"{100 * mean[4]:>6.1f} {100 * mean[5]:>6.1f} {mean[6]:>8.2f} {mean[7]:>9.1f} {mean[7] / mean[6]:>7.0f}x "
        f"{mean[8]:>6.0f} {'yes' if mean[9] else 'no':>7} {'all' if mean[10] == 1 else f'{mean[10]:.0%}':>7}",
        flush=True,
    )


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Compare our ITML with metric-learn's.")
    parser.add_argument(
        "--python", type=Path, help="an interpreter that has metric-learn 0.7 (default: a new environment)"
    )
    parser.add_argument(
        "--max-iter", type=int, default=1000, help="metric-learn's limit of iterations (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    python = options.python or environment()
    print(
        f"ITML: gamma = {GAMMA:g}, 100 random pairs per class, bounds at the 5th and 95th percentile, {SPLITS} splits."
    )
    print("Ours stops at a certified relative gap of 1e-6, metric-learn 0.7 by its own rule. gap: relative distance of")
    print("each objective from our lower bound. 3-NN accuracy in percent; ms, best of 3. Means over the splits.\n")
    print(
        f"{'data':>22} {'pairs':>5} {'objective':>11} {'metric-learn':>12} {'gap':>9} {'theirs':>9} {'acc.':>6} "
        f"{'theirs':>6} {'ms':>8} {'theirs':>9} {'ratio':>8} {'iter.':>6} {'warned':>7} {'solved':>7}"
    )
    with threadpool_limits(1):
        for name, load in (("iris", load_iris), ("wine", load_wine), ("breast cancer", load_breast_cancer)):
            X, y = load(return_X_y=True)
            compare(python, name, X, y, options.max_iter)
            compare(python, f"{name}, standardised", StandardScaler().fit_transform(X), y, options.max_iter)


if __name__ == "__main__":
    main(sys.argv[1:])

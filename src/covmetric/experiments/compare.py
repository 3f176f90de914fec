"""Fixed metrics, pyRiemann, peers and learned metrics on one's own data: the same folds, the same tuning budget."""

from __future__ import annotations

import inspect
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import Memory, Parallel, delayed
from pyriemann.classification import MDM, FgMDM, KNearestNeighbor
from pyriemann.geometry.distance import pairwise_distance
from pyriemann.tangentspace import TangentSpace
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.multiclass import check_classification_targets
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from covmetric._validation import (
    IntArray,
    Matrices,
    as_numbers,
    check_counts,
    generator,
    is_number,
    precision_of,
    symmetric,
    symmetry_tolerance,
)
from covmetric.estimators import CovMetric, CovMetricClassifier, CovMetricCV
from covmetric.estimators._input import require_classes
from covmetric.estimators._search import Split, splits_for
from covmetric.solvers import ONE_THREAD_BELOW, Status

#: Where a method comes from.
FIXED, PYRIEMANN, PEER, LEARNED = "fixed", "pyRiemann", "peer", "learned"
PHIS = ("id", "log", "relog", "sqrt", "chol")
#: Distances that are W = I for one of these Phi.
EUCLIDEAN = ("euclid", "logeuclid", "power", "cholesky")
RULES = {"3nn": "neighbors", "mean": "mean"}

#: pyRiemann's settings. There are as many C as CovMetricCV has candidates (4 Phi, 4 lambda and W = I), for each metric.
METRICS = ["riemann", "logeuclid"]
CS = np.logspace(-3, 5, 20).tolist()
NEIGHBORS = [1, 3, 5, 7, 9]


@dataclass(frozen=True)
class FoldResult:
    """One method on one fold.

    Attributes
    ----------
    repeat, fold : int
    accuracy, fit_seconds, predict_seconds : float or None
        None where it failed. The seconds to fit include those of tuning.
    chosen : str
        The settings that were chosen on the training part; empty where nothing is tuned.
    candidates : int
        Among how many settings.
    failure : str
        Why it failed; empty where it did not.
    """

    repeat: int
    fold: int
    accuracy: float | None = None
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    chosen: str = ""
    candidates: int = 0
    failure: str = ""


@dataclass(frozen=True)
class MethodRow:
    """One method on all the folds that were done."""

    kind: str
    method: str
    folds: tuple[FoldResult, ...]

    @property
    def failure(self) -> str:
        """Why it failed, the first time; empty where it never did."""
        return next((fold.failure for fold in self.folds if fold.failure), "")

    @property
    def accuracies(self) -> dict[tuple[int, int], float]:
        """By repeat and fold."""
        return {(one.repeat, one.fold): one.accuracy for one in self.folds if one.accuracy is not None}

    @property
    def accuracy(self) -> float | None:
        """The mean over the folds; None where one failed, because the others are no fair comparison."""
        return None if self.failure else float(np.mean(list(self.accuracies.values())))

    @property
    def standard_error(self) -> float | None:
        """Of the accuracy; None where there are fewer than two folds."""
        return None if self.failure else _standard_error(list(self.accuracies.values()))

    @property
    def chosen(self) -> dict[str, int]:
        """The settings that were chosen and how often, the most frequent first."""
        return dict(Counter(one.chosen for one in self.folds if one.chosen).most_common())

    @property
    def candidates(self) -> int:
        """Among how many settings."""
        return max((one.candidates for one in self.folds), default=0)

    def seconds(self, what: str) -> float | None:
        """The median over the folds to "fit" or to "predict": what is compiled or loaded once does not count."""
        known = [value for one in self.folds if (value := getattr(one, f"{what}_seconds")) is not None]
        return float(np.median(known)) if known else None


@dataclass(frozen=True)
class ComparisonTable:
    """All methods, and what they were compared on.

    Attributes
    ----------
    rows : tuple of MethodRow
    examples, size, classes : int
        Matrices, their number of rows, and classes.
    groups : int or None
        How many groups stayed together in the folds.
    folds, repeats, seed : int
    reg : float
    interrupted : bool
        Whether Ctrl-C came before the end: then `rows` has what was done.
    """

    rows: tuple[MethodRow, ...]
    examples: int
    size: int
    classes: int
    groups: int | None
    folds: int
    repeats: int
    seed: int
    reg: float
    interrupted: bool = False

    @property
    def best_fixed(self) -> MethodRow | None:
        """The fixed metric with the highest accuracy, chosen on these very folds; None where there is none."""
        fixed = [row for row in self.rows if row.kind == FIXED and not row.failure]
        return max(fixed, key=lambda row: (len(row.folds), row.accuracy), default=None)

    def difference(self, row: MethodRow) -> tuple[float | None, float | None]:
        """The mean difference to the best fixed metric over the folds of both, and its standard error."""
        best = self.best_fixed
        if best is None or row is best or row.failure:
            return None, None
        ours, theirs = row.accuracies, best.accuracies
        differences = [ours[key] - theirs[key] for key in ours if key in theirs]
        return (float(np.mean(differences)), _standard_error(differences)) if differences else (None, None)

    def summary(self) -> list[dict[str, Any]]:
        """One flat record per method, for a table."""
        records = []
        for row in self.rows:
            difference, error = self.difference(row)
            records.append(
                {
                    "kind": row.kind,
                    "method": row.method,
                    "accuracy": row.accuracy,
                    "standard_error": row.standard_error,
                    "difference": difference,
                    "difference_error": error,
                    "fit_seconds": row.seconds("fit"),
                    "predict_seconds": row.seconds("predict"),
                    "folds": len(row.folds),
                    "chosen": ", ".join(f"{words} ({times})" for words, times in row.chosen.items()),
                    "candidates": row.candidates,
                    "failure": row.failure,
                }
            )
        return records

    def as_dict(self) -> dict[str, Any]:
        """Everything in lists, dicts, strings and numbers, for JSON; `from_dict` reads it."""
        best = self.best_fixed
        return {**asdict(self), "best_fixed": best and best.method, "summary": self.summary()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The table that `as_dict` described."""
        given = {name: value for name, value in values.items() if name in cls.__dataclass_fields__}
        rows = tuple(
            MethodRow(row["kind"], row["method"], tuple(FoldResult(**fold) for fold in row["folds"]))
            for row in given.pop("rows")
        )
        return cls(rows=rows, **given)


@dataclass(frozen=True)
class Training:
    """What a classifier is made for: the training part of a fold.

    Attributes
    ----------
    reg : float
    seed : int
    inner_folds : function
        Gives the folds of the training part that everything is tuned on, as pairs of indices.
    folder : str
        For what is computed once and used by several candidates.
    """

    reg: float
    seed: int
    inner_folds: Callable[[], list[tuple[IntArray, IntArray]]]
    folder: str


@dataclass(frozen=True)
class Method:
    """A way to classify matrices. `adds_reg`: whether it does so itself; `slow` ones are no part of a quick look."""

    kind: str
    make: Callable[[Training], Any]
    adds_reg: bool = True
    slow: bool = False


class CachedNeighbors(KNearestNeighbor):  # type: ignore[misc]
    """pyRiemann's nearest neighbours, with its distances computed once for all k of a search."""

    def __init__(self, n_neighbors: int = 3, metric: str = "riemann", n_jobs: int = 1, memory: str | None = None):
        super().__init__(n_neighbors, metric, n_jobs)
        self.memory = memory

    def _predict_distances(self, X: Any) -> Any:
        return Memory(self.memory, verbose=0).cache(pairwise_distance)(X, self.covmeans_, metric=self.metric)


def available_methods() -> dict[str, Method]:
    """What can be compared, by name."""
    rules = RULES.items()
    found = {f"{phi}-{short}": Method(FIXED, _fixed(phi, rule)) for short, rule in rules for phi in PHIS}
    tuned = {"mdm": _mdm, "fgmdm": _fgmdm, "tangent-logreg": _tangent_logreg, "riemann-knn": _riemann_knn}
    peers = _peers() if find_spec("covmetric.peers") else {}
    found |= {name: method for name, method in peers.items() if method.kind == FIXED}
    found |= {name: Method(PYRIEMANN, make, False, slow=name == "riemann-knn") for name, make in tuned.items()}
    found |= {name: method for name, method in peers.items() if method.kind == PEER}
    found |= {f"covmetric-{short}": Method(LEARNED, _learned(rule)) for short, rule in rules}
    found |= {f"covmetriccv-{short}": Method(LEARNED, _searched(rule)) for short, rule in rules}
    return found


def _fixed(phi: str, rule: str) -> Callable[[Training], Any]:
    return lambda given: CovMetricClassifier(CovMetric(phi, lam=np.inf, reg=given.reg), rule=rule)


def _learned(rule: str) -> Callable[[Training], Any]:
    return lambda given: CovMetricClassifier(CovMetric(reg=given.reg, random_state=given.seed), rule=rule)


def _searched(rule: str) -> Callable[[Training], Any]:
    def make(given: Training) -> Any:
        search = CovMetricCV(reg=given.reg, random_state=given.seed, rule=rule, cv=given.inner_folds())
        return CovMetricClassifier(search, rule=rule)

    return make


def _mdm(given: Training) -> Any:
    return GridSearchCV(MDM(), {"metric": METRICS}, cv=given.inner_folds())


def _fgmdm(given: Training) -> Any:
    return GridSearchCV(FgMDM(), {"metric": METRICS}, cv=given.inner_folds())


def _tangent_logreg(given: Training) -> Any:
    steps = [("tangent", TangentSpace()), ("logreg", LogisticRegression(max_iter=10_000))]
    grid = {"tangent__metric": METRICS, "logreg__C": CS}
    return GridSearchCV(Pipeline(steps, memory=given.folder), grid, cv=given.inner_folds())


def _riemann_knn(given: Training) -> Any:
    grid = {"metric": METRICS, "n_neighbors": NEIGHBORS}
    return GridSearchCV(CachedNeighbors(memory=given.folder), grid, cv=given.inner_folds())


def _peers() -> dict[str, Method]:
    """The metric learners and the fixed distances of `covmetric.peers`, with 3-NN."""
    peers, fixed = import_module("covmetric.peers"), import_module("covmetric.peers.fixed")

    def distance(name: str) -> Callable[[Training], Any]:
        return lambda _: fixed.FixedDistanceClassifier(name, 3)

    def peer(learner: Any, settings: Any) -> Callable[[Training], Any]:
        def make(given: Training) -> Any:
            values = {"reg": given.reg, "random_state": given.seed}
            chosen = {name: value for name, value in values.items() if name in settings}
            return make_pipeline(learner(**chosen), KNeighborsClassifier(3))

        return make

    others = [name for name in fixed.FIXED_DISTANCES if name not in EUCLIDEAN]
    found = {f"distance:{name}": Method(FIXED, distance(name), adds_reg=False, slow=True) for name in others}
    for name, learner in peers.PEERS.items():
        settings = inspect.signature(learner).parameters
        found[f"peer:{name}"] = Method(PEER, peer(learner, settings), adds_reg="reg" in settings, slow=True)
    return found


def compare(
    X: Any,
    y: Any,
    groups: Any = None,
    methods: Sequence[str] | None = None,
    folds: int = 5,
    *,
    repeats: int = 1,
    reg: float = 1e-6,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> ComparisonTable:
    """Cross-validate methods on the same folds; what has settings is tuned on the same folds of each training part.

    Parameters
    ----------
    X : array, shape (l, n, n)
        Symmetric or Hermitian positive definite matrices.
    y : array, shape (l,)
    groups : array, shape (l,), or None
        Examples of one group are never on both sides of a split, neither of a fold nor of one that is tuned on.
    methods : list of str or None, default=None
        Names of `available_methods()`; None: all.
    folds : int, default=5
        Fewer where no class has as many examples or groups.
    repeats : int, default=1
        How often to draw new folds.
    reg : float, default=1e-6
        Added to the diagonal of each matrix, as a share of its mean eigenvalue, for all methods alike.
    seed : int, default=0
    n_jobs : int or None, default=None
        Processes that share the work; accuracies do not depend on it, but seconds do.
    progress : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    ComparisonTable
        A method that fails on a fold has the reason there. Ctrl-C gives what was done until then.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.experiments.compare import compare
    >>> data = make_spd_classes(n_classes=2, n_per_class=20, n=4)
    >>> table = compare(data.X, data.y, methods=["log-3nn", "covmetric-3nn"], folds=2)
    >>> [(row.kind, row.method) for row in table.rows], table.best_fixed.method
    ([('fixed', 'log-3nn'), ('learned', 'covmetric-3nn')], 'log-3nn')
    """
    matrices, codes, groups = _check_data(X, y, groups)
    check_counts(repeats=repeats)
    if not (is_number(reg) and reg >= 0):
        raise ValueError(f"reg must be a number >= 0, got {reg!r}")
    known = available_methods()
    names = _check_names(methods, known)
    splits = [splits_for(folds, matrices, codes, groups, _seed([seed, repeat])) for repeat in range(repeats)]
    tasks = [
        (name, repeat, fold, split)
        for repeat, several in enumerate(splits)
        for fold, split in enumerate(several)  # fold by fold, so that after Ctrl-C methods share the folds
        for name in names
    ]
    work = (delayed(run_fold)(*task, matrices, codes, groups, reg, seed) for task in tasks)
    done: dict[str, list[FoldResult]] = {name: [] for name in names}
    interrupted = False
    bar = tqdm(tasks, "compare", disable=not progress)
    try:
        for (name, *_), result in zip(bar, Parallel(n_jobs, return_as="generator")(work), strict=True):
            done[name].append(result)
            bar.set_postfix_str(name, refresh=False)
    except KeyboardInterrupt:
        if not any(done.values()):
            raise
        interrupted = True
    bar.close()
    return ComparisonTable(
        rows=tuple(MethodRow(known[name].kind, name, tuple(several)) for name, several in done.items() if several),
        examples=len(matrices),
        size=matrices.shape[1],
        classes=int(codes.max()) + 1,
        groups=None if groups is None else len(np.unique(groups)),
        folds=len(splits[0]),
        repeats=repeats,
        seed=seed,
        reg=reg,
        interrupted=interrupted,
    )


def run_fold(
    name: str,
    repeat: int,
    fold: int,
    split: Split,
    X: Matrices,
    codes: IntArray,
    groups: npt.NDArray[Any] | None,
    reg: float,
    seed: int,
) -> FoldResult:
    """Fit a method on the training part of a split, and test it on the other."""
    method = available_methods()[name]
    train, test = split.train, split.test
    data = X if method.adds_reg else _regularised(X, reg)

    def inner_folds() -> list[tuple[IntArray, IntArray]]:
        within = None if groups is None or len(np.unique(groups[train])) < 2 else groups[train]
        # The folds that CovMetricCV(random_state=seed) would draw.
        return [
            (one.train, one.test) for one in splits_for(CovMetricCV().cv, X[train], codes[train], within, _seed(seed))
        ]

    threads = 1 if X.shape[1] < ONE_THREAD_BELOW else None
    with TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught, threadpool_limits(threads):
        warnings.simplefilter("always")
        try:
            classifier = method.make(Training(reg, seed, inner_folds, folder))
            started = time.perf_counter()
            classifier.fit(data[train], codes[train])
            fitted = time.perf_counter()
            accuracy = float(np.mean(classifier.predict(data[test]) == codes[test]))
            ended = time.perf_counter()
        except Exception as error:  # whatever other people's code may raise: the other methods go on
            return FoldResult(repeat, fold, failure=_reason(error))
    if _was_interrupted(caught):
        raise KeyboardInterrupt
    return FoldResult(repeat, fold, accuracy, fitted - started, ended - fitted, *_choice(classifier))


def _was_interrupted(caught: list[warnings.WarningMessage]) -> bool:
    """Whether Ctrl-C came during the fit: our learners then keep the best so far, which is no fair result."""
    messages = [str(one.message) for one in caught]
    return any(text.startswith(Status.INTERRUPTED.name) or "search was cut short" in text for text in messages)


def _choice(classifier: Any) -> tuple[str, int]:
    """The settings that were chosen, in words, and among how many."""
    search = getattr(classifier, "learner_", classifier)
    if not hasattr(search, "best_params_"):
        return "", 0
    settings = {name.split("__")[-1]: value for name, value in search.best_params_.items()}
    words = [
        f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in sorted(settings.items(), key=lambda one: isinstance(one[1], float))
        if name not in ("pairs", "slack")  # CovMetricCV's defaults have one of each
    ]
    return " ".join(words), len(search.cv_results_["params"])


def _reason(error: Exception) -> str:
    """One line: of the many that GridSearchCV writes where all candidates fail, the one with the error itself."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    errors = [line for line in lines if line.partition(": ")[0].endswith("Error")]
    return (errors[-1] if len(lines) > 1 and errors else lines[0]) if lines else type(error).__name__


def _check_data(X: Any, y: Any, groups: Any) -> tuple[Matrices, IntArray, npt.NDArray[Any] | None]:
    """X as symmetric matrices, y as codes 0, 1, ..., groups as an array."""
    matrices = as_numbers("X", X)
    if matrices.ndim != 3:
        raise ValueError(f"X must hold matrices, shape (l, n, n); got {matrices.shape}")
    matrices = symmetric("X", matrices, symmetry_tolerance(precision_of(np.asarray(X).dtype)))
    labels = np.asarray(y)
    for name, value in (("y", labels), ("groups", None if groups is None else np.asarray(groups))):
        if value is not None and value.shape != (len(matrices),):
            raise ValueError(f"{name} must have one entry per matrix, shape ({len(matrices)},); got {value.shape}")
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    require_classes(classes)
    return matrices, codes.astype(np.int64), None if groups is None else np.asarray(groups)


def _check_names(methods: Sequence[str] | None, known: dict[str, Method]) -> list[str]:
    names = list(known) if methods is None else list(dict.fromkeys(methods))
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        problem = f"there is no method {unknown[0]!r}" if unknown else "methods is empty"
        raise ValueError(f"{problem}; there are {', '.join(known)}")
    return names


def _regularised(X: Matrices, reg: float) -> Matrices:
    """What `reg` of an embedding does, for methods that have no such setting."""
    n = X.shape[-1]
    mean = np.trace(X, axis1=1, axis2=2).real / n
    return np.asarray(X + reg * mean[:, None, None] * np.eye(n))


def _seed(entropy: Any) -> int:
    return int(generator(entropy).integers(2**32))


def _standard_error(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None

"""A state machine over the life of a model: fit, partial_fit, save, load, copy, predict, in any order."""

from __future__ import annotations

import copy
import pickle
import tempfile
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from sklearn.base import clone

from benchmarks.torture.outcomes import Tally, check_finite, check_result, strict_warnings
from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, load_model, save_model

MODELS: dict[str, Any] = {
    "metric": lambda: CovMetric(random_state=0),
    "metric, gmml": lambda: CovMetric("id", prior="gmml", random_state=0),
    "search": lambda: CovMetricCV(["log", "relog"], lambdas=[1.0, 1e-2], cv=2, random_state=0),
    "neighbours": lambda: CovMetricClassifier(CovMetric("log", random_state=0), n_neighbors=1),
    "means": lambda: CovMetricClassifier(CovMetric("tangent", random_state=0), rule="mean"),
    "svm": lambda: CovMetricClassifier(CovMetric(prior="within", random_state=0), rule="svm", random_state=0),
}


def data(seed: int, n_classes: int, n: int = 3) -> tuple[Any, Any]:
    """Return random matrices and labels.

    Parameters
    ----------
    seed, n_classes, n : int
        The seed, the number of classes and of channels.

    Returns
    -------
    X : array of shape (l, n, n)
        The matrices.
    y : array of int of shape (l,)
        The labels.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(6 * n_classes) % n_classes
    A = rng.standard_normal((len(y), n, 3 * n)) * (1.0 + 0.5 * y[:, None, None])
    return A @ A.swapaxes(1, 2), y


class LifeOfAModel(RuleBasedStateMachine):
    """What a user may do to a model; after each step it predicts what it should."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "model.npz"
        self.saved: Any = None  # the output of the saved model
        self.fitted = False

    @initialize(kind=st.sampled_from(sorted(MODELS)))
    def make(self, kind: str) -> None:
        """Make a model."""
        self.model = MODELS[kind]()

    @rule(seed=st.integers(0, 5), n_classes=st.integers(2, 4))
    def fit(self, seed: int, n_classes: int) -> None:
        """Fit the model, which forgets what it has learned before."""
        with strict_warnings():
            self.model.fit(*data(seed, n_classes))
            once = self.output()
            self.model.fit(*data(seed, n_classes))
        np.testing.assert_array_equal(self.output(), once)
        check_result(getattr(self.model, "result_", None))
        self.fitted = True

    @precondition(lambda self: hasattr(self.model, "partial_fit"))
    @rule(seed=st.integers(0, 5))
    def partial_fit(self, seed: int) -> None:
        """Add examples of the same or of other classes; classes have to be announced at the first call."""
        X, y = data(seed, 3)
        with strict_warnings():
            if self.fitted and not set(np.unique(y)) <= set(self.model.classes_):
                return
            self.model.partial_fit(X, y, **({} if self.fitted else {"classes": [0, 1, 2]}))
        self.fitted = True
        self.output()

    @precondition(lambda self: self.fitted)
    @rule()
    def save(self) -> None:
        """Save the model."""
        with strict_warnings():
            save_model(self.model, self.path)
        self.saved = self.output()

    @precondition(lambda self: self.saved is not None)
    @rule()
    def load(self) -> None:
        """Load the model that was saved last, in place of the present one."""
        with strict_warnings():
            self.model = load_model(self.path)
        np.testing.assert_array_equal(self.output(), self.saved)
        self.fitted = True

    @precondition(lambda self: self.fitted)
    @rule(how=st.sampled_from([copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))]))
    def duplicate(self, how: Any) -> None:
        """Copy or pickle the model."""
        before = self.output()
        self.model = how(self.model)
        np.testing.assert_array_equal(self.output(), before)

    @rule()
    def forget(self) -> None:
        """Clone the model, which is then not fitted."""
        self.model = clone(self.model)
        self.fitted = False

    @precondition(lambda self: not self.fitted)
    @rule()
    def use_too_early(self) -> None:
        """An unfitted model refuses to predict and to be saved, and an older file stays."""
        for use in (self.output, lambda: save_model(self.model, self.path)):
            try:
                use()
            except (ValueError, AttributeError):  # NotFittedError is both
                continue
            raise AssertionError("an unfitted model was used")

    def output(self) -> Any:
        """Return what the model makes of fixed examples."""
        X = data(99, 2)[0]
        with strict_warnings():
            result = (self.model.predict_proba if hasattr(self.model, "predict_proba") else self.model.transform)(X)
        check_finite(result)
        return result

    def teardown(self) -> None:
        """Remove the file."""
        self.folder.cleanup()


def states(tally: Tally, seed: int, count: int) -> None:
    """Run the state machine."""

    class Counted(LifeOfAModel):
        """Counts its runs."""

        def teardown(self) -> None:
            tally.certified += 1
            super().teardown()

    settings = hypothesis.settings(
        max_examples=count, stateful_step_count=12, deadline=None, database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    try:
        run_state_machine_as_test(hypothesis.seed(seed)(Counted), settings=settings)
    except Exception as error:
        tally.defects.append(f"{type(error).__name__}: {error}; {getattr(error, '__notes__', '')}")

"""A fit that fails, or is interrupted, leaves an estimator as it was."""

from __future__ import annotations

import os
import signal
import warnings
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from covmetric import (
    CovMetric,
    CovMetricClassifier,
    CovMetricCV,
    CovMetricPairs,
    ImagePatchClassifier,
    Recentre,
    Status,
)
from covmetric.datasets import make_textures
from covmetric.descriptors import GridPatches, ImageCovariances
from covmetric.estimators import cov_metric, image_patches
from covmetric.learning.group_means import GroupMeans
from tests.data import classes_of_matrices


class Case(NamedTuple):
    """An estimator, arguments of `fit` that it accepts, others that fail, and a step near the end of `fit`."""

    estimator: Any
    right: dict[str, Any]
    wrong: dict[str, Any]
    message: str
    step: tuple[Any, str]


def cases():
    X, y = classes_of_matrices(40)
    smaller = X[:, :3, :3].copy()
    smaller[-1, 0, 0] = np.nan
    pairs, similar = X.reshape(20, 2, 4, 4), np.tile([1, -1], 10)
    images = make_textures(n_classes=2, n_per_class=4, size=48)
    of_patches = ImagePatchClassifier(
        ImageCovariances("grey", regions=GridPatches(24)), CovMetricClassifier(CovMetric(random_state=0))
    )
    groups = np.arange(40) % 2
    return {
        "CovMetric": Case(
            CovMetric("log"), {"X": X, "y": y}, {"X": smaller, "y": y}, "nan", (CovMetric, "_set_fitted")
        ),
        "CovMetricCV": Case(
            CovMetricCV("log", lambdas=[0.1], cv=2, random_state=0),
            {"X": X, "y": y},
            {"X": smaller, "y": y},
            "nan",
            (CovMetric, "_set_fitted"),
        ),
        "CovMetricPairs": Case(
            CovMetricPairs("log"),
            {"pairs": pairs, "y": similar},
            {"pairs": pairs[:, :, :3, :3], "y": np.ones(20)},
            "no threshold was calibrated",  # a warning, which is an error here
            (CovMetricPairs, "calibrate_threshold"),
        ),
        "Recentre": Case(
            Recentre(),
            {"X": X, "groups": groups},
            {"X": X[:, :3, :3], "groups": [7, *groups[1:]]},
            "7",
            (GroupMeans, "fit"),
        ),
        "ImagePatchClassifier": Case(
            of_patches,
            {"X": images.images, "y": images.y},
            {"X": images.images, "y": images.y, "thumbnails": [np.zeros((2, 2))] * 8},
            "thumbnails",
            (image_patches, "_at"),
        ),
    }


CASES = cases()


def interrupted(*args, **options):
    raise KeyboardInterrupt


@pytest.mark.parametrize("fitted", [False, True], ids=["unfitted", "fitted"])
@pytest.mark.parametrize("failure", ["error", "interrupt"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(case, failure, fitted, monkeypatch):
    estimator = clone(case.estimator)
    if fitted:
        estimator.fit(**case.right)
    before = dict(vars(estimator))
    if failure == "error":
        warnings.simplefilter("error")
        with pytest.raises((ValueError, UserWarning), match=case.message):
            estimator.fit(**case.wrong)
    else:
        monkeypatch.setattr(*case.step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            estimator.fit(**case.right)
    assert estimator.is_fitted() is fitted
    assert vars(estimator).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(estimator).items())


def test_ctrl_c_in_a_solve_leaves_the_best_model_so_far(monkeypatch):
    @contextmanager
    def callback_that_interrupts(verbose):
        yield lambda state: os.kill(os.getpid(), signal.SIGINT)

    X, y = classes_of_matrices(40)
    learner = CovMetric("log", lam=1e-4, solver="newton", random_state=0).fit(X, y)
    first = learner.metric_
    monkeypatch.setattr(cov_metric, "progress_callback", callback_that_interrupts)
    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        learner.set_params(lam=1e-5).fit(X, y)
    assert learner.status_ is Status.INTERRUPTED
    assert learner.metric_ is not first

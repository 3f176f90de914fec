"""Hand gestures in a new session or of a new person: what recentring is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import Bunch

from covmetric.datasets.emg import load_emg
from covmetric.estimators import CovMetric, CovMetricClassifier, Recentre

#: The ways in which the matrices of the new session are moved, by the `new_groups` of `Recentre`; None does not move.
RECENTRINGS: dict[str, str | None] = {
    "not recentred": None,
    "running mean": "running",
    "mean of session": "transductive",
}


@dataclass(frozen=True)
class Transfer:
    """The accuracies of a classifier in one session, which was not used for training.

    Attributes
    ----------
    case : str
        "new session" (trained on the other session of the person) or "new person" (on all sessions of the others).
    person : str
        The person who is tested.
    session : int
        The session that is tested.
    accuracies : dict from str to float
        The accuracy with each entry of `RECENTRINGS`.
    """

    case: str
    person: str
    session: int
    accuracies: dict[str, float]


def gesture_transfer(window: int = 250, seed: int = 0) -> list[Transfer]:
    """Test a support vector machine in a learned metric on each session, trained on other sessions or other people.

    The sessions are recentred, without labels. The new session is recentred trial by trial in the order of recording,
    or by the mean of all its matrices.

    Parameters
    ----------
    window : int, default=250
        The number of samples per covariance matrix.
    seed : int, default=0
        The random state of the learner.

    Returns
    -------
    list of Transfer
        The results, first for new sessions, then for new people.
    """
    data = load_emg(window)
    results = []
    for case in ("new session", "new person"):
        for person in np.unique(data.person).tolist():
            for session in (1, 2):
                target = (data.person == person) & (data.session == session)
                same = data.person == person
                source = ~same if case == "new person" else same & ~target
                results.append(Transfer(case, person, session, _accuracies(data, source, target, seed)))
    return results


def _accuracies(data: Bunch, source: np.ndarray, target: np.ndarray, seed: int) -> dict[str, float]:
    """Return the accuracy on the target with each way of recentring."""
    names = np.array([f"{p} {s}" for p, s in zip(data.person, data.session, strict=True)])
    recentre = Recentre().fit(data.X[source], groups=names[source])
    recentred = recentre.transform(data.X[source], groups=names[source])
    learners = {}
    for moved, X in ((False, data.X[source]), (True, recentred)):
        classifier = CovMetricClassifier(CovMetric(random_state=seed), rule="svm")
        learners[moved] = classifier.fit(X, data.y[source], groups=data.groups[source])
    accuracies = {}
    for name, new_groups in RECENTRINGS.items():
        X = data.X[target]
        if new_groups is not None:
            X = recentre.set_params(new_groups=new_groups).transform(X, groups=names[target])
        predicted = learners[new_groups is not None].predict(X)
        accuracies[name] = float(np.mean(predicted == data.y[target]))
    return accuracies

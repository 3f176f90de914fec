"""One attempt of a method of a comparison, which may fail or be interrupted, and what it chose."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from covmetric._utils.threads import limited_threads, threads_for
from covmetric.solvers import Status

Value = TypeVar("Value")


def attempt(work: Callable[[str], Value], X: npt.NDArray[np.generic]) -> tuple[Value | None, str]:
    """Fit and test a method, without warnings.

    Parameters
    ----------
    work : function
        Fits and tests the method. Its argument is the path of a temporary folder.
    X : array of shape (l, n, n)
        The matrices, whose size decides the number of BLAS threads.

    Returns
    -------
    value : object or None
        What `work` returns, or None if it fails.
    failure : str
        The reason why it failed, in one line, or "" if it did not.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C ended a fit early. The model is then incomplete, and its accuracy would be unfair.

    Examples
    --------
    >>> attempt(lambda folder: 1 / 0, np.eye(2)[None])
    (None, 'division by zero')
    """
    with (
        TemporaryDirectory() as folder,
        warnings.catch_warnings(record=True) as caught,
        limited_threads(threads_for(X)),
    ):
        warnings.simplefilter("always")
        try:
            value = work(folder)
        except Exception as error:  # third-party code may raise any error; the other methods continue
            return None, _reason_of(error)
    if _was_interrupted(caught):
        raise KeyboardInterrupt
    return value, ""


def choice_of(classifier: Any) -> tuple[str, int]:
    """Return the settings that a search chose.

    Parameters
    ----------
    classifier : object
        A fitted estimator, which may be a search or have a search as its `learner_`.

    Returns
    -------
    chosen : str
        The chosen settings as text, or "" if nothing was searched.
    candidates : int
        The number of candidates.
    """
    search = getattr(classifier, "learner_", classifier)
    if not hasattr(search, "best_params_"):
        return "", 0
    combined = ("rule", "C", "n_neighbors") if getattr(classifier, "rule", None) == "auto" else ()  # all are combined
    parameters = {name.split("__")[-1]: value for name, value in search.best_params_.items() if name not in combined}
    settings = [
        f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={getattr(value, 'name', value)}"
        for name, value in sorted(parameters.items(), key=lambda item: isinstance(item[1], float))
        if name not in ("pairs", "slack")
        and value is not None  # CovMetricCV has a single candidate for these by default
    ]
    return " ".join(settings), len(search.cv_results_["params"])


def _reason_of(error: Exception) -> str:
    """Return an error in one line; if all candidates of a GridSearchCV fail, the last error of its long message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    errors = [line for line in lines if line.partition(": ")[0].endswith("Error")]
    return (errors[-1] if len(lines) > 1 and errors else lines[0]) if lines else type(error).__name__


def _was_interrupted(caught: list[warnings.WarningMessage]) -> bool:
    """Return whether a warning says that Ctrl-C ended a fit early."""
    messages = [str(one.message) for one in caught]
    return any(text.startswith(Status.INTERRUPTED.name) or "was cut short" in text for text in messages)

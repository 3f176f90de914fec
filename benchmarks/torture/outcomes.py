"""What counts as a certified result, a clear error and a defect."""

from __future__ import annotations

import contextlib
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covmetric import Status

# Messages of ours, and those of scikit-learn's own checks of X and y, name the argument. Others are accidents.
_CLEAR_SOURCES = ("/covmetric/", "/sklearn/utils/", "/sklearn/base.py", "/sklearn/model_selection/")


@dataclass
class Tally:
    """The outcomes of a campaign."""

    name: str
    certified: int = 0
    clear: int = 0
    seconds: float = 0.0
    defects: list[str] = field(default_factory=list)

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return self.certified + self.clear + len(self.defects)

    def attempt(self, work: Callable[[], Any], label: str, errors: tuple[type[BaseException], ...] = ()) -> Any:
        """Do something, and record its outcome.

        Parameters
        ----------
        work : callable
            Returns a result that has been checked; raises AssertionError if the check fails.
        label : str
            Names the input in the list of defects.
        errors : tuple of exception types, default=()
            Errors that are clear here, besides ValueError with a message of covmetric or scikit-learn.

        Returns
        -------
        object
            The result, or None after an error.
        """
        try:
            with strict_warnings():
                result = work()
        except errors:
            self.clear += 1
        except Exception as error:
            if is_clear(error):
                self.clear += 1
            else:
                where = traceback.extract_tb(error.__traceback__)[-1]
                self.defects.append(f"{label}: {type(error).__name__}: {error} ({where.filename}:{where.lineno})")
        else:
            self.certified += 1
            return result
        return None

    def require(self, holds: bool, label: str) -> None:
        """Count an input as certified if a statement holds, and as a defect otherwise."""
        if holds:
            self.certified += 1
        else:
            self.defects.append(label)


@contextlib.contextmanager
def strict_warnings() -> Iterator[None]:
    """Turn all warnings into errors but UserWarning, which is how covmetric speaks to its users."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # and ConvergenceWarning, a subclass
        yield


def is_clear(error: Exception) -> bool:
    """Return whether an error is a ValueError or TypeError of covmetric or of scikit-learn's checks, with a message."""
    if not isinstance(error, ValueError | TypeError) or isinstance(error, np.linalg.LinAlgError | UnicodeError):
        return False
    where = traceback.extract_tb(error.__traceback__)[-1]
    # An error in C code also ends in a line of covmetric, which then does not raise anything.
    deliberate = (where.line or "").startswith("raise")
    return deliberate and len(str(error)) > 15 and any(part in where.filename for part in _CLEAR_SOURCES)


def check_result(result: Any) -> None:
    """Raise AssertionError unless a SolveResult is what its status says.

    Parameters
    ----------
    result : SolveResult or None
        The result; None if nothing was solved.
    """
    if result is None:
        return
    certificate = result.certificate
    assert np.isfinite(result.W).all(), "W is not finite"
    assert np.linalg.eigvalsh(result.W)[0] > -1e-9 * np.abs(result.W).max(), "W is not positive semi-definite"
    assert not np.isnan(certificate.gap), "the gap is NaN"
    if result.status is Status.SOLVED:
        assert certificate.relative_gap <= certificate.tol, "SOLVED, but the gap is larger than the tolerance"
        assert np.isfinite([certificate.primal, certificate.dual]).all(), "SOLVED, but the objective is not finite"


def check_finite(*arrays: Any) -> None:
    """Raise AssertionError unless all numbers are finite.

    Parameters
    ----------
    *arrays : arrays
        Arrays of numbers.
    """
    for array in arrays:
        assert np.isfinite(array).all(), "a result is not finite"

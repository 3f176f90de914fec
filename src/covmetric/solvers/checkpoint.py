"""Checkpoints of a solve in blocks: a file from which it resumes, with the same result."""

from __future__ import annotations

import os
import struct
import zipfile
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.model_file.archive import read_archive, write_archive
from covmetric.problem import BlockProblem, Certificate, CertifiedPoint
from covmetric.problem.blocks import (
    GivenMultipliers,
    KeyedMatrix,
    MetricMultipliers,
    PairMultipliers,
    ZeroMultipliers,
)
from covmetric.solvers.blocks import StepMultipliers
from covmetric.solvers.blocks.solver import BlockState

_KIND = "checkpoint"
# What reading a file that is damaged, or made by somebody else, may raise.
_DAMAGED = (ValueError, KeyError, TypeError, IndexError, OverflowError, EOFError, struct.error, zipfile.BadZipFile)
_NUMBERS = ("weight_fraction", "fraction_growth", "primal", "dual")
_COUNTS = ("steps_at_fraction", "retreats", "may_retreat", "preconditioned", "n_steps", "steps_since_certificate")


@dataclass(frozen=True)
class Progress:
    """What the loop knows after some iterations.

    Attributes
    ----------
    n_iter : int
        The number of iterations.
    seconds : float
        The time that they took.
    rows : list of tuple
        The history.
    best_gaps : list of float
        The best gap at each certificate.
    best_metric, best_multipliers : CertifiedPoint
        The certified points with the best metric and with the best multipliers.
    """

    n_iter: int
    seconds: float
    rows: list[tuple[Any, ...]]
    best_gaps: list[float]
    best_metric: CertifiedPoint
    best_multipliers: CertifiedPoint


class Checkpoint:
    """A file with the state of a solve. It is written whole or not at all, and holds no code.

    Parameters
    ----------
    path : path-like
        The file.
    problem : BlockProblem
        The problem. A file of another problem is refused.
    tol : float
        The tolerance of the solve.

    Raises
    ------
    ValueError
        If the path is not that of a file in an existing folder.
    """

    def __init__(self, path: Any, problem: BlockProblem, tol: float) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ValueError(f"checkpoint must be the path of a file, got {path!r}")
        self.path = Path(path)
        if self.path.is_dir() or not self.path.resolve().parent.is_dir():
            raise ValueError(f"checkpoint {self.path} must be the name of a file in a folder that exists")
        self._tol = float(tol)
        self._key = problem.source.fingerprint()
        self._shape, self._n_pairs = (problem.n, problem.n), problem.n_pairs

    def save(self, progress: Progress, state: BlockState) -> None:
        """Write the state.

        Parameters
        ----------
        progress : Progress
            What the loop knows.
        state : BlockState
            The state of the solver.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        arrays: dict[str, Any] = {
            "C": state.C,
            **_steps_to(state.W),
            "numbers": np.array([getattr(state, name) for name in _NUMBERS]),
            "counts": np.array([int(getattr(state, name)) for name in _COUNTS]),
            "history": np.array([row[:6] for row in progress.rows], dtype=np.float64),
            "best_gaps": np.array(progress.best_gaps),
        }
        manifest: dict[str, Any] = {
            "key": self._key.hex(),
            "tol": self._tol,
            "n_iter": progress.n_iter,
            "seconds": progress.seconds,
            "phases": [str(row[6]) for row in progress.rows],
        }
        described = {"candidate": state.multipliers}
        for name, point in (("best_metric", progress.best_metric), ("best_multipliers", progress.best_multipliers)):
            arrays[f"{name}_metric"] = point.W
            arrays[f"{name}_certificate"] = np.array(astuple(point.certificate))
            described[f"{name}_multipliers"] = point.multipliers
        for name, multipliers in described.items():
            manifest[name] = _describe(name, multipliers, arrays)
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        write_archive(self.path, {"class": _KIND, "model": manifest}, contiguous, read_archive)

    def load(self, state: BlockState) -> tuple[Progress, BlockState] | None:
        """Read the file, if there is one.

        Parameters
        ----------
        state : BlockState
            The state at the start of the solve.

        Returns
        -------
        tuple of (Progress, BlockState), or None
            None if there is no file.

        Raises
        ------
        ValueError
            If the file is damaged, or belongs to another problem.
        """
        if not self.path.exists():
            return None
        try:
            manifest, arrays = read_archive(self.path)
            model = manifest["model"]
            if manifest["class"] != _KIND:
                raise ValueError("it holds a model")
            if model["key"] != self._key.hex() or model["tol"] != self._tol:
                raise ValueError("it belongs to another problem or tolerance")
            return self._restored(model, arrays, state)
        except _DAMAGED as error:
            raise ValueError(
                f"checkpoint {self.path} cannot be resumed: {error}; remove the file to start from the beginning"
            ) from None

    def _restored(
        self, model: dict[str, Any], arrays: dict[str, Any], state: BlockState
    ) -> tuple[Progress, BlockState]:
        numbers: dict[str, Any] = dict(zip(_NUMBERS, _numbers(arrays, "numbers", len(_NUMBERS)), strict=True))
        counts: dict[str, Any] = {
            name: int(count)
            for name, count in zip(_COUNTS, _numbers(arrays, "counts", len(_COUNTS), np.int64), strict=True)
        }
        for name in ("may_retreat", "preconditioned"):
            counts[name] = bool(counts[name])
        if not (0.0 < numbers["weight_fraction"] <= 1.0 and 0.0 < numbers["fraction_growth"] < np.inf):
            raise ValueError("its place on the path of weights is invalid")
        candidate = _restore("candidate", model["candidate"], arrays, self._shape, self._n_pairs)
        C = _matrix(arrays["C"], self._shape)
        if np.triu(C, 1).any() or not (C.diagonal() > 0.0).all():
            raise ValueError("its factor is not triangular with a positive diagonal")
        W = _after_steps(arrays, self._shape)
        resumed = replace(state, C=C, W=W, multipliers=candidate, **numbers, **counts)
        points = [self._point(name, model, arrays) for name in ("best_metric", "best_multipliers")]
        gaps, history, phases = arrays["best_gaps"], arrays["history"], model["phases"]
        if not (len(phases) > 0 and gaps.shape == (len(phases),) and history.shape == (len(phases), 6)):
            raise ValueError("its history is incomplete")
        rows = [
            (int(row[0]), int(row[1]), *row[2:], str(phase))
            for row, phase in zip(history.tolist(), phases, strict=True)
        ]
        n_iter = int(model["n_iter"])
        if n_iter != resumed.n_steps or n_iter < rows[-1][0]:
            raise ValueError("its number of iterations is invalid")
        progress = Progress(n_iter, float(model["seconds"]), rows, gaps.tolist(), *points)
        return progress, resumed

    def _point(self, name: str, model: dict[str, Any], arrays: dict[str, Any]) -> CertifiedPoint:
        values = _numbers(arrays, f"{name}_certificate", len(fields(Certificate)))
        key = f"{name}_multipliers"
        multipliers = _restore(key, model[key], arrays, self._shape, self._n_pairs)
        W = _matrix(arrays[f"{name}_metric"], self._shape)
        return CertifiedPoint(W, multipliers, Certificate(*values), None, derived=False)

    def remove(self) -> None:
        """Remove the file, if there is one."""
        self.path.unlink(missing_ok=True)


def _matrix(array: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Return an array, or raise ValueError if it does not have this shape, or is not finite."""
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"a matrix does not have shape {shape}, or is not finite")
    return array.copy()  # aligned, even if it is part of a larger array


def _numbers(arrays: dict[str, Any], name: str, count: int, dtype: Any = np.float64) -> list[Any]:
    """Return so many numbers, or raise ValueError."""
    array = arrays[name]
    if array.shape != (count,) or array.dtype != dtype:
        raise ValueError(f"its {name} are not {count} numbers")
    numbers: list[Any] = array.tolist()
    return numbers


def _steps_to(matrix: KeyedMatrix) -> dict[str, Any]:
    """Return a matrix, and the steps that led to it, as arrays."""
    steps = matrix.steps()[::-1]
    return {
        "metrics": np.array([*(before.array for before, _, _ in steps), matrix.array]),
        "changes": np.array([change.array for _, _, change in steps]).reshape(-1, *matrix.array.shape),
        "lengths": np.array([t for _, t, _ in steps], dtype=np.float64),
    }


def _after_steps(arrays: dict[str, Any], shape: tuple[int, int]) -> KeyedMatrix:
    """Return the matrix of the arrays of `_steps_to`."""
    metrics, changes, lengths = arrays["metrics"], arrays["changes"], arrays["lengths"]
    count = len(lengths)
    if (metrics.shape, changes.shape, lengths.shape) != ((count + 1, *shape), (count, *shape), (count,)):
        raise ValueError("its steps are incomplete")
    matrix = KeyedMatrix.of(_matrix(metrics[0], shape))
    for array, change, t in zip(metrics[1:], changes, lengths.tolist(), strict=True):
        matrix = matrix.moved(t, KeyedMatrix.of(_matrix(change, shape)), _matrix(array, shape))
    return matrix


def _describe(name: str, multipliers: PairMultipliers, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the description of multipliers, and add their matrices to the arrays."""
    if isinstance(multipliers, ZeroMultipliers):
        return {"kind": "zero"}
    if isinstance(multipliers, GivenMultipliers):  # of a warm start
        arrays[f"{name}_array"] = multipliers.values
        return {"kind": "given", "theta": multipliers.theta}
    if isinstance(multipliers, MetricMultipliers):
        arrays[f"{name}_array"] = multipliers.W
        return {"kind": "metric", "theta": multipliers.theta}
    assert isinstance(multipliers, StepMultipliers) and multipliers.W is not None
    arrays |= {f"{name}_{part}": array for part, array in _steps_to(multipliers.W).items()}
    if multipliers.change is not None:
        arrays[f"{name}_change"] = multipliers.change.array
    return {"kind": "step", "theta": multipliers.theta}


def _restore(
    name: str, description: dict[str, Any], arrays: dict[str, Any], shape: tuple[int, int], n_pairs: int
) -> PairMultipliers:
    kind = description["kind"]
    if kind == "zero":
        return ZeroMultipliers()
    theta = float(description["theta"])
    if not 0.0 < theta <= 1.0 or kind not in ("given", "metric", "step"):
        raise ValueError("its multipliers are invalid")
    if kind == "given":
        return GivenMultipliers(theta=theta, values=np.array(_numbers(arrays, f"{name}_array", n_pairs)))
    if kind == "metric":
        return MetricMultipliers(theta=theta, W=_matrix(arrays[f"{name}_array"], shape))
    change = arrays.get(f"{name}_change")
    return StepMultipliers(
        theta=theta,
        W=_after_steps({part: arrays[f"{name}_{part}"] for part in ("metrics", "changes", "lengths")}, shape),
        change=None if change is None else KeyedMatrix.of(_matrix(change, shape)),
    )

"""What a learned metric looks at: patterns over the channels, and the shares of a distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from covmetric._validation import FloatArray, Matrices
from covmetric.embeddings.base import as_complex

if TYPE_CHECKING:
    from covmetric.metric import LearnedMetric

_SHOWN = 5


@dataclass(frozen=True)
class Patterns:
    """The eigenvectors of W, those with the largest weight first: D = sum_i values_i |v_i^T (Phi(X1) - Phi(X2))|^2.

    Attributes
    ----------
    values : array, shape (k,)
        The weight of each direction in D.
    shares : array, shape (k,)
        The same, as shares of tr W.
    vectors : array, shape (k, n)
        Orthonormal rows v_i, in the coordinates that W acts on; complex for Hermitian matrices.
    filters, patterns : array, shape (k, n)
        How the channels are combined into the component that the direction looks at, and how the component shows in
        the channels. They differ from `vectors` for "relog", where W acts on whitened channels: with the mean M of the
        training set, M^-1/2 v and M^1/2 v. The largest entry of each pattern is positive.
    names : list of str
        Of the channels or features; for "veclog" of the pairs of channels.
    """

    values: FloatArray
    shares: FloatArray
    vectors: Matrices
    filters: Matrices
    patterns: Matrices
    names: list[str]

    def __len__(self) -> int:
        return len(self.values)

    def describe(self, i: int, entries: int = 4) -> str:
        """The largest entries of a pattern, scaled to unit length, in words."""
        pattern = self.patterns[i] / np.linalg.norm(self.patterns[i])
        largest = np.argsort(-np.abs(pattern), kind="stable")[:entries]
        more = "" if len(pattern) <= entries else " ..."
        return " ".join(f"{_signed(pattern[j])} {self.names[j]}" for j in largest) + more

    def __str__(self) -> str:
        lines = ["pattern  share of tr W  largest channels"]
        lines += [f"{i:>7}  {100 * self.shares[i]:>12.1f}%  {self.describe(i)}" for i in range(min(len(self), _SHOWN))]
        return "\n".join([*lines, *([f"... {len(self) - _SHOWN} more"] if len(self) > _SHOWN else [])])


@dataclass(frozen=True)
class Explanation:
    """What a distance is made of.

    Attributes
    ----------
    squared_distance : float
        D, the square of the distance.
    by_pattern : array, shape (k,)
        The part of D along each pattern, >= 0; they sum up to D.
    by_channel : array, shape (n,)
        The part of D that goes through each row of Phi(X1) - Phi(X2); they sum up to D, and may be negative where
        channels cancel each other.
    patterns : Patterns
    names : list of str
        Of the channels.
    """

    squared_distance: float
    by_pattern: FloatArray
    by_channel: FloatArray
    patterns: Patterns
    names: list[str]

    @property
    def distance(self) -> float:
        """The distance sqrt(D)."""
        return float(np.sqrt(self.squared_distance))

    def __str__(self) -> str:
        total = self.squared_distance or 1.0
        lines = [f"distance {self.distance:.6g} (squared {self.squared_distance:.6g})", "pattern  share of D  largest"]
        for i in np.argsort(-self.by_pattern, kind="stable")[:_SHOWN]:
            lines.append(f"{i:>7}  {100 * self.by_pattern[i] / total:>9.1f}%  {self.patterns.describe(i)}")
        lines.append("channel  share of D")
        for i in np.argsort(-self.by_channel, kind="stable")[:_SHOWN]:
            lines.append(f"{self.names[i]:>7}  {100 * self.by_channel[i] / total:>9.1f}%")
        return "\n".join(lines)


def patterns_of(metric: LearnedMetric, names: Sequence[str] | None = None) -> Patterns:
    """See `LearnedMetric.patterns`."""
    values, vectors = np.linalg.eigh(_matrix(metric))
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    filters = forward = vectors
    whitener = getattr(metric.embedding, "whitener_", None)
    if whitener is not None:
        filters, forward = whitener @ vectors, np.linalg.solve(whitener, vectors)
    # The sign, or phase, of an eigenvector is free.
    largest = np.take_along_axis(forward, np.abs(forward).argmax(axis=0)[None], axis=0)
    turn = np.abs(largest) / largest
    total = values.sum()
    return Patterns(
        values=values,
        shares=values / total if total > 0.0 else np.zeros_like(values),
        vectors=(turn * vectors).T,
        filters=(turn * filters).T,
        patterns=(turn * forward).T,
        names=_row_names(metric, names),
    )


def importance_of(metric: LearnedMetric, X: Any = None) -> FloatArray:
    """See `LearnedMetric.importance`."""
    W = _matrix(metric)
    if X is None:
        parts = np.real(np.diagonal(W))
    else:
        embedded = _embedded(metric, X)
        embedded = embedded.reshape(-1, *embedded.shape[-2:])
        if len(embedded) < 2:
            raise ValueError(f"X must hold at least two examples, whose distances are shared out; got {len(embedded)}")
        # The mean of F F^T over all pairs is twice the scatter around the mean.
        centred = np.moveaxis(embedded - embedded.mean(axis=0), 1, 0).reshape(len(W), -1)
        with np.errstate(over="ignore", invalid="ignore"):
            parts = _row_parts(W, centred)
    parts = _by_channel(metric, parts)
    total = float(parts.sum())
    if not np.isfinite(total):
        raise ValueError("squared distances overflow: rescale the examples")
    return parts / total if total > 0.0 else np.zeros_like(parts)


def explain(metric: LearnedMetric, X1: Any, X2: Any, names: Sequence[str] | None = None) -> Explanation:
    """See `LearnedMetric.explain`."""
    found = patterns_of(metric, names)
    one, other = _embedded(metric, X1), _embedded(metric, X2)
    if one.ndim != 2 or other.ndim != 2:
        raise ValueError(f"X1 and X2 must be one example each; got shapes {np.shape(X1)} and {np.shape(X2)}")
    F = one - other
    with np.errstate(over="ignore", invalid="ignore"):
        along = found.values * (np.abs(found.vectors.conj() @ F) ** 2).sum(axis=1)
    if not np.isfinite(along.sum()):
        raise ValueError("squared distances overflow: rescale the examples")
    channels = _by_channel(metric, _row_parts(_matrix(metric), F))
    return Explanation(float(along.sum()), along, channels, found, _channel_names(metric, names))


def _doubled(metric: LearnedMetric) -> bool:
    """Whether W is the real form of a Hermitian matrix."""
    return metric.embedding.complex_ and metric.embedding.shape_out_[1] > 1


def _matrix(metric: LearnedMetric) -> Matrices:
    """W, as a Hermitian matrix where it stands for one."""
    return as_complex(metric.W) / np.sqrt(2.0) if _doubled(metric) else metric.W


def _embedded(metric: LearnedMetric, X: Any) -> Matrices:
    """Phi(X), complex where W is seen as a Hermitian matrix."""
    embedded = metric.embedding.transform(X)
    return as_complex(embedded) if _doubled(metric) else embedded


def _row_parts(W: Matrices, F: Matrices) -> FloatArray:
    """The diagonal of W F F^H, which sums up to <W, F F^H>."""
    return np.asarray(np.real(((W @ F) * F.conj()).sum(axis=1)))


def _channel_names(metric: LearnedMetric, names: Sequence[str] | None) -> list[str]:
    n = metric.embedding.shape_in_[0]
    if names is None:
        return [f"x{i}" for i in range(n)]
    labels = [str(name) for name in names]
    if len(labels) != n:
        raise ValueError(f"names must have one entry per channel, {n}; got {len(labels)}")
    return labels


def _entries(metric: LearnedMetric) -> list[tuple[int, int]] | None:
    """For each row of "veclog" the two channels that it belongs to."""
    if metric.embedding.name != "veclog":
        return None
    n = metric.embedding.shape_in_[0]
    real, imaginary = np.tril_indices(n), np.tril_indices(n, -1)
    pairs = list(zip(*(part.tolist() for part in real), strict=True))
    if metric.embedding.complex_:
        pairs += list(zip(*(part.tolist() for part in imaginary), strict=True))
    return pairs


def _row_names(metric: LearnedMetric, names: Sequence[str] | None) -> list[str]:
    """The names of the rows of W."""
    labels, entries = _channel_names(metric, names), _entries(metric)
    if entries is None:
        return labels
    n = len(labels)
    kinds = ["" if k < n * (n + 1) // 2 else " imag" for k in range(len(entries))]
    return [f"{labels[j]}:{labels[i]}{kind}" for (i, j), kind in zip(entries, kinds, strict=True)]


def _by_channel(metric: LearnedMetric, parts: FloatArray) -> FloatArray:
    """Parts of rows as parts of channels: an entry of "veclog" belongs by halves to its two channels."""
    entries = _entries(metric)
    if entries is None:
        return parts
    channels = np.zeros(metric.embedding.shape_in_[0])
    for ends in np.transpose(entries):
        np.add.at(channels, ends, 0.5 * parts)
    return channels


def _signed(value: Any) -> str:
    if np.iscomplexobj(value):
        return f"{abs(value):.2f}@{np.degrees(np.angle(value)):+.0f}deg"
    return f"{value:+.2f}"

"""What a learned metric looks at: patterns over the channels, and the shares of a distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices
from covmetric.embeddings import Embedding
from covmetric.embeddings.matrices import as_complex

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


def patterns_of(embedding: Embedding, W: FloatArray, names: Sequence[str] | None = None) -> Patterns:
    """Return the patterns of a metric; see `LearnedMetric.patterns`.

    Parameters
    ----------
    embedding : Embedding
        Phi, fitted.
    W : array of shape (n, n)
        The metric.
    names : sequence of str or None, default=None
        Names of the channels.

    Returns
    -------
    Patterns
    """
    values, vectors = np.linalg.eigh(_matrix(embedding, W))
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    filters, patterns = embedding.filters(vectors), embedding.patterns(vectors)
    # The sign, or phase, of an eigenvector is arbitrary.
    largest = np.take_along_axis(patterns, np.abs(patterns).argmax(axis=0)[None], axis=0)
    turn = np.abs(largest) / largest
    total = values.sum()
    return Patterns(
        values=values,
        shares=values / total if total > 0.0 else np.zeros_like(values),
        vectors=(turn * vectors).T,
        filters=(turn * filters).T,
        patterns=(turn * patterns).T,
        names=embedding.row_names(names),
    )


def importance_of(embedding: Embedding, W: FloatArray, X: Any = None) -> FloatArray:
    """Return the importance of each channel; see `LearnedMetric.importance`.

    Parameters
    ----------
    embedding : Embedding
        Phi, fitted.
    W : array of shape (n, n)
        The metric.
    X : array or None, default=None
        Examples.

    Returns
    -------
    array of shape (n_channels,)
    """
    matrix = _matrix(embedding, W)
    if X is None:
        parts = np.real(np.diagonal(matrix))
    else:
        embedded = _embedded(embedding, X)
        embedded = embedded.reshape(-1, *embedded.shape[-2:])
        if len(embedded) < 2:
            raise ValueError(f"X must hold at least two examples, to take distances between; got {len(embedded)}")
        # The mean of F F^T over all pairs is twice the scatter around the mean.
        centred = np.moveaxis(embedded - embedded.mean(axis=0), 1, 0).reshape(len(matrix), -1)
        with np.errstate(over="ignore", invalid="ignore"):
            parts = _row_parts(matrix, centred)
    channels = _by_channel(embedding, parts)
    total = float(channels.sum())
    if not np.isfinite(total):
        raise ValueError("squared distances overflow: rescale the examples")
    return channels / total if total > 0.0 else np.zeros_like(channels)


def explain(embedding: Embedding, W: FloatArray, X1: Any, X2: Any, names: Sequence[str] | None = None) -> Explanation:
    """Return what the distance between two examples is made of; see `LearnedMetric.explain`.

    Parameters
    ----------
    embedding : Embedding
        Phi, fitted.
    W : array of shape (n, n)
        The metric.
    X1, X2 : arrays
        One example each.
    names : sequence of str or None, default=None
        Names of the channels.

    Returns
    -------
    Explanation
    """
    found = patterns_of(embedding, W, names)
    one, other = _embedded(embedding, X1), _embedded(embedding, X2)
    if one.ndim != 2 or other.ndim != 2:
        raise ValueError(f"X1 and X2 must be one example each; got shapes {np.shape(X1)} and {np.shape(X2)}")
    F = one - other
    with np.errstate(over="ignore", invalid="ignore"):
        along = found.values * (np.abs(found.vectors.conj() @ F) ** 2).sum(axis=1)
    if not np.isfinite(along.sum()):
        raise ValueError("squared distances overflow: rescale the examples")
    channels = _by_channel(embedding, _row_parts(_matrix(embedding, W), F))
    return Explanation(float(along.sum()), along, channels, found, embedding.channel_names(names))


def _matrix(embedding: Embedding, W: FloatArray) -> Matrices:
    """W, as a Hermitian matrix where it is the real form of one."""
    return as_complex(W) / np.sqrt(2.0) if embedding.copies_ == 2 else W


def _embedded(embedding: Embedding, X: Any) -> Matrices:
    """Phi(X), complex where W is the real form of a Hermitian matrix."""
    embedded = embedding.transform(X)
    return as_complex(embedded) if embedding.copies_ == 2 else embedded


def _row_parts(W: Matrices, F: Matrices) -> FloatArray:
    """The diagonal of W F F^H, which sums to <W, F F^H>."""
    return np.asarray(np.real(((W @ F) * F.conj()).sum(axis=1)))


def _by_channel(embedding: Embedding, parts: FloatArray) -> FloatArray:
    """The sums over channels of parts that belong to rows of Phi."""
    channels, owners = np.zeros(embedding.shape_in_[0]), embedding.row_channels()
    for owner in owners.T:
        np.add.at(channels, owner, parts / owners.shape[1])
    return channels


def _signed(value: Any) -> str:
    if np.iscomplexobj(value):
        return f"{abs(value):.2f}@{np.degrees(np.angle(value)):+.0f}deg"
    return f"{value:+.2f}"

"""Interpretation of a learned metric: its patterns over the channels, and the parts of a distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices
from covmetric.embeddings import Embedding
from covmetric.embeddings.matrices import as_complex

_N_PRINTED = 5  # rows of a printed table


@dataclass(frozen=True)
class Patterns:
    """The eigenvectors v_i of W, expressed in the channels, in descending order of their eigenvalues.

    The squared distance is D(X1, X2) = sum_i values_i ||v_i^T (Phi(X1) - Phi(X2))||^2.

    Attributes
    ----------
    values : array of shape (k,)
        The eigenvalues of W: the weight of each direction in D.
    shares : array of shape (k,)
        The eigenvalues as fractions of tr W.
    vectors : array of shape (k, k)
        The eigenvectors, as orthonormal rows in the coordinates that W acts on. They are complex for Hermitian
        matrices.
    filters : array of shape (k, n_names)
        The weights that combine the channels into each component.
    patterns : array of shape (k, n_names)
        The weights with which each component appears in the channels. The largest entry of each pattern is positive.
    names : list of str
        The names of the entries of a pattern: channels or features, or pairs of channels such as "C3:C4" if Phi is a
        half vector.

    Notes
    -----
    Filters and patterns [1]_ equal `vectors` unless Phi mixes the channels. For "relog", W acts on whitened channels:
    the filters are M^(-1/2) v and the patterns are M^(1/2) v, with the mean M of the training set. For "tangent", v is
    the half vector of a matrix V: the filters are the half vectors of M^(-1/2) V M^(-1/2), and the patterns those of
    M^(1/2) V M^(1/2).

    References
    ----------
    .. [1] S. Haufe, F. Meinecke, K. Goergen, S. Daehne, J.-D. Haynes, B. Blankertz and F. Biessmann. On the
       interpretation of weight vectors of linear models in multivariate neuroimaging. NeuroImage 87, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import LearnedMetric, get_embedding
    >>> metric = LearnedMetric(get_embedding("id").fit(np.eye(2)[None]), np.diag([1.0, 3.0]))
    >>> patterns = metric.patterns(["C3", "C4"])
    >>> patterns.shares
    array([0.75, 0.25])
    >>> patterns.describe(0)
    '+1.00 C4 +0.00 C3'
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
        """Return the largest entries of a pattern, scaled to unit length, as text.

        Parameters
        ----------
        i : int
            The index of the pattern.
        entries : int, default=4
            The maximum number of entries.

        Returns
        -------
        str
            The values and names in descending order of magnitude. Complex values have the form
            ``magnitude@angle``.
        """
        pattern = self.patterns[i] / np.linalg.norm(self.patterns[i])
        largest = np.argsort(-np.abs(pattern), kind="stable")[:entries]
        more = "" if len(pattern) <= entries else " ..."
        return " ".join(f"{_format(pattern[j])} {self.names[j]}" for j in largest) + more

    def to_mne(self, info: Any) -> Any:
        """Return the filters and patterns in the form of MNE, which draws them as maps of the head.

        Parameters
        ----------
        info : mne.Info
            The channels with their positions, in the order of the rows of the matrices.

        Returns
        -------
        mne.decoding.SpatialFilter
            For example for ``to_mne(info).plot_patterns()``. Its eigenvalues are `values`.

        Raises
        ------
        ImportError
            If MNE is not installed, or is older than 1.11, the first version with `SpatialFilter`.
        ValueError
            If the entries of a pattern are not channels, if they are complex, or if `info` has another number of
            channels.

        Examples
        --------
        >>> import mne
        >>> import numpy as np
        >>> from covmetric import LearnedMetric, get_embedding
        >>> metric = LearnedMetric(get_embedding("log").fit(np.eye(2)[None]), np.diag([1.0, 3.0]))
        >>> info = mne.create_info(["C3", "C4"], 100.0, "eeg").set_montage("biosemi64")
        >>> metric.patterns(info.ch_names).to_mne(info).patterns
        array([[0., 1.],
               [1., 0.]])
        """
        try:
            from mne.decoding import SpatialFilter
        except ImportError as error:
            raise ImportError(f"Patterns.to_mne needs the package mne, version 1.11 or newer: {error}") from error
        channels = len(info["ch_names"])
        if channels != len(self.names):
            raise ValueError(
                f"info has {channels} channels, but a pattern has {len(self.names)} entries, {self.names[0]!r} to "
                f"{self.names[-1]!r}. If the entries are channels, pick the same ones from info. If they are pairs of "
                "channels, they have no place on the head: draw importance(), or learn with phi='relog' or 'log'"
            )
        if np.iscomplexobj(self.patterns):
            raise ValueError("the patterns of Hermitian matrices are complex: draw their magnitudes, np.abs(patterns)")
        return SpatialFilter(info, self.filters, evals=self.values, patterns=self.patterns, patterns_method="pinv")

    def __str__(self) -> str:
        printed = range(min(len(self), _N_PRINTED))
        lines = ["pattern  share of tr W  largest channels"]
        lines += [f"{i:>7}  {100 * self.shares[i]:>12.1f}%  {self.describe(i)}" for i in printed]
        return "\n".join([*lines, *([f"... {len(self) - _N_PRINTED} more"] if len(self) > _N_PRINTED else [])])


@dataclass(frozen=True)
class Explanation:
    """The squared distance D between two examples as a sum over patterns and as a sum over channels.

    Attributes
    ----------
    squared_distance : float
        The squared distance D.
    by_pattern : array of shape (k,)
        The part of D along each pattern. The parts are non-negative and sum to D.
    by_channel : array of shape (n_channels,)
        The part of D that each channel contributes. The parts sum to D. They may be negative if channels cancel each
        other.
    patterns : Patterns
        The patterns of the metric.
    names : list of str
        The names of the channels.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import LearnedMetric, get_embedding
    >>> metric = LearnedMetric(get_embedding("id").fit(np.eye(2)[None]), np.diag([1.0, 3.0]))
    >>> print(metric.explain(np.eye(2), np.diag([3.0, 0.0]), names=["C3", "C4"]))
    distance 2.64575 (squared 7)
    pattern  share of D  largest
          1       57.1%  +1.00 C3 +0.00 C4
          0       42.9%  +1.00 C4 +0.00 C3
    channel  share of D
         C3       57.1%
         C4       42.9%
    """

    squared_distance: float
    by_pattern: FloatArray
    by_channel: FloatArray
    patterns: Patterns
    names: list[str]

    @property
    def distance(self) -> float:
        """The distance sqrt(D), not squared."""
        return float(np.sqrt(self.squared_distance))

    def to_dict(self, entries: int = 10) -> dict[str, Any]:
        """Return the largest parts as values for JSON.

        Parameters
        ----------
        entries : int, default=10
            The maximum numbers of patterns and of channels.

        Returns
        -------
        dict
            The distance, and lists of patterns and channels with their shares of D, in descending order.
        """
        total = self.squared_distance or 1.0
        patterns, channels = (np.argsort(-part, kind="stable")[:entries] for part in (self.by_pattern, self.by_channel))
        return {
            "distance": self.distance,
            "squared_distance": self.squared_distance,
            "patterns": [
                {"index": int(i), "share": float(self.by_pattern[i] / total), "largest": self.patterns.describe(i)}
                for i in patterns
            ],
            "channels": [{"name": self.names[i], "share": float(self.by_channel[i] / total)} for i in channels],
        }

    def __str__(self) -> str:
        lines = [f"distance {self.distance:.6g} (squared {self.squared_distance:.6g})"]
        lines += self._table("pattern", self.by_pattern, range(len(self.by_pattern)), "largest", self.patterns.describe)
        return "\n".join([*lines, *self._table("channel", self.by_channel, self.names)])

    def _table(
        self, what: str, parts: FloatArray, names: Sequence[Any], more: str = "", describe: Any = lambda _: ""
    ) -> list[str]:
        """Return the lines of a table of the largest parts; its last row is the sum of those that are left out."""
        total, order = self.squared_distance or 1.0, np.argsort(-parts, kind="stable")
        shown, others = order[:_N_PRINTED], order[_N_PRINTED:]
        rows = [(str(names[i]), parts[i], describe(i)) for i in shown.tolist()]
        if len(others):
            rows.append((f"{len(others)} other{'s' if len(others) > 1 else ''}", parts[others].sum(), ""))
        width = max(len(name) for name in (what, *(name for name, _, _ in rows)))
        texts = [f"{name:>{width}}  {100 * part / total:>9.1f}%  {text}" for name, part, text in rows]
        return [line.rstrip() for line in (f"{what:>{width}}  share of D  {more}", *texts)]


def find_patterns(embedding: Embedding, W: FloatArray, names: Sequence[str] | None = None) -> Patterns:
    """Return the patterns of a metric; see `LearnedMetric.patterns`.

    Parameters
    ----------
    embedding : Embedding
        The fitted embedding Phi.
    W : array of shape (n, n)
        The matrix of the metric.
    names : sequence of str or None, default=None
        The names of the channels.

    Returns
    -------
    Patterns
        The patterns, in descending order of their eigenvalues.
    """
    values, vectors = np.linalg.eigh(_hermitian_form(embedding, W))
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    filters, patterns = embedding.filters(vectors), embedding.patterns(vectors)
    # The sign or phase of an eigenvector is arbitrary: make the largest entry of each pattern positive.
    largest = np.take_along_axis(patterns, np.abs(patterns).argmax(axis=0)[None], axis=0)
    rotation = np.abs(largest) / largest
    total = values.sum()
    return Patterns(
        values=values,
        shares=values / total if total > 0.0 else np.zeros_like(values),
        vectors=(rotation * vectors).T,
        filters=(rotation * filters).T,
        patterns=(rotation * patterns).T,
        names=embedding.row_names(names),
    )


def compute_importance(embedding: Embedding, W: FloatArray, embedded: FloatArray | None = None) -> FloatArray:
    """Return the importance of each channel; see `LearnedMetric.importance`.

    Parameters
    ----------
    embedding : Embedding
        The fitted embedding Phi.
    W : array of shape (n, n)
        The matrix of the metric.
    embedded : array of shape (l, n, m) or None, default=None
        Embedded examples, at least two.

    Returns
    -------
    array of shape (n_channels,)
        Fractions that sum to 1, or zeros.

    Raises
    ------
    ValueError
        If there are fewer than two examples, or if squared distances overflow.
    """
    matrix = _hermitian_form(embedding, W)
    if embedded is None:
        row_parts = _row_parts(embedding, matrix, np.eye(len(matrix)))  # F = I
    else:
        embedded = _as_complex_if_hermitian(embedding, embedded)
        embedded = embedded.reshape(-1, *embedded.shape[-2:])
        if len(embedded) < 2:
            raise ValueError(f"X must hold at least two examples, because distances need pairs; got {len(embedded)}")
        # The mean of F F^T over all pairs is twice the scatter around the mean.
        centred = np.moveaxis(embedded - embedded.mean(axis=0), 1, 0).reshape(len(matrix), -1)
        with np.errstate(over="ignore", invalid="ignore"):
            row_parts = _row_parts(embedding, matrix @ centred, centred)
    channel_parts = _channel_parts(embedding, row_parts)
    total = float(channel_parts.sum())
    if not np.isfinite(total):
        raise ValueError("squared distances overflow: rescale the examples")
    return channel_parts / total if total > 0.0 else np.zeros_like(channel_parts)


def explain_distance(
    embedding: Embedding, W: FloatArray, X1: Any, X2: Any, names: Sequence[str] | None = None
) -> Explanation:
    """Return the parts of the squared distance between two examples; see `LearnedMetric.explain`.

    Parameters
    ----------
    embedding : Embedding
        The fitted embedding Phi.
    W : array of shape (n, n)
        The matrix of the metric.
    X1, X2 : arrays of shape (n, n), or (d,) for vectors
        The two examples.
    names : sequence of str or None, default=None
        The names of the channels.

    Returns
    -------
    Explanation
        The parts by pattern and by channel.

    Raises
    ------
    ValueError
        If X1 or X2 is not a single example, or if the squared distance overflows.
    """
    first, second = embedding.transform(X1), embedding.transform(X2)
    if first.ndim != 2 or second.ndim != 2:
        raise ValueError(f"X1 and X2 must be one example each; got shapes {np.shape(X1)} and {np.shape(X2)}")
    return explain_embedded(embedding, W, first, second, names)


def explain_embedded(
    embedding: Embedding, W: FloatArray, first: FloatArray, second: FloatArray, names: Sequence[str] | None = None
) -> Explanation:
    """Return the parts of the squared distance between two embedded examples.

    Parameters
    ----------
    embedding : Embedding
        The fitted embedding Phi.
    W : array of shape (n, n)
        The matrix of the metric.
    first, second : arrays of shape (n, m)
        Phi of the two examples, or means of such arrays.
    names : sequence of str or None, default=None
        The names of the channels.

    Returns
    -------
    Explanation
        The parts by pattern and by channel.

    Raises
    ------
    ValueError
        If the squared distance overflows.
    """
    patterns = find_patterns(embedding, W, names)
    F = _as_complex_if_hermitian(embedding, first) - _as_complex_if_hermitian(embedding, second)
    with np.errstate(over="ignore", invalid="ignore"):
        by_pattern = patterns.values * (np.abs(patterns.vectors.conj() @ F) ** 2).sum(axis=1)
    if not np.isfinite(by_pattern.sum()):
        raise ValueError("squared distances overflow: rescale the examples")
    by_channel = _channel_parts(embedding, _row_parts(embedding, _hermitian_form(embedding, W) @ F, F))
    return Explanation(float(by_pattern.sum()), by_pattern, by_channel, patterns, embedding.channel_names(names))


def _hermitian_form(embedding: Embedding, W: FloatArray) -> Matrices:
    """Return W, as a complex matrix if it is the real form of a Hermitian matrix."""
    return as_complex(W) / np.sqrt(2.0) if embedding.copies_ == 2 else W


def _as_complex_if_hermitian(embedding: Embedding, embedded: FloatArray) -> Matrices:
    """Return Phi(X), complex if W is the real form of a Hermitian matrix."""
    return as_complex(embedded) if embedding.copies_ == 2 else embedded


def _row_parts(embedding: Embedding, WF: Matrices, F: Matrices) -> FloatArray:
    """Return the diagonal of W F F^H over the named rows of Phi, which sums to <W, F F^H>."""
    return np.asarray(np.real((embedding.to_named_rows(WF) * embedding.to_named_rows(F).conj()).sum(axis=1)))


def _channel_parts(embedding: Embedding, row_parts: FloatArray) -> FloatArray:
    """Sum the parts of the named rows over the channels, dividing the part of a row equally among its channels."""
    channel_parts, row_channels = np.zeros(embedding.shape_in_[0]), embedding.row_channels()
    for channels in row_channels.T:
        np.add.at(channel_parts, channels, row_parts / row_channels.shape[1])
    return channel_parts


def _format(value: Any) -> str:
    if np.iscomplexobj(value):
        return f"{abs(value):.2f}@{round(np.degrees(np.angle(value))):+d}deg"
    return f"{value:+.2f}"

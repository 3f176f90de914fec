"""Priors from labelled data: the inverse within-class scatter, and geometric mean metric learning (GMML).

All differences between examples lie in the span of the centred examples. On the orthogonal complement of this span, the
shrunk scatter matrices are multiples of the identity. The priors are therefore computed in coordinates of the span,
whose dimension is at most the number of columns of all examples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, is_number
from covmetric.learning.shrinkage import ledoit_wolf
from covmetric.learning.spectrum import PriorData, Spectrum, binary_exponent
from covmetric.problem import PairSums


def within_spectrum(data: PriorData) -> Spectrum:
    """Return the inverse of the shrunk within-class scatter of the embedded examples.

    The scatter is the mean of x x^T over the class-centred columns x. If the examples have no classes, it is the mean
    of F F^T over the similar pairs.

    Parameters
    ----------
    data : PriorData
        Examples with classes or with pairs.

    Returns
    -------
    Spectrum
        The spectrum of the prior.

    Raises
    ------
    ValueError
        If the examples do not vary within their classes, or if the scatter is singular.
    """
    exponent, basis, rows = _span_coordinates(data.embedded)
    n = data.embedded.shape[1]
    centred = _similar_rows(rows, data)
    scatter = _similar_scatter(rows, data) if data.codes is None else centred.T @ centred / len(centred)
    _require_variation("within", scatter)
    eigenvalues, vectors, rest = _shrunk_spectrum("within", "S", scatter, n, _shrinkage(centred, n, data.shrinkage))
    return Spectrum(1.0 / eigenvalues, _times_basis(basis, vectors), _inverse(rest)).scaled(-2 * exponent)


def gmml_spectrum(data: PriorData) -> Spectrum:
    """Return the weighted geometric mean S^-1 #_t D of GMML [1]_.

    S and D are the shrunk means of F F^T over the similar and over the dissimilar pairs. W = S^-1 #_t D is the point t
    on the geodesic from S^-1 (t = 0) to D (t = 1).

    Parameters
    ----------
    data : PriorData
        Examples with pairs.

    Returns
    -------
    Spectrum
        The spectrum of the prior.

    Raises
    ------
    ValueError
        If there are no similar or no dissimilar pairs of different examples, or if S or D is singular.

    References
    ----------
    .. [1] P. Zadeh, R. Hosseini and S. Sra. Geometric mean metric learning. ICML 2016.
    """
    from pyriemann.geometry.geodesic import geodesic_riemann  # imported late, because it takes two seconds

    exponent, basis, rows = _span_coordinates(data.embedded)
    n, t = data.embedded.shape[1], float(data.t)
    amount = _shrinkage(_similar_rows(rows, data), n, data.shrinkage)
    S = _similar_scatter(rows, data)
    _require_variation("gmml", S)
    eigenvalues, vectors, rest_S = _shrunk_spectrum("gmml", "S", S, n, amount)
    if t == 0.0:  # D does not matter, and there need not be dissimilar pairs
        return Spectrum(1.0 / eigenvalues, _times_basis(basis, vectors), _inverse(rest_S)).scaled(-2 * exponent)
    D = _pair_scatter(rows, data, similar=False)
    if not np.trace(D) > 0.0:
        raise ValueError(
            "prior 'gmml' needs dissimilar pairs of different examples, but there are none; provide examples of at "
            "least two classes, or set prior_t=0"
        )
    eigenvalues_D, vectors_D, rest_D = _shrunk_spectrum("gmml", "D", D, n, amount)
    W = geodesic_riemann(_from_eigenvalues(1.0 / eigenvalues, vectors), _from_eigenvalues(eigenvalues_D, vectors_D), t)
    eigenvalues, vectors = np.linalg.eigh(0.5 * (W + W.T))
    if not eigenvalues[0] > 0.0:
        raise ValueError(
            f"prior 'gmml' is not positive definite in double precision, because S or D is nearly singular; increase "
            f"shrinkage, which is {amount:.3g}"
        )
    rest = _inverse(rest_S) ** (1.0 - t) * rest_D**t
    # S and D are those of the scaled rows: S^-1 is too large by 2^(2 exponent), and D is too small by as much.
    return Spectrum(eigenvalues, _times_basis(basis, vectors), rest).scaled((4.0 * t - 2.0) * exponent)


def check_prior_settings(t: Any, shrinkage: Any, name: str = "prior_t") -> None:
    """Raise ValueError if the position on the geodesic or the shrinkage is invalid.

    Parameters
    ----------
    t : object
        The position on the geodesic.
    shrinkage : object
        The parameter `shrinkage`.
    name : str, default='prior_t'
        The name of the parameter for the position, for the message.

    Examples
    --------
    >>> check_prior_settings(0.5, 2.0)
    Traceback (most recent call last):
        ...
    ValueError: shrinkage must be 'auto' or a number from 0 to 1, got 2.0
    """
    if not (is_number(t) and 0.0 <= t <= 1.0):
        raise ValueError(f"{name} must be a number from 0 to 1, got {t!r}")
    is_name = isinstance(shrinkage, str) and shrinkage == "auto"
    if not (is_name or (is_number(shrinkage) and 0.0 <= shrinkage <= 1.0)):
        raise ValueError(f"shrinkage must be 'auto' or a number from 0 to 1, got {shrinkage!r}")


def _span_coordinates(embedded: FloatArray) -> tuple[int, FloatArray | None, FloatArray]:
    """Return a basis of the span of the centred examples, shape (n, r), and their coordinates, shape (l, m, r).

    The coordinates are divided by a power of two, whose exponent comes first, so that their squares are neither too
    large nor too small. The basis is None if there are at least n columns; the coordinates are then the scaled and
    centred examples themselves.
    """
    count, n, m = embedded.shape
    exponent = binary_exponent(embedded)
    scaled = np.ldexp(embedded, -exponent)
    rows = np.ascontiguousarray(np.swapaxes(scaled - scaled.mean(axis=0), 1, 2))
    if count * m >= n:
        return exponent, None, rows
    # Columns that depend on others leave arbitrary directions in the basis. They do no harm: both scatter matrices are
    # zero there, and shrinkage treats these directions like the orthogonal complement.
    basis, coordinates = np.linalg.qr(rows.reshape(-1, n).T)
    return exponent, basis, np.ascontiguousarray(coordinates.T.reshape(count, m, -1))


def _times_basis(basis: FloatArray | None, vectors: FloatArray) -> FloatArray:
    """Return vectors of coordinates as vectors with n entries."""
    return vectors if basis is None else basis @ vectors


def _similar_rows(rows: FloatArray, data: PriorData) -> FloatArray:
    """Return the class-centred rows, shape (l m, r), or the differences of similar pairs if there are no classes."""
    if data.codes is None:
        pairs = _select_pairs(data, similar=True)[0]
        return (rows[pairs[:, 0]] - rows[pairs[:, 1]]).reshape(-1, rows.shape[2])
    counts = np.bincount(data.codes)
    means = np.zeros((len(counts), *rows.shape[1:]))
    np.add.at(means, data.codes, rows)
    means /= np.maximum(counts, 1)[:, None, None]
    return (rows - means[data.codes]).reshape(-1, rows.shape[2])


def _select_pairs(data: PriorData, similar: bool) -> tuple[IntArray, FloatArray]:
    """Return the similar or the dissimilar pairs, and their weights, which sum to 1."""
    assert data.pairs is not None
    kept = (data.pairs.similar > 0.0) == similar
    weights = np.ones(len(kept)) if data.pair_weights is None else data.pair_weights
    total = weights[kept].sum()
    return data.pairs.pairs[kept], weights[kept] / (total if total > 0.0 else 1.0)


def _pair_scatter(rows: FloatArray, data: PriorData, similar: bool) -> FloatArray:
    """Return the mean of F F^T over the similar or the dissimilar pairs; zero if there are none."""
    pairs, weights = _select_pairs(data, similar)
    if len(pairs) == 0:
        return np.zeros((rows.shape[2], rows.shape[2]))
    return PairSums(rows, pairs).gram(weights)


def _similar_scatter(rows: FloatArray, data: PriorData) -> FloatArray:
    return _pair_scatter(rows, data, similar=True)


def _require_variation(name: str, scatter: FloatArray) -> None:
    if not np.trace(scatter) > 0.0:
        raise ValueError(
            f"prior {name!r} needs similar examples that differ, but every class has one example, or its embedded "
            "examples are equal; use prior='identity'"
        )


def _shrinkage(rows: FloatArray, n: int, shrinkage: Any) -> float:
    """Return the amount of shrinkage of rows of coordinates, whose directions are r of n; 'auto' is Ledoit-Wolf."""
    return ledoit_wolf(rows, n) if isinstance(shrinkage, str) else float(shrinkage)


def _shrunk_spectrum(
    prior: str, name: str, scatter: FloatArray, n: int, amount: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return the eigenvalues and eigenvectors of (1 - g) S + g tr(S)/n I in the span, and g tr(S)/n."""
    eigenvalues, vectors = np.linalg.eigh(scatter)
    rest = amount * float(np.trace(scatter)) / n
    shrunk = (1.0 - amount) * eigenvalues + rest
    # n eps times the largest eigenvalue is the rounding error of the eigenvalues. The orthogonal complement needs no
    # check: centred examples depend on each other, so their basis also has a direction in which the scatter is zero.
    relative = n * np.finfo(np.float64).eps
    if not shrunk[0] > relative * shrunk[-1]:
        rank = int(np.count_nonzero(eigenvalues > relative * eigenvalues[-1]))
        kind = "similar" if name == "S" else "dissimilar"
        raise ValueError(
            f"prior {prior!r} needs a nonsingular scatter matrix {name} of {kind} examples, but its rank is {rank} of "
            f"{n} with shrinkage={amount:.3g}; use shrinkage='auto' or a larger number"
        )
    return shrunk, vectors, rest


def _from_eigenvalues(eigenvalues: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray((vectors * eigenvalues) @ vectors.T)


def _inverse(rest: float) -> float:
    """Return 1 / rest, or 0 if there is no orthogonal complement that would need it."""
    return 1.0 / rest if rest > 0.0 else 0.0

"""The priors from labels: literal versions, limits of t and of the shrinkage, invariances, the span, and errors."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.linalg import fractional_matrix_power
from sklearn.covariance import ledoit_wolf

from covmetric.constraints import LabelledPairs
from covmetric.learning.spectrum import PriorData
from covmetric.learning.supervised_prior import gmml_spectrum, within_spectrum

SHRINKAGES = ["auto", 0.2, 1.0]


def labelled_data(count=15, n=4, m=2, seed=0, **settings):
    """Return three classes with all their pairs."""
    rng = np.random.default_rng(seed)
    codes = np.arange(count) % 3
    embedded = rng.standard_normal((n, n)) @ rng.standard_normal((count, n, m)) + 5.0
    embedded[:, 0] += 3.0 * codes[:, None]
    pairs = LabelledPairs.from_codes(np.stack(np.triu_indices(count, 1), axis=1)[::2], codes)
    return PriorData(embedded, codes, pairs, **settings)


def matrix(spectrum):
    root = spectrum.root()
    return root @ root


def shrink(S, amount):
    return (1.0 - amount) * S + amount * np.trace(S) / len(S) * np.eye(len(S))


def class_centred_columns(data):
    rows = []
    for example, code in zip(data.embedded, data.codes, strict=True):
        mean = sum(other for other, c in zip(data.embedded, data.codes, strict=True) if c == code)
        rows += list((example - mean / np.sum(data.codes == code)).T)
    return np.array(rows)


def pair_scatters(data, weights=None):
    """Return the means of F F^T over the similar and over the dissimilar pairs, pair by pair."""
    weights = np.ones(len(data.pairs.pairs)) if weights is None else weights
    sums, totals = {1.0: 0.0, -1.0: 0.0}, {1.0: 0.0, -1.0: 0.0}
    for (i, j), similar, weight in zip(data.pairs.pairs, data.pairs.similar, weights, strict=True):
        F = data.embedded[i] - data.embedded[j]
        sums[similar] = sums[similar] + weight * F @ F.T
        totals[similar] += weight
    return sums[1.0] / totals[1.0], sums[-1.0] / totals[-1.0]


def literal_amount(rows, shrinkage):
    return ledoit_wolf(rows, assume_centered=True)[1] if shrinkage == "auto" else shrinkage


def literal_within(data):
    rows = class_centred_columns(data)
    return np.linalg.inv(shrink(rows.T @ rows / len(rows), literal_amount(rows, data.shrinkage)))


def literal_gmml(data, weights=None):
    amount = literal_amount(class_centred_columns(data), data.shrinkage)
    S, D = (shrink(A, amount) for A in pair_scatters(data, weights))
    inner = fractional_matrix_power(S, 0.5)
    outer = np.linalg.inv(inner)
    return outer @ fractional_matrix_power(inner @ D @ inner, data.t) @ outer


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("shrinkage", [*SHRINKAGES, 0.0])
def test_within_equals_its_literal_version(shrinkage, m):
    data = labelled_data(m=m, shrinkage=shrinkage)
    np.testing.assert_allclose(matrix(within_spectrum(data)), literal_within(data), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("shrinkage", [*SHRINKAGES, 0.0])
@pytest.mark.parametrize("t", [0.0, 0.3, 0.5, 1.0])
def test_gmml_equals_its_literal_version(t, shrinkage, m):
    data = labelled_data(m=m, t=t, shrinkage=shrinkage)
    np.testing.assert_allclose(matrix(gmml_spectrum(data)), literal_gmml(data), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("shrinkage", SHRINKAGES)
@pytest.mark.parametrize("m", [1, 2])
def test_priors_of_few_examples_equal_their_literal_versions(shrinkage, m):
    """With fewer columns than rows, the priors are computed in the span of the examples."""
    data = labelled_data(count=9, n=30, m=m, t=0.4, shrinkage=shrinkage)
    within, gmml = within_spectrum(data), gmml_spectrum(data)
    assert within.vectors.shape == gmml.vectors.shape == (30, 9 * m)
    np.testing.assert_allclose(matrix(within), literal_within(data), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(matrix(gmml), literal_gmml(data), rtol=1e-8, atol=1e-10)


def test_gmml_runs_from_the_inverse_of_S_to_D():
    data = labelled_data(shrinkage=0.0)
    S, D = pair_scatters(data)
    ends = [matrix(gmml_spectrum(dataclasses.replace(data, t=t))) for t in (0.0, 1.0)]
    np.testing.assert_allclose(ends[0], np.linalg.inv(S), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ends[1], D, rtol=1e-9, atol=1e-12)


def test_gmml_solves_its_riccati_equation():
    """At t = 1/2, W is the unique positive definite solution of W S W = D."""
    data = labelled_data(shrinkage=0.1)
    S, D = (shrink(A, 0.1) for A in pair_scatters(data))
    W = matrix(gmml_spectrum(data))
    np.testing.assert_allclose(W @ S @ W, D, rtol=1e-9)


@pytest.mark.parametrize("t", [0.0, 0.3, 0.5, 1.0])
def test_unshrunk_gmml_is_equivariant_under_congruence(t):
    """If S^-1 and D become C S^-1 C^T and C D C^T, then W becomes C W C^T."""
    rng = np.random.default_rng(2)
    C = rng.standard_normal((4, 4)) + 3.0 * np.eye(4)
    similar, dissimilar = rng.standard_normal((2, 24, 4, 2))
    index = np.arange(48).reshape(24, 2)
    pairs = LabelledPairs(index, np.repeat([1.0, -1.0], 12))

    def gmml(similar, dissimilar):
        data = PriorData(np.concatenate([similar, dissimilar]), pairs=pairs, t=t, shrinkage=0.0)
        return matrix(gmml_spectrum(data))

    moved = gmml(np.linalg.inv(C).T @ similar, C @ dissimilar)
    np.testing.assert_allclose(moved, C @ gmml(similar, dissimilar) @ C.T, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("prior", [within_spectrum, gmml_spectrum])
def test_unshrunk_distances_of_the_inverse_scatter_are_invariant_under_congruence(prior):
    """At t = 0, the squared distances F^T W F do not change if every example is multiplied by a matrix."""
    data = labelled_data(t=0.0, shrinkage=0.0)
    A = np.random.default_rng(1).standard_normal((4, 4)) + 3.0 * np.eye(4)
    F = data.embedded[1:] - data.embedded[0]
    W, moved = matrix(prior(data)), matrix(prior(dataclasses.replace(data, embedded=A @ data.embedded)))
    expected = np.einsum("kim,ij,kjm->k", F, W, F)
    np.testing.assert_allclose(np.einsum("kim,ij,kjm->k", A @ F, moved, A @ F), expected, rtol=1e-8)


def test_full_shrinkage_leaves_a_multiple_of_the_identity():
    data = labelled_data(t=0.3, shrinkage=1.0)
    S, D = (np.trace(A) / 4 for A in pair_scatters(data))
    np.testing.assert_allclose(matrix(gmml_spectrum(data)), S**-0.7 * D**0.3 * np.eye(4), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-85, 1.0, 1e85])
def test_automatic_shrinkage_does_not_depend_on_the_units(scale):
    data = labelled_data()
    expected = matrix(within_spectrum(data))
    found = matrix(within_spectrum(dataclasses.replace(data, embedded=scale * data.embedded)))
    np.testing.assert_allclose(found * scale**2, expected, rtol=1e-9)


@pytest.mark.parametrize("prior", [within_spectrum, gmml_spectrum])
def test_large_offset_costs_no_accuracy(prior):
    """The entries are multiples of 2^-10, so that adding the offset is exact."""
    data = labelled_data(count=9, n=30)
    embedded = np.round(data.embedded * 2.0**10) / 2.0**10
    found, expected = (
        matrix(prior(dataclasses.replace(data, embedded=embedded + offset))) for offset in (2.0**30, 0.0)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_without_classes_within_is_the_inverse_scatter_of_similar_pairs():
    data = labelled_data(shrinkage=0.1, t=0.0)
    unlabelled = dataclasses.replace(data, codes=None)
    S = shrink(pair_scatters(data)[0], 0.1)
    np.testing.assert_allclose(matrix(within_spectrum(unlabelled)), np.linalg.inv(S), rtol=1e-9)
    np.testing.assert_allclose(matrix(gmml_spectrum(unlabelled)), np.linalg.inv(S), rtol=1e-9)


@pytest.mark.parametrize("prior", [within_spectrum, gmml_spectrum])
def test_without_classes_automatic_shrinkage_is_that_of_the_similar_differences(prior):
    data = labelled_data(m=1, t=0.0)
    similar = data.pairs.pairs[data.pairs.similar > 0.0]
    F = (data.embedded[similar[:, 0]] - data.embedded[similar[:, 1]])[:, :, 0]
    expected = np.linalg.inv(ledoit_wolf(F, assume_centered=True)[0])
    np.testing.assert_allclose(matrix(prior(dataclasses.replace(data, codes=None))), expected, rtol=1e-9)


def test_pairs_are_weighted():
    data = labelled_data(shrinkage=0.1)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(data.pairs.pairs))
    expected = literal_gmml(data, weights)
    for factor in (1.0, 10.0):
        weighted = dataclasses.replace(data, pair_weights=factor * weights)
        np.testing.assert_allclose(matrix(gmml_spectrum(weighted)), expected, rtol=1e-9)
    assert not np.allclose(expected, matrix(gmml_spectrum(data)), rtol=1e-3)


def test_gmml_at_zero_needs_no_dissimilar_pairs():
    data = labelled_data(t=0.0)
    kept = data.pairs.similar > 0.0
    only_similar = dataclasses.replace(data, pairs=LabelledPairs(data.pairs.pairs[kept], data.pairs.similar[kept]))
    np.testing.assert_array_equal(gmml_spectrum(only_similar).root(), gmml_spectrum(data).root())
    with pytest.raises(ValueError, match=r"needs dissimilar pairs of different examples, .* or set prior_t=0"):
        gmml_spectrum(dataclasses.replace(only_similar, t=0.5))


@pytest.mark.parametrize("prior", [within_spectrum, gmml_spectrum])
@pytest.mark.parametrize(
    "embedded", [np.ones((6, 3, 2)), np.arange(3.0)[[0, 1, 2, 0, 1, 2], None, None] * np.ones((3, 2))]
)
def test_equal_similar_examples_raise_value_error(prior, embedded):
    data = dataclasses.replace(labelled_data(count=6), embedded=embedded)
    for shrinkage in ("auto", 0.0, 0.5):
        with pytest.raises(ValueError, match=r"needs similar examples that differ, .* use prior='identity'"):
            prior(dataclasses.replace(data, shrinkage=shrinkage))


@pytest.mark.parametrize(("n", "m", "rank"), [(30, 1, 6), (30, 2, 12), (8, 1, 6)])
def test_unshrunk_singular_scatter_raises_value_error_with_its_rank(n, m, rank):
    """Nine examples in three classes span 6 m directions within their classes."""
    data = labelled_data(count=9, n=n, m=m, shrinkage=0.0)
    message = rf"nonsingular scatter matrix S of similar examples, but its rank is {rank} of {n} with shrinkage=0; use"
    with pytest.raises(ValueError, match=f"prior 'within' needs a {message} shrinkage='auto' or a larger number"):
        within_spectrum(data)
    with pytest.raises(ValueError, match=f"prior 'gmml' needs a nonsingular scatter matrix S .* of {n} with"):
        gmml_spectrum(data)


def test_unshrunk_singular_scatter_of_dissimilar_pairs_raises_value_error():
    rng = np.random.default_rng(0)
    embedded = rng.standard_normal((24, 3, 1))
    embedded[20:, 2] = 0.0
    pairs = LabelledPairs(np.arange(24).reshape(12, 2), np.repeat([1.0, -1.0], [10, 2]))
    data = PriorData(embedded, pairs=pairs, shrinkage=0.0)
    with pytest.raises(ValueError, match="scatter matrix D of dissimilar examples, but its rank is 2 of 3 with"):
        gmml_spectrum(data)
    assert matrix(gmml_spectrum(dataclasses.replace(data, t=0.0))).shape == (3, 3)


@pytest.mark.parametrize("prior", [within_spectrum, gmml_spectrum])
@pytest.mark.parametrize("constant", [1, 3])
def test_shrinkage_makes_the_prior_finite_in_directions_without_variation(prior, constant):
    data = labelled_data()
    data.embedded[:, :constant] = 7.0
    W = matrix(prior(data))
    assert np.isfinite(W).all()
    assert np.linalg.eigvalsh(W)[0] > 0.0


@pytest.mark.parametrize("prior", [within_spectrum, gmml_spectrum])
def test_examples_are_not_changed(prior):
    data = labelled_data()
    before = data.embedded.copy()
    prior(data)
    np.testing.assert_array_equal(data.embedded, before)

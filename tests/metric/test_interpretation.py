"""Patterns, importance and explanations against the definition of the distance."""

from __future__ import annotations

import re

import numpy as np
import pytest

from covmetric import LearnedMetric, get_embedding
from covmetric.embeddings import EMBEDDINGS, VectorisedIdentity
from covmetric.peers import VectorITML
from tests.data import hermitian, spd, two_classes

PHIS = [*EMBEDDINGS.values(), VectorisedIdentity]
CASES = [(phi, make) for phi in PHIS for make in ((spd,) if phi.takes_vectors else (spd, hermitian))]
N_CHANNELS = 4


def metric_on(embedding, X, seed=1):
    phi = embedding.fit(X)
    A = np.random.default_rng(seed).standard_normal((phi.shape_out_[0],) * 2)
    W = A @ A.T
    if phi.copies_ == 2:  # the real form of a Hermitian matrix
        n = len(W) // 2
        P, Q = W[:n, :n] + W[n:, n:], W[n:, :n] - W[:n, n:]
        W = np.block([[P, -Q], [Q, P]])
    return LearnedMetric(phi, W)


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0].name}-{case[1].__name__}")
def case(request):
    phi, make = request.param
    X = make(10, N_CHANNELS)
    X = X[:, 0] if phi.takes_vectors else X
    return metric_on(phi(), X), X


def test_patterns_are_the_eigenvectors_of_W(case):
    metric, _ = case
    found = metric.patterns()
    k = len(found)
    assert (np.diff(found.values) <= 0).all() and found.shares.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.vectors @ found.vectors.conj().T, np.eye(k), atol=1e-12)
    rebuilt = (found.vectors.T * found.values) @ found.vectors.conj()
    if np.iscomplexobj(rebuilt):
        rebuilt = np.block([[rebuilt.real, -rebuilt.imag], [rebuilt.imag, rebuilt.real]])
    np.testing.assert_allclose(rebuilt, metric.W, atol=1e-12 * np.abs(metric.W).max())
    # The filter of a component extracts the component with weight 1.
    np.testing.assert_allclose((found.filters.conj() * found.patterns).sum(axis=1), 1.0, rtol=1e-10)
    largest = np.take_along_axis(found.patterns, np.abs(found.patterns).argmax(axis=1)[:, None], axis=1)
    np.testing.assert_allclose(largest, np.abs(largest), rtol=1e-12)


def test_patterns_have_one_name_per_entry_and_are_printed(case):
    metric, _ = case
    found = metric.patterns(["Fz", "C3", "C4", "Pz"])
    assert found.patterns.shape == found.filters.shape == (len(found), len(found.names))
    principal = getattr(metric.embedding, "components_", None)
    assert found.vectors.shape == (len(found), len(found.names) if principal is None else len(principal))
    header, *lines = str(found).split("\n")
    assert header == "pattern  share of tr W  largest channels"
    more = [f"... {len(found) - 5} more"] if len(found) > 5 else []
    assert len(lines) == min(len(found), 5) + len(more) and lines[5:] == more
    for i, line in enumerate(lines[:5]):
        largest = found.names[np.abs(found.patterns[i]).argmax()]
        number, share, value = line.split()[:3]
        assert (number, share) == (str(i), f"{100 * found.shares[i]:.1f}%")
        assert value.startswith("+") or value.endswith("@+0deg")  # the largest entry is positive
        assert line.split(value, 1)[1].startswith(f" {largest} ")


def test_importance_has_one_entry_per_channel(case):
    metric, X = case
    assert metric.importance(X).shape == (N_CHANNELS,)
    importance = metric.importance()
    assert importance.shape == (N_CHANNELS,)
    assert (importance >= 0).all() and importance.sum() == pytest.approx(1.0)


def test_importance_is_the_mean_over_all_pairs(case):
    metric, X = case
    pairs = [(i, j) for i in range(len(X)) for j in range(i)]
    parts = np.sum([metric.explain(X[i], X[j]).by_channel for i, j in pairs], axis=0)
    np.testing.assert_allclose(metric.importance(X), parts / parts.sum(), rtol=1e-9)


def test_explanation_sums_to_the_squared_distance(case):
    metric, X = case
    explanation = metric.explain(X[0], X[1])
    D = metric.distance(X[0], X[1], squared=True)
    assert explanation.squared_distance == pytest.approx(D, rel=1e-9)
    assert explanation.distance == pytest.approx(np.sqrt(D))
    assert (explanation.by_pattern >= 0).all()
    assert explanation.by_pattern.sum() == pytest.approx(D, rel=1e-9)
    assert explanation.by_channel.shape == (N_CHANNELS,)
    assert explanation.by_channel.sum() == pytest.approx(D, rel=1e-9)


def test_explanation_is_printed_with_the_names_of_the_channels(case):
    metric, X = case
    names = ["Fz", "C3", "C4", "Pz"]
    explanation = metric.explain(X[0], X[1], names=names)
    lines = str(explanation).split("\n")
    assert explanation.names == names
    assert lines[0].startswith(f"distance {explanation.distance:.6g} ")
    at = lines.index("channel  share of D")
    assert [line.split()[0] for line in lines[at + 1 :]] == [names[i] for i in np.argsort(-explanation.by_channel)]


@pytest.mark.parametrize(("size", "others"), [(5, None), (6, "1 other"), (9, "4 others")])
def test_printed_shares_add_up_to_100_percent(size, others):
    rng = np.random.default_rng(0)
    X = np.stack([np.cov(rng.standard_normal((size, 40))) for _ in range(4)])
    metric = LearnedMetric(get_embedding("log").fit(X), np.diag(np.arange(1.0, size + 1)))
    explanation = metric.explain(X[0], X[1])
    lines = str(explanation).split("\n")
    at = next(i for i, line in enumerate(lines) if "channel" in line)
    for table, parts in ((lines[2:at], explanation.by_pattern), (lines[at + 1 :], explanation.by_channel)):
        shares = [float(re.search(r"(-?[\d.]+)%", line)[1]) for line in table]
        assert sum(shares) == pytest.approx(100.0, abs=0.4)
        assert len(table) == min(size, 5 + (others is not None))
        if others is not None:
            assert table[-1].split()[:2] == others.split()
            assert shares[-1] == pytest.approx(100 * np.sort(parts)[:-5].sum() / parts.sum(), abs=0.051)


@pytest.mark.parametrize("vectors", ["raw", "log"])
def test_metric_of_a_peer_on_half_vectors_is_interpreted(vectors):
    """The rows of such an embedding are pairs of channels, whatever the name of the embedding is."""
    X, y = two_classes()
    metric = VectorITML(vectors, random_state=0).fit(X, y).metric_
    found = metric.patterns(["a", "b", "c"])
    assert found.names[:6] == ["a:a", "a:b", "b:b", "a:c", "b:c", "c:c"]
    assert len(found.names) == len(metric.W) and "a:" in str(found)
    assert metric.importance().shape == metric.importance(X).shape == (3,)
    assert metric.explain(X[0], X[1]).by_channel.shape == (3,)


def test_importance_of_half_vectors_is_divided_between_two_channels():
    X = spd(5, 3)
    W = np.zeros((6, 6))
    W[1, 1] = 8.0  # entry (0, 1) of the matrix
    metric = LearnedMetric(VectorisedIdentity().fit(X), W)
    np.testing.assert_allclose(metric.importance(), [0.5, 0.5, 0.0])
    D = 8.0 * 2.0 * (X[0] - X[1])[0, 1] ** 2
    np.testing.assert_allclose(metric.explain(X[0], X[1]).by_channel, [D / 2, D / 2, 0.0])


def test_metric_on_one_channel_gives_it_all_the_importance():
    X = spd(5, 3)
    metric = LearnedMetric(get_embedding("id").fit(X), np.diag([0.0, 2.0, 0.0]))
    np.testing.assert_allclose(metric.importance(), [0, 1, 0])
    np.testing.assert_allclose(metric.importance(X), [0, 1, 0], atol=1e-15)
    found = metric.patterns(["a", "b", "c"])
    np.testing.assert_allclose(np.abs(found.vectors[0]), [0, 1, 0])
    assert "100.0%  +1.00 b" in str(found)
    np.testing.assert_allclose(metric.explain(X[0], X[1]).by_pattern[1:], 0.0)


def test_patterns_of_a_recentred_log_invert_the_filters():
    """Each filter extracts its own component from the channels and suppresses the others."""
    X = spd(20, 4)
    metric = metric_on(get_embedding("relog"), X)
    found = metric.patterns()
    np.testing.assert_allclose(found.filters @ found.patterns.T, np.eye(4), atol=1e-10)
    M = np.linalg.inv(metric.embedding.whitener_ @ metric.embedding.whitener_)
    np.testing.assert_allclose(found.patterns, found.filters @ M, rtol=1e-8, atol=1e-10)  # Haufe et al. 2014


def test_description_of_a_pattern_has_the_largest_entries_first():
    metric = LearnedMetric(get_embedding("id").fit(np.eye(3)[None]), np.outer([1.0, -4.0, 8.0], [1.0, -4.0, 8.0]))
    found = metric.patterns(["a", "b", "c"])
    assert found.describe(0) == "+0.89 c -0.44 b +0.11 a"
    assert found.describe(0, entries=2) == "+0.89 c -0.44 b ..."


def test_description_of_a_complex_pattern_has_magnitudes_and_angles():
    v = np.array([1.0, 0.5j])
    H = np.outer(v, v.conj())
    W = np.block([[H.real, -H.imag], [H.imag, H.real]])
    phi = get_embedding("id").fit(np.eye(2, dtype=complex)[None])
    found = LearnedMetric(phi, W).patterns(["a", "b"])
    assert found.describe(0) == "0.89@+0deg a 0.45@+90deg b"


def test_names_of_half_vectors_are_pairs_of_channels():
    metric = metric_on(get_embedding("veclog"), spd(5, 2))
    assert metric.patterns(["l", "r"]).names == ["l:l", "l:r", "r:r"]
    complex_metric = metric_on(get_embedding("veclog"), hermitian(5, 2))
    assert complex_metric.patterns().names == ["x0:x0", "x0:x1", "x1:x1", "x0:x1 imag"]


def test_invalid_arguments_are_refused():
    metric = metric_on(get_embedding("veclog"), spd(5, 2))
    with pytest.raises(ValueError, match="names must have one entry per channel, 2; got 3"):
        metric.patterns(["a", "b", "c"])
    with pytest.raises(ValueError, match=r"must be one example each; got shapes \(5, 2, 2\)"):
        metric.explain(spd(5, 2), spd(1, 2)[0])
    with pytest.raises(ValueError, match="X must hold at least two examples, because distances need pairs; got 1"):
        metric.importance(spd(1, 2))


def test_zero_metric_has_no_importance_and_no_distance():
    phi = get_embedding("vector").fit(np.ones((2, 3)))
    metric = LearnedMetric(phi, np.zeros((3, 3)))
    np.testing.assert_array_equal(metric.importance(), 0.0)
    np.testing.assert_array_equal(metric.patterns().shares, 0.0)
    explanation = metric.explain([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    assert explanation.squared_distance == 0.0 and "nan" not in str(explanation)


def test_explanation_of_vectors_gives_the_part_of_each_feature():
    metric = LearnedMetric(get_embedding("vector").fit(np.ones((2, 3))), np.diag([1.0, 4.0, 0.0]))
    np.testing.assert_allclose(metric.explain([1.0, 1.0, 1.0], [0.0, 0.0, 0.0]).by_channel, [1.0, 4.0, 0.0])

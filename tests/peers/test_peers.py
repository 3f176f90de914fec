"""The peers: one contract for all of them, and each against a literal or an outside judge."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from pyriemann.geometry import distance as pyriemann_distance
from scipy.integrate import quad
from scipy.linalg import eigvalsh
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError, SkipTestWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from covmetric import PAPER_SETTINGS, CovMetric, LearnedMetric, MetricProblem, RandomPairs, make_paper_problem, solve
from covmetric.datasets import make_spd_classes
from covmetric.peers import (
    FIXED_DISTANCES,
    LEML,
    PEERS,
    FixedDistanceClassifier,
    KernelTargetAlignment,
    VectorITML,
    VemulapalliMetric,
    leml,
)
from covmetric.peers.yger import Alignment, PenalisedCost, divided_differences
from tests import naive

#: pyRiemann's own function of each distance.
OUTSIDE = {
    "riemann": pyriemann_distance.distance_riemann,
    "stein": pyriemann_distance.distance_logdet,
    "jdiv": pyriemann_distance.distance_kullback_sym,
    "euclid": pyriemann_distance.distance_euclid,
    "logeuclid": pyriemann_distance.distance_logeuclid,
    "power": lambda A, B: pyriemann_distance.distance_poweuclid(A, B, 0.5),
    "cholesky": pyriemann_distance.distance_chol,
}


def make(cls, **settings):
    names = inspect.signature(cls).parameters
    return cls(**{**({"random_state": 0} if "random_state" in names else {}), **settings})


LEARNERS = [*(make(cls) for cls in PEERS.values()), VectorITML("raw", scale="median", random_state=0)]
CLASSIFIERS = [FixedDistanceClassifier(name) for name in FIXED_DISTANCES]
TAKE_SINGULAR = {"raw", "euclid", "power"}


def label(estimator):
    settings = estimator.get_params()
    return f"{type(estimator).__name__}-{settings.get('distance', settings.get('vectors', ''))}"


@pytest.fixture(params=LEARNERS, ids=label)
def peer(request):
    return clone(request.param)


@pytest.fixture(params=CLASSIFIERS, ids=label)
def classifier(request):
    return clone(request.param)


@pytest.fixture(params=[*LEARNERS, *CLASSIFIERS], ids=label)
def estimator(request):
    return clone(request.param)


@pytest.fixture(scope="module")
def data():
    made = make_spd_classes(n_classes=3, n_per_class=14, n=4, samples=60)
    return made.X, made.y


def output(estimator, X):
    return estimator.predict_proba(X) if hasattr(estimator, "predict_proba") else estimator.transform(X)


def test_the_registries():
    assert list(PEERS) == ["vemulapalli", "leml", "yger", "itml"]
    assert set(FIXED_DISTANCES) == set(OUTSIDE)
    for name, cls in FIXED_DISTANCES.items():
        assert cls.name == name


# --- the contract -----------------------------------------------------------------------------------------------------


def test_transform_is_where_the_metric_is_euclidean(peer, data):
    X, y = data
    assert peer.fit(X, y) is peer
    T = peer.transform(X)
    apart = np.linalg.norm(T[:20] - T[20:40], axis=1)
    assert isinstance(peer.metric_, LearnedMetric)
    np.testing.assert_allclose(peer.distance(X[:20], X[20:40]), apart, rtol=1e-9)
    np.testing.assert_allclose(peer.pairwise(X[:20], X[20:40]).diagonal(), apart, rtol=1e-9)
    np.testing.assert_allclose(peer.pair_distance(np.stack([X[:20], X[20:40]], axis=1)), apart, rtol=1e-9)
    np.testing.assert_array_equal(peer.fit_transform(X, y), T)
    assert peer.n_features_in_ == 4
    assert len(peer.get_feature_names_out()) == T.shape[1]
    np.testing.assert_array_equal(peer.classes_, [0, 1, 2])


def test_W_is_positive_semi_definite(peer, data):
    eigenvalues = np.linalg.eigvalsh(peer.fit(*data).W_)
    assert eigenvalues[0] > 0.0


def test_better_than_chance(estimator):
    """Four classes; half of the examples of each to learn from."""
    made = make_spd_classes(n_classes=4, n_per_class=30, n=5, random_state=1)
    X, y = made.X, made.y
    model = estimator if hasattr(estimator, "predict") else make_pipeline(estimator, KNeighborsClassifier(3))
    assert model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.5


def test_learning_beats_the_fixed_metric_on_average():
    """Over five simulations, each peer that learns on logs is above log-Euclidean neighbours."""
    scores = {name: [] for name in ["logeuclid", *PEERS]}
    for seed in range(5):
        made = make_spd_classes(n_classes=4, n_per_class=30, n=5, random_state=seed)
        train, test = (made.X[::2], made.y[::2]), (made.X[1::2], made.y[1::2])
        scores["logeuclid"].append(FixedDistanceClassifier("logeuclid").fit(*train).score(*test))
        for name, cls in PEERS.items():
            scores[name].append(make_pipeline(make(cls), KNeighborsClassifier(3)).fit(*train).score(*test))
    mean = {name: np.mean(values) for name, values in scores.items()}
    assert all(mean[name] > mean["logeuclid"] for name in PEERS), mean


def test_parameters_clone_and_pickle(estimator, data):
    X, y = data
    settings = estimator.get_params()
    assert estimator.set_params(reg=1e-5).get_params() == {**settings, "reg": 1e-5}
    fitted = estimator.fit(X, y)
    np.testing.assert_array_equal(output(pickle.loads(pickle.dumps(fitted)), X), output(fitted, X))
    again = clone(fitted)
    assert not hasattr(again, "classes_")
    np.testing.assert_array_equal(output(again.fit(X, y), X), output(fitted, X))


def test_input_of_many_kinds(estimator, data):
    X, y = data
    frozen, before = X.copy(), X.copy()
    frozen.flags.writeable = False
    expected = output(estimator.fit(frozen, y), frozen)
    np.testing.assert_array_equal(frozen, before)
    names = np.array(["one", "three", "two"])
    named = clone(estimator).fit(X, names[y])
    np.testing.assert_array_equal(output(named, X), expected)
    np.testing.assert_array_equal(named.classes_, names)
    np.testing.assert_array_equal(output(clone(estimator).fit(X.tolist(), y.tolist()), X.tolist()), expected)
    np.testing.assert_array_equal(output(clone(estimator).fit(np.asfortranarray(X), y), X), expected)
    single = output(clone(estimator).fit(X.astype(np.float32), y), X.astype(np.float32))
    assert single.dtype == np.float64
    assert np.isfinite(single).all()


def test_volts(estimator, data):
    """Units do not matter to the decision, and not to a learned distance in units of its scale."""
    X, y = data
    one, volts = clone(estimator).fit(X, y), clone(estimator).fit(1e-12 * X, y)
    if hasattr(one, "predict"):
        np.testing.assert_array_equal(volts.predict_proba(1e-12 * X), one.predict_proba(X))
    else:
        np.testing.assert_allclose(volts.pairwise(1e-12 * X), one.pairwise(X), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    ("mess", "message"),
    [
        (lambda X, y: (X[:, 0], y), r"X must hold real matrices, shape \(l, n, n\).*got shape \(42, 4\)"),
        (lambda X, y: (X + 0j, y), r"X must hold real matrices.*complex128"),
        (lambda X, y: (X[:, :, :3], y), r"X must hold square matrices.*\(42, 4, 3\)"),
        (lambda X, y: (np.where(np.arange(42)[:, None, None] == 5, np.nan, X), y), r"X\[5, 0, 0\] is nan"),
        (lambda X, y: (X + np.triu(np.ones((4, 4)), 1), y), r"X\[0\] is not symmetric"),
        (lambda X, y: (X, 0 * y), "y has only one class, 0: at least two classes"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X, y + 0.5), "Unknown label type"),
    ],
)
def test_bad_input(estimator, data, mess, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(*mess(*data))


def test_singular_matrices(estimator, data):
    X, y = data[0].copy(), data[1]
    X[3] = np.outer(X[3, 0], X[3, 0])
    settings = estimator.get_params()
    if {settings.get("vectors"), settings.get("distance")} & TAKE_SINGULAR:
        assert np.isfinite(output(estimator.fit(X, y), X)).all()
        return
    with pytest.raises(ValueError, match=r"X\[3\] is not positive definite.*set reg"):
        estimator.fit(X, y)
    assert np.isfinite(output(estimator.set_params(reg=1e-3).fit(X, y), X)).all()


def test_at_predict(estimator, data):
    X, y = data
    with pytest.raises(NotFittedError):
        output(estimator, X)
    estimator.fit(X, y)
    with pytest.raises(ValueError, match=r"3 features, but .* is expecting 4"):
        output(estimator, X[:, :3, :3])
    bad = X.copy()
    bad[7, 1, 2] = np.inf
    with pytest.raises(ValueError, match=r"X\[7, 1, 2\] is inf"):
        output(estimator, bad)
    with pytest.raises(ValueError, match=r"square matrices"):
        output(estimator, X[:, 0])


@pytest.mark.parametrize("cls", [cls for cls in PEERS.values() if "random_state" in inspect.signature(cls).parameters])
def test_the_random_state_decides(cls, data):
    fits = [cls(random_state=seed, budget=10).fit(*data).W_ for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


def test_the_same_bits_for_any_number_of_jobs(estimator):
    made = make_spd_classes(n_per_class=60, n=5)
    one = clone(estimator).set_params(n_jobs=1).fit(made.X, made.y)
    two = clone(estimator).set_params(n_jobs=2).fit(made.X, made.y)
    np.testing.assert_array_equal(output(one, made.X), output(two, made.X))


def test_scikit_learns_checks(estimator):
    """What they look at needs no data: scikit-learn says that it cannot test a class that takes no 2-D arrays."""
    tags = get_tags(estimator)
    assert tags.input_tags.three_d_array and not tags.input_tags.two_d_array
    assert tags.target_tags.required
    with pytest.warns(SkipTestWarning, match="Can't test estimator"):
        seen = check_estimator(estimator, on_skip=None)
    assert {row["status"] for row in seen} == {"passed"}


@pytest.mark.parametrize(
    ("peer", "message"),
    [
        (VemulapalliMetric(lam=0.0), "lam must be a positive number"),
        (VemulapalliMetric(lam=np.inf), "lam must be finite"),
        (LEML(lam=np.inf), "lam must be finite"),
        (LEML(tol=-1.0), "tol must be a number >= 0"),
        (LEML(max_iter=0), "max_iter must be an integer >= 1"),
        (VectorITML("cosine"), "vectors must be one of 'log', 'raw'"),
        (VectorITML(gamma=0), "gamma must be a positive number, got 0"),
        (VectorITML(pairs="all"), "pairs must be one of"),
        (KernelTargetAlignment(0.0), "penalty must be a positive number, got 0.0"),
        (KernelTargetAlignment(tol=-1.0), "tol must be a number >= 0"),
        (KernelTargetAlignment(max_iter=0), "max_iter must be an integer >= 1"),
        (KernelTargetAlignment(reg=-1.0), "reg must be a number >= 0"),
        (FixedDistanceClassifier("cosine"), "distance must be one of 'riemann', 'stein'"),
        (FixedDistanceClassifier(n_neighbors=0), "n_neighbors must be an integer >= 1"),
    ],
)
def test_bad_settings_are_refused_in_fit(peer, message, data):
    with pytest.raises(ValueError, match=message):
        peer.fit(*data)


# --- Vemulapalli and Jacobs, ITML -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [VemulapalliMetric, VectorITML])
def test_certified(cls, data):
    """The certificate is that of the problem, and W that of its solution, unscaled."""
    peer = cls(random_state=0, tol=1e-9).fit(*data)
    assert peer.certificate_.solved
    assert (peer.problem_.n, peer.problem_.m) == (10, 1)
    assert peer.problem_.primal(peer.W_ * peer.scale_) == pytest.approx(peer.certificate_.primal, rel=1e-9)
    assert peer.history_.gap[-1] <= 1e-9 * max(1.0, peer.certificate_.primal)


def test_vemulapalli_is_our_learner_on_vectorised_logs(data):
    ours = CovMetric("veclog", random_state=0, lam=1e-3, tol=1e-9, **{**PAPER_SETTINGS, "solver": "auto"}).fit(*data)
    peer = VemulapalliMetric(1e-3, pairs=RandomPairs(100), random_state=0, tol=1e-9).fit(*data)
    np.testing.assert_allclose(peer.W_, ours.W_, rtol=1e-6, atol=1e-9)


def test_itml_has_the_settings_of_its_source(data):
    peer = VectorITML(random_state=0).fit(*data)
    problem = peer.problem_
    np.testing.assert_array_equal(problem.weights, 1.0)
    near, far = np.quantile(problem.squared_norms, [0.05, 0.95])
    np.testing.assert_allclose(problem.bounds, np.where(problem.similar > 0.0, near, far), rtol=1e-9)
    assert peer.scale_ == 1.0


def test_raw_half_vectors_keep_the_frobenius_distance(data):
    X, y = data
    embedding = VectorITML("raw", random_state=0).fit(X, y).metric_.embedding
    vectors = embedding.transform(X)[..., 0]
    apart = np.linalg.norm(vectors[0] - vectors[1:], axis=1)
    np.testing.assert_allclose(apart, np.linalg.norm(X[0] - X[1:], axis=(1, 2)), rtol=1e-12)
    np.testing.assert_allclose(embedding.inverse_transform(vectors[..., None]), X, rtol=1e-12)


# --- Huang et al. -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cycles", [1, 7])
def test_leml_is_the_published_iteration(cycles):
    problem = make_paper_problem(n=6, K=20, lam=1e-2, seed=3)
    result = leml(problem, tol=0.0, max_iter=20 * cycles - 1)
    assert result.history.n_iter[-1] == cycles
    np.testing.assert_allclose(result.W, naive.leml(problem, cycles), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_leml_solves_problems_of_rank_one(seed):
    """There it is ITML, whose closed form is exact: what goes wrong below is the rank, not the code."""
    rng = np.random.default_rng(seed)
    F = rng.uniform(-0.5, 0.5, (30, 4, 1))
    problem = MetricProblem.from_differences(F, rng.choice([-1.0, 1.0], 30), 0.4, 0.5, "is")
    best = solve(problem, tol=1e-9).certificate.primal
    result = leml(problem, tol=1e-12)
    assert result.certificate.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("lam", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("seed", [0, 1])
def test_leml_does_not_reach_the_optimum(lam, seed):
    """It stands still, by any measure of its own, where our solver proves that the objective is too high."""
    problem = make_paper_problem(n=10, lam=lam, seed=seed)
    result, best = leml(problem, tol=1e-7), solve(problem, tol=1e-9)
    assert result.converged and best.certificate.solved
    excess = result.history.primal[-1] - best.certificate.primal
    assert excess > 0.05
    assert excess <= result.certificate.gap
    assert abs(result.history.primal[-1] - result.history.primal[-2]) < 1e-4 * excess


def test_leml_estimator(data):
    X, y = data
    peer = LEML(random_state=0).fit(X, y)
    h = peer.history_
    assert len(h.primal) == len(h.gap) == peer.n_iter_ + 1
    assert h.projections[1] == peer.problem_.n_pairs
    assert h.primal[0] == pytest.approx(peer.problem_.primal(np.eye(4)))
    assert peer.certificate_.primal == h.primal[-1] == pytest.approx(peer.problem_.primal(peer.W_ * peer.scale_))
    ours = CovMetric("log", lam=1e-2, random_state=0, tol=1e-9, **{**PAPER_SETTINGS, "solver": "auto"}).fit(X, y)
    same = LEML(pairs=RandomPairs(100), random_state=0, max_iter=1).fit(X, y)
    assert solve(same.problem_, tol=1e-9).certificate.primal == pytest.approx(ours.result_.certificate.primal, rel=1e-8)


def test_leml_stops_at_its_limit_without_a_warning(data):
    peer = LEML(random_state=0, max_iter=1).fit(*data)
    assert (peer.n_iter_, peer.converged_) == (1, False)


def test_leml_leaves_out_pairs_of_equal_examples():
    F = np.random.default_rng(0).uniform(-0.5, 0.5, (6, 3, 3))
    similar = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    whole = MetricProblem.from_differences(np.concatenate([F, F[:1] * 0]), [*similar, 1.0], 1.0, 2.0, "is")
    part = MetricProblem.from_differences(F, similar, 1.0, 2.0, "is")
    np.testing.assert_allclose(leml(whole).W, leml(part).W, rtol=1e-12)


def test_leml_needs_its_own_slack():
    with pytest.raises(ValueError, match="LEML needs a problem with slack 'is', got 'l2'"):
        leml(make_paper_problem(n=3, K=5, slack="l2"))


# --- Yger and Sugiyama ------------------------------------------------------------------------------------------------


def test_alignment_by_its_definition(data):
    X, y = data[0][::3], data[1][::3]
    for G in (np.eye(4), np.eye(4) + 0.3 * np.random.default_rng(0).standard_normal((4, 4))):
        assert Alignment(X, y)(G)[0] == pytest.approx(naive.alignment(G, X, y), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_gradient_of_the_alignment(seed, data):
    target = Alignment(*data)
    G = np.eye(4) + 0.3 * np.random.default_rng(seed).standard_normal((4, 4))
    error = check_grad(lambda g: target(g.reshape(4, 4))[0], lambda g: target(g.reshape(4, 4))[1].ravel(), G.ravel())
    assert error < 1e-6


def test_gradient_where_eigenvalues_are_equal():
    X = np.stack([np.eye(3), 2.0 * np.eye(3), np.diag([1.0, 1.0, 3.0]), np.diag([1.0, 2.0, 2.0])])
    target = Alignment(X, np.array([0, 0, 1, 1]))
    error = check_grad(
        lambda g: target(g.reshape(3, 3))[0], lambda g: target(g.reshape(3, 3))[1].ravel(), np.eye(3).ravel()
    )
    assert error < 1e-6


def test_gradient_of_the_cost(data):
    cost = PenalisedCost(Alignment(*data), 0.01)
    for scale in (0.0, 0.5):
        s = scale * np.random.default_rng(0).standard_normal(10)
        assert check_grad(lambda s: cost(s)[0], lambda s: cost(s)[1], s) < 1e-6


def test_divided_differences():
    """From the integral of 1/(t a + (1 - t) b), which knows no difference."""
    values = np.array([[1.0, 1.0 + 1e-9, 1.0 + 1e-5, 1.01, 2.0, 5.0]])
    for i, a in enumerate(values[0]):
        for j, b in enumerate(values[0]):
            expected = quad(lambda t, a=a, b=b: 1.0 / (t * a + (1.0 - t) * b), 0.0, 1.0, epsabs=1e-13, epsrel=1e-13)[0]
            assert divided_differences(values)[0, i, j] == pytest.approx(expected, rel=1e-12)
    far = divided_differences(np.array([[1e-12, 1e12]]))[0]
    np.testing.assert_allclose(far, [[1e12, 24 * np.log(10) / 1e12], [24 * np.log(10) / 1e12, 1e-12]], rtol=1e-12)


def test_alignment_rises_and_ends_where_it_is_flat(data):
    X, y = data
    peer = KernelTargetAlignment(tol=1e-6).fit(X, y)
    assert (np.diff(peer.history_) >= 0.0).all()
    assert len(peer.history_) == peer.n_iter_ + 1
    w, V = np.linalg.eigh(peer.G_)
    assert w[0] > 0.0
    assert peer.alignment_ == pytest.approx(naive.alignment(peer.G_, X, y), rel=1e-8)
    S = (V * np.log(w)) @ V.T
    assert peer.history_[-1] == pytest.approx(peer.alignment_ - 1e-4 * np.sum(S**2), rel=1e-9)
    np.testing.assert_array_equal(peer.W_, np.eye(4))


def test_the_penalty_keeps_G_near_the_identity(data):
    fits = [KernelTargetAlignment(penalty).fit(*data) for penalty in (1e-1, 1e-2, 1e-4)]
    conditions = [np.linalg.cond(peer.G_) for peer in fits]
    assert conditions == sorted(conditions)
    assert [peer.alignment_ for peer in fits] == sorted(peer.alignment_ for peer in fits)


def test_congruence_can_be_undone(data):
    X, y = data
    metric = KernelTargetAlignment().fit(X, y).metric_
    np.testing.assert_allclose(metric.mean(X[:1]), X[0], rtol=1e-8, atol=1e-8)


def test_an_alignment_that_still_rises_warns(data):
    with pytest.warns(ConvergenceWarning, match="was still rising after 2 steps"):
        KernelTargetAlignment(max_iter=2).fit(*data)


def test_equal_matrices_cannot_be_aligned():
    with pytest.raises(ValueError, match="all matrices are equal"):
        KernelTargetAlignment().fit(np.stack([np.eye(3)] * 4), [0, 0, 1, 1])


# --- the fixed distances ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[(4, 30), (9, 40)], ids=["n=4", "n=9"])
def matrices(request):
    n, samples = request.param
    made = make_spd_classes(n_per_class=30, n=n, samples=samples, separation=2.0)
    return made.X[::2], made.X[1::2]


@pytest.mark.parametrize("name", FIXED_DISTANCES)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_pairwise_as_pyriemann(name, n_jobs, matrices):
    fitted, queries = matrices
    found = FIXED_DISTANCES[name](n_jobs=n_jobs).fit(fitted).pairwise(queries)
    expected = [[OUTSIDE[name](x, z) for z in fitted] for x in queries]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", FIXED_DISTANCES)
@pytest.mark.parametrize("k", [1, 3, 44])
def test_neighbours_are_those_of_all_distances(name, k, matrices):
    """However many were ruled out by their bounds."""
    fitted, queries = matrices
    search = FIXED_DISTANCES[name]().fit(fitted)
    D = search.pairwise(queries)
    distances, indices = search.nearest(queries, k)
    np.testing.assert_array_equal(indices, np.argsort(D, axis=1, kind="stable")[:, :k])
    np.testing.assert_allclose(distances, np.take_along_axis(D, indices, axis=1), rtol=1e-9)


@pytest.mark.parametrize("name", ["riemann", "stein", "jdiv"])
@pytest.mark.parametrize("n", [1, 3, 8])
def test_lower_bounds(name, n):
    """Of distances from nothing to very far."""
    rng = np.random.default_rng(0)
    S = rng.standard_normal((200, n, n)) * np.logspace(-4, 0, 200)[:, None, None] / np.sqrt(n)
    w, V = np.linalg.eigh(S + np.swapaxes(S, 1, 2))
    X = (V * np.exp(w)[:, None, :]) @ np.swapaxes(V, 1, 2)
    search = FIXED_DISTANCES[name]()
    for i in range(0, 200, 7):
        for j in range(1, 200, 13):
            logs = np.linalg.norm((V[i] * w[i]) @ V[i].T - (V[j] * w[j]) @ V[j].T)
            x = np.log(eigvalsh(X[j], X[i]))
            exact = {"riemann": x**2, "stein": np.logaddexp(x / 2, -x / 2) - np.log(2), "jdiv": np.cosh(x) - 1}[name]
            exact = exact.sum() if name == "jdiv" else np.sqrt(max(exact.sum(), 0.0))
            assert search._lower(np.array([logs]), n)[0] <= exact * (1 + 1e-6) + 1e-6


def test_ties_and_own_neighbours(classifier, data):
    """Of equal examples the first comes first; of itself no example is a neighbour."""
    X, y = data
    doubled, labels = np.concatenate([X, X]), np.concatenate([y, y])
    classifier.fit(doubled, labels)
    indices = classifier.kneighbors(X, n_neighbors=2, return_distance=False)
    np.testing.assert_array_equal(indices, np.stack([np.arange(42), np.arange(42) + 42], axis=1))
    distances, indices = classifier.kneighbors(n_neighbors=1)
    np.testing.assert_array_equal(indices[:, 0], (np.arange(84) + 42) % 84)
    np.testing.assert_allclose(distances, 0.0, atol=1e-6)
    with pytest.raises(ValueError, match="n_neighbors is 84, but there are only 83 training examples"):
        classifier.kneighbors(n_neighbors=84)


def test_votes(classifier, data):
    X, y = data
    classifier.fit(X[::2], y[::2])
    shares = classifier.predict_proba(X)
    indices = classifier.kneighbors(X, return_distance=False)
    expected = [[np.mean(y[::2][row] == c) for c in range(3)] for row in indices]
    np.testing.assert_allclose(shares, expected)
    np.testing.assert_array_equal(classifier.predict(X), shares.argmax(axis=1))
    assert classifier.set_params(n_neighbors=100).predict(X).shape == (42,)


def test_riemann_far_apart():
    """Where the eigenvalues of X1^-1 X2 span more than a double's digits."""
    X = np.stack([np.diag([1e-9, 1.0, 1e3]), np.diag([1e3, 1.0, 1e-9]), np.eye(3)])
    found = FIXED_DISTANCES["riemann"]().fit(X).pairwise(X)
    assert found[0, 1] == pytest.approx(np.sqrt(2.0) * np.log(1e12), rel=1e-7)

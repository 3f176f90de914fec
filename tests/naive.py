"""Slow, literal versions of everything that covmetric optimises, for comparison in the tests.

This module shares no code with the library: the formulas are written out again, for dense matrices A_k. If a slack has
no formulas here, everything is computed numerically from its divergence.
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy.linalg
from scipy.optimize import brentq, minimize_scalar

# d(s), d'(s), xi(t), xi'(t), h(t) of the three divergences.
DIVERGENCE = {
    "is": lambda s: s - np.log(s) - 1,
    "l2": lambda s: (s - 1) ** 2 / 2,
    "re": lambda s: s * np.log(s) - s + 1 if s > 0 else 1.0,
}
GRADIENT = {"is": lambda s: 1 - 1 / s, "l2": lambda s: s - 1, "re": np.log}
XI = {"is": lambda t: 1 / (1 - t), "l2": lambda t: 1 + t, "re": np.exp}
XI_PRIME = {"is": lambda t: 1 / (1 - t) ** 2, "l2": lambda t: 0 * t + 1.0, "re": np.exp}
CONJUGATE = {"is": lambda t: np.log(1 - t), "l2": lambda t: -t - t**2 / 2, "re": lambda t: 1 - np.exp(t)}
# The seeds of the Bregman divergences, and their gradients at 1, as the paper writes them.
SEED = {"is": lambda x: -np.log(x), "l2": lambda x: x**2 / 2, "re": lambda x: (np.log(x) - 1) * x if x > 0 else 0.0}
SEED_GRADIENT_AT_1 = {"is": -1.0, "l2": 1.0, "re": 0.0}
# The range of s in which the numerical versions search.
SMALLEST, LARGEST = 1e-100, 1e100


def divergence(slack):
    """Return d as a function of one number."""
    return DIVERGENCE.get(slack.name) or (lambda s: float(slack.divergence(np.array([s], dtype=float))[0]))


def gradient(slack):
    """Return d' as a function of one number: the literal formula, or differences of d."""
    return GRADIENT.get(slack.name) or _differences(divergence(slack))


def xi(slack):
    """Return xi, the inverse of d', as a function of one number: the literal formula, or the root of d'(s) = t."""

    def root(t):
        slope = gradient(slack)
        low, high = np.log(SMALLEST), np.log(LARGEST)
        if slope(np.exp(low)) >= t:
            return 0.0
        if slope(np.exp(high)) <= t:
            return np.inf
        return float(np.exp(brentq(lambda v: slope(np.exp(v)) - t, low, high, xtol=1e-13, rtol=1e-13)))

    return XI.get(slack.name) or root


def xi_prime(slack):
    """Return xi' as a function of one number: the literal formula, or 1/d''(xi) by differences."""

    def reciprocal(t):
        s = xi(slack)(t)
        return 1.0 / _differences(gradient(slack))(s) if 0.0 < s < np.inf else 0.0

    return XI_PRIME.get(slack.name) or reciprocal


def conjugate(slack):
    """Return h as a function of one number: the literal formula, or the minimum of d(s) - t s over s."""

    def minimum(t):
        d = divergence(slack)

        def lagrangian(v):
            with np.errstate(all="ignore"):
                return d(np.exp(v)) - t * np.exp(v)

        # In v = log s the function falls, then rises: the best point of a grid brackets the minimum.
        grid = np.linspace(np.log(SMALLEST), np.log(LARGEST), 2001)
        values = [lagrangian(v) for v in grid]
        best = int(np.argmin(values))
        if best == len(grid) - 1:
            return -np.inf
        bracket = grid[max(best - 1, 0)], grid[best + 1]
        found = minimize_scalar(lagrangian, bounds=bracket, method="bounded", options={"xatol": 1e-10})
        return float(min(found.fun, values[best]))

    return CONJUGATE.get(slack.name) or minimum


def _differences(function):
    """Return the derivative of a function of s >= 0, by differences of order six, which leave about ten digits.

    Where the function hardly changes within a thousandth of s, as it does near 0 if it is finite there, the points are
    further apart, and all on the right of s.
    """

    def derivative(s):
        h = 1e-3 * s
        with np.errstate(all="ignore"):
            values = [function(s - 3 * h), function(s), function(s + 3 * h)]
            if abs(values[2] - values[0]) > 1e-6 * abs(values[1]):
                terms = [w * (function(s + k * h) - function(s - k * h)) for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))]
                return sum(terms) / (60.0 * h)
            h = 1e-3 * max(s, 1.0)
            forward = ((0, -147.0), (1, 360.0), (2, -450.0), (3, 400.0), (4, -225.0), (5, 72.0), (6, -10.0))
            return sum(w * function(s + k * h) for k, w in forward) / (60.0 * h)

    return derivative


def seed(slack):
    """Return the seed of the Bregman divergence, and its gradient at 1; without a formula, d itself is a seed."""
    return SEED.get(slack.name, divergence(slack)), SEED_GRADIENT_AT_1.get(slack.name, 0.0)


def matrices(problem):
    """Return all A_k = F_k F_k^T."""
    X = problem.embedded
    F = np.array([X[i] - X[j] for i, j in problem.pairs])
    return np.array([f @ f.T for f in F])


def data(problem):
    """Return the matrices A_k, the signs, the bounds, the weights and the slack."""
    return matrices(problem), problem.similar, problem.bounds, problem.weights, problem.slack


def half_vector(matrix):
    """Return the lower triangle of a symmetric matrix, row by row, with off-diagonal entries times sqrt(2)."""
    return np.array([matrix[i, j] * (1.0 if i == j else 2.0**0.5) for i in range(len(matrix)) for j in range(i + 1)])


def lower_triangle(matrix):
    """Return the lower triangle of a matrix, row by row."""
    return np.array([matrix[i, j] for i in range(len(matrix)) for j in range(i + 1)])


def signed_sums(rows, weights):
    """Return the sums of w_k row_k over positive weights, and of -w_k row_k over negative ones, term by term."""
    plus, minus = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for row, weight in zip(rows, weights, strict=True):
        if weight > 0.0:
            plus += weight * row
        else:
            minus -= weight * row
    return plus, minus


def from_half_vector(vector):
    """Return the symmetric matrix of a half vector."""
    n = int((2 * len(vector)) ** 0.5)
    matrix, entries = np.zeros((n, n)), iter(vector)
    for i in range(n):
        for j in range(i + 1):
            matrix[i, j] = matrix[j, i] = next(entries) / (1.0 if i == j else 2.0**0.5)
    return matrix


def matrix_of(linear_map, n):
    """Return the matrix of a linear map of symmetric n x n matrices, in half vectors."""
    columns = [half_vector(linear_map(from_half_vector(e))) for e in np.eye(n * (n + 1) // 2)]
    return np.array(columns).T


def step_system(problem, C, active, springs):
    """Return I + sum_k h_k vec(B_k) vec(B_k)^T with B_k = C^T A_k C, and the half vectors of the B_k as rows."""
    vectors = [half_vector(C.T @ a @ C) for a in matrices(problem)[active]]
    size = problem.n * (problem.n + 1) // 2
    H = np.eye(size) + sum((h * np.outer(v, v) for h, v in zip(springs, vectors, strict=True)), np.zeros((size, size)))
    return H, np.array(vectors).reshape(-1, size)


def metric(problem, alpha):
    """Return W(alpha)."""
    A, y, *_ = data(problem)
    S = sum(y[k] * alpha[k] * A[k] for k in range(len(A)))
    return np.linalg.inv(np.eye(problem.n) + S)


def primal(problem, W):
    """Return P(W)."""
    A, y, b, c, slack = data(problem)
    d = divergence(slack)
    total = -np.linalg.slogdet(W)[1] + np.trace(W) - problem.n
    for k in range(len(A)):
        s = np.sum(A[k] * W) / b[k]
        if y[k] * (s - 1) > 0:
            total += c[k] * d(s)
    return total


def dual(problem, alpha):
    """Return g(alpha)."""
    A, y, b, c, slack = data(problem)
    h = conjugate(slack)
    S = sum(y[k] * alpha[k] * A[k] for k in range(len(A)))
    total = np.linalg.slogdet(np.eye(problem.n) + S)[1]
    for k in range(len(A)):
        total += c[k] * h(y[k] * alpha[k] * b[k] / c[k])
    return total


def max_violation(problem, W, alpha):
    """Return the largest y_k (s_k - xi_k), or 0 if all are negative."""
    A, y, b, c, slack = data(problem)
    violations = [0.0]
    for k in range(len(A)):
        s = np.sum(A[k] * W) / b[k]
        violations.append(y[k] * (s - xi(slack)(y[k] * alpha[k] * b[k] / c[k])))
    return max(violations)


def paper_slacks(problem, alpha):
    """Return the paper's xi_t and xi-bar_t at W(alpha), one pair at a time."""
    A, y, b, c, slack = data(problem)
    W = metric(problem, alpha)
    slacks, feasible = [], []
    for k in range(len(A)):
        slacks.append(float(xi(slack)(y[k] * alpha[k] * b[k] / c[k])))
        distance = np.sum(A[k] * W)
        violated = y[k] * distance > y[k] * b[k] * slacks[k]
        feasible.append(distance / b[k] if violated else slacks[k])
    return slacks, feasible


def paper_objective(problem, alpha):
    """Return the paper's BD((W_t, xi-bar_t), (I, 1)) at W(alpha), from the seeds of the divergences."""
    W, n = metric(problem, alpha), problem.n
    phi, phi_gradient_at_1 = seed(problem.slack)
    total = -np.linalg.slogdet(W)[1] + np.trace(W - np.eye(n))
    for weight, bar in zip(problem.weights, paper_slacks(problem, alpha)[1], strict=True):
        total += weight * (phi(bar) - phi(1.0) - phi_gradient_at_1 * (bar - 1.0))
    return total


def paper_bound(problem, alpha):
    """Return the right-hand side of the paper's stopping criterion, at W(alpha) and xi(alpha)."""
    A, y, b, c, slack = data(problem)
    W = metric(problem, alpha)
    phi, phi_gradient_at_1 = seed(slack)
    total = 0.0
    for k, (slack_k, bar) in enumerate(zip(*paper_slacks(problem, alpha), strict=True)):
        distance = np.sum(A[k] * W)
        if bar != slack_k:
            total += c[k] * (phi(bar) - phi(slack_k) - phi_gradient_at_1 * (bar - slack_k))
        total -= alpha[k] * y[k] * (distance - b[k] * slack_k)
    return total


def J(u, eigenvalues, b, c, t, slack):
    """Return the function whose root is the projection, from the eigenvalues of F^T W F."""
    return np.sum(eigenvalues / (1 + u * eigenvalues)) - b * xi(slack)(t + u * b / c)


class PaperDykstra:
    """A literal NumPy implementation of the paper's method: A^(-1/2) beforehand, then inverse, eigh and Newton-Raphson.

    A singular A is replaced by A + epsilon I, as the paper proposes.
    """

    def __init__(self, A, y, b, c, slack, epsilon=0.0):
        n = A.shape[1]
        self.A, self.y, self.b, self.c = A + epsilon * np.eye(n), y, b, c
        self.xi, self.xi_prime, self.t_max = xi(slack), xi_prime(slack), slack.t_max
        self.root = []
        for a in self.A:
            values, vectors = np.linalg.eigh(a)
            self.root.append(vectors @ np.diag(values**-0.5) @ vectors.T)
        self.W = np.eye(n)
        self.alpha = np.zeros(len(A))

    def project(self, k):
        y, root = self.y[k], self.root[k]
        d, U = np.linalg.eigh(root @ np.linalg.inv(self.W) @ root)
        delta = max(self.find_delta(d, k), -self.alpha[k])
        self.alpha[k] += delta
        self.W = root @ U @ np.diag(1 / (d + y * delta)) @ U.T @ root

    def find_delta(self, d, k):
        """Find the root of J(delta) by Newton-Raphson, halving the steps that leave the interval."""
        y, b, c = self.y[k], self.b[k], self.c[k]
        t = y * self.alpha[k] * b / c
        u, low = 0.0, -d[0]
        high = (self.t_max - t) * c / b
        for _ in range(100):
            inverse = 1 / (d + u)
            value = np.sum(inverse) - b * self.xi(t + u * b / c)
            slope = -np.sum(inverse**2) - b**2 / c * self.xi_prime(t + u * b / c)
            if abs(value) <= 1e-12 * b:
                break
            step = value / slope
            while not low < u - step < high:
                step /= 2
            u -= step
        return y * u

    def epoch(self, order):
        for k in order:
            self.project(k)


def visits(problem, order):
    """Return the metric and the multipliers after visits of pairs of any rank, from the identity.

    A visit maximises the dual objective in its own multiplier; the metric is inverted anew at every trial.
    """
    A, y, b, c, slack = data(problem)
    alpha = np.zeros(len(A))
    for k in order:
        rest = np.eye(problem.n) + sum(y[j] * alpha[j] * A[j] for j in range(len(A)) if j != k)
        longest = 1 / np.linalg.eigvalsh(np.linalg.solve(rest, A[k])).max() if y[k] < 0 else np.inf
        low, high = 0.0, min(longest, slack.t_max * c[k] / b[k] if y[k] > 0 else np.inf, 1e6)
        for _ in range(200):
            middle = 0.5 * (low + high)
            distance = np.sum(A[k] * np.linalg.inv(rest + y[k] * middle * A[k]))
            if y[k] * (distance - b[k] * xi(slack)(y[k] * middle * b[k] / c[k])) > 0:
                low = middle
            else:
                high = middle
        alpha[k] = low
    return metric(problem, alpha), alpha


def neighbor_pairs(vectors, codes, k):
    """Return pairs of each example with its k nearest of the same class and of others, one distance at a time."""
    chosen = set()
    for i in range(len(vectors)):
        for same in (True, False):
            others = [j for j in range(len(vectors)) if j != i and (codes[j] == codes[i]) == same]
            others.sort(key=lambda j: float(((vectors[i] - vectors[j]) ** 2).sum()))
            chosen.update((min(i, j), max(i, j)) for j in others[:k])
    return np.array(sorted(chosen))


def squared_distance(W, embedded1, embedded2):
    """Return D = <W, F F^T>, by its definition."""
    F = embedded1 - embedded2
    return float(np.sum(W * (F @ F.T)))


def leave_one_out(vectors, codes, groups, k, n_classes):
    """Return the vote of each example's k nearest outside its group, one example at a time."""
    guesses = []
    for i in range(len(vectors)):
        others = [j for j in range(len(vectors)) if groups[j] != groups[i]]
        others.sort(key=lambda j: float(((vectors[i] - vectors[j]) ** 2).sum()))
        votes = np.bincount(codes[others[:k]], minlength=n_classes)
        guesses.append(int(votes.argmax()))
    return np.array(guesses)


def nearest(references, queries, k):
    """Return distances and indices of the k nearest; without queries, of each reference among the others."""
    among_references = queries is None
    distances, indices = [], []
    for i, x in enumerate(references if among_references else queries):
        others = [j for j in range(len(references)) if not (among_references and j == i)]
        squared = [(float(((x - references[j]) ** 2).sum()), j) for j in others]
        chosen = sorted(squared)[:k]
        distances.append([value**0.5 for value, _ in chosen])
        indices.append([j for _, j in chosen])
    return np.array(distances), np.array(indices)


def region_covariance(image, names, box):
    """Return np.cov of pixel features over the box [top, left, height, width], one pixel at a time."""
    image = np.asarray(image, dtype=float)
    rows, columns = image.shape[:2]

    def grey(y, x):
        pixel = image[min(max(y, 0), rows - 1), min(max(x, 0), columns - 1)]
        return pixel if image.ndim == 2 else 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2]

    def values(y, x):
        Ix, Iy = grey(y, x + 1) - grey(y, x - 1), grey(y + 1, x) - grey(y - 1, x)
        Ixx = 2 * grey(y, x) - grey(y, x - 1) - grey(y, x + 1)
        Iyy = 2 * grey(y, x) - grey(y - 1, x) - grey(y + 1, x)
        features = {"x": x, "y": y, "I": grey(y, x), "Ix": Ix, "Iy": Iy, "Ixx": Ixx, "Iyy": Iyy}
        features |= {f"|{name}|": abs(features[name]) for name in ("Ix", "Iy", "Ixx", "Iyy")}
        features |= {"|grad|": (Ix**2 + Iy**2) ** 0.5, "angle": np.arctan2(abs(Iy), abs(Ix))}
        if image.ndim == 3:
            features |= dict(zip("RGB", image[y, x], strict=True))
        return [features[name] for name in names]

    top, left, height, width = box
    pixels = [values(y, x) for y in range(top, top + height) for x in range(left, left + width)]
    return np.cov(np.array(pixels).T)


def leml(problem, cycles):
    """Run the reconstruction of LEML on dense A_k: ITML's code with tr(Q A) instead of v^T Q v, and Q A Q."""
    A, y, b, c, _ = data(problem)
    Q, multipliers, bhat = np.eye(problem.n), np.zeros(len(A)), b.copy()
    for _ in range(cycles):
        for k in range(len(A)):
            gamma, p = c[k], np.trace(Q @ A[k])
            if y[k] == 1:
                alpha = min(multipliers[k], gamma / (gamma + 1) * (1 / p - 1 / bhat[k]))
                beta = alpha / (1 - alpha * p)
                bhat[k] = 1 / (1 / bhat[k] + alpha / gamma)
            else:
                alpha = min(multipliers[k], gamma / (gamma + 1) * (1 / bhat[k] - 1 / p))
                beta = -alpha / (1 + alpha * p)
                bhat[k] = 1 / (1 / bhat[k] - alpha / gamma)
            multipliers[k] -= alpha
            Q = Q + beta * Q @ A[k] @ Q
    return Q


def alignment(G, X, labels):
    """Return the centred alignment of the log-Euclidean kernel after X -> G X G^T, from whole kernels."""
    from scipy.linalg import logm

    logs = [logm(G @ x @ G.T) for x in X]
    K = np.array([[np.trace(a @ b) for a in logs] for b in logs])
    T = np.array([[1.0 if a == b else -1.0 for a in labels] for b in labels])
    H = np.eye(len(X)) - 1 / len(X)
    K, T = H @ K @ H, H @ T @ H
    return np.sum(K * T) / np.sqrt(np.sum(K * K) * np.sum(T * T))


def tangent_vector(X, M):
    """Return the half vector of log(M^-1/2 X M^-1/2), lower triangle row by row; the imaginary parts come last."""
    from scipy.linalg import inv, logm, sqrtm

    n = len(X)
    whitener = inv(sqrtm(M))
    log = logm(whitener @ X @ whitener)
    real = [log[i, j].real * (1 if i == j else np.sqrt(2)) for i in range(n) for j in range(i + 1)]
    imaginary = [log[i, j].imag * np.sqrt(2) for i in range(n) for j in range(i)]
    return np.array(real + imaginary if np.iscomplexobj(X) else real)


def log_on_range(X, M):
    """Return log(M^-1/2 X M^-1/2) for singular matrices with the null space of M, on which the result is zero."""

    def spectral(A, function):
        values, vectors = np.linalg.eigh(A)
        result = np.zeros_like(A)
        for value, v in zip(values, vectors.T, strict=True):
            if value > 1e-10 * values[-1]:
                result = result + function(value) * np.outer(v, v.conj())
        return result

    whitener = spectral(M, lambda value: value**-0.5)
    return spectral(whitener @ X @ whitener, np.log)


def _sqrtm(A):
    return scipy.linalg.sqrtm(A).astype(A.dtype)  # SciPy 1.13 returns complex matrices in extended precision


def recentred(X, mean):
    """Return M^(-1/2) X M^(-1/2) for matrices, by Schur decompositions, or x - m for vectors."""
    if X.ndim == 2:
        return np.stack([x - mean for x in X])
    root = np.linalg.inv(_sqrtm(mean))
    return np.stack([root @ x @ root for x in X])


def log_of(A):
    """Return the logarithm of a definite matrix by its eigenvalues; scipy's logm warns for entries near 1e-12."""
    eigenvalues, vectors = np.linalg.eigh(A)
    return vectors @ np.diag(np.log(eigenvalues)) @ vectors.conj().T


def geodesic(A, B, share, metric):
    """Return the point on the geodesic from A to B, literally from the formulas."""
    if A.ndim == 1 or metric == "euclid":
        return (1 - share) * A + share * B
    if metric == "logeuclid":
        return scipy.linalg.expm((1 - share) * log_of(A) + share * log_of(B))
    root = _sqrtm(A)
    inverse = np.linalg.inv(root)
    return root @ scipy.linalg.fractional_matrix_power(inverse @ B @ inverse, share) @ root


def running_means(start, strength, X, metric):
    """Return the running mean after each example: the t-th one has the share 1 / (strength + t)."""
    means, mean = [], start
    for t, x in enumerate(X, start=1):
        mean = geodesic(mean, x, 1 / (strength + t), metric)
        means.append(mean)
    return np.stack(means)


def blended_means(vectors, codes, n_first, strength):
    """Return (kappa m_c + sum of later vectors) / (kappa + their number) for each class, m_c of the first vectors."""
    means = {}
    for c in sorted(set(codes.tolist())):
        first = [v for i, v in enumerate(vectors) if codes[i] == c and i < n_first]
        later = [v for i, v in enumerate(vectors) if codes[i] == c and i >= n_first]
        if not later:
            means[c] = sum(first) / len(first)
        elif not first:
            means[c] = sum(later) / len(later)
        else:
            means[c] = (strength * sum(first) / len(first) + sum(later)) / (strength + len(later))
    return np.stack(list(means.values()))


def compared(i, codes, groups):
    """Return the examples that example i is compared with: all but those of its class and its group."""
    return [j for j in range(len(codes)) if not (codes[j] == codes[i] and groups[j] == groups[i])]


def mean_average_precision(D, codes, groups):
    """Return the mean over the queries of the mean precision at the distance of each relevant example."""
    values = []
    for i in range(len(codes)):
        others = compared(i, codes, groups)
        relevant = [j for j in others if codes[j] == codes[i]]
        precisions = []
        for j in relevant:
            retrieved = [k for k in others if D[i, k] <= D[i, j]]
            precisions.append(sum(codes[k] == codes[i] for k in retrieved) / len(retrieved))
        if relevant:
            values.append(sum(precisions) / len(relevant))
    return sum(values) / len(values)


def recall_at_1(D, codes, groups):
    """Return the probability that a random nearest example has the class of the query."""
    values = []
    for i in range(len(codes)):
        others = compared(i, codes, groups)
        if any(codes[j] == codes[i] for j in others):
            nearest = [j for j in others if D[i, j] == min(D[i, k] for k in others)]
            values.append(sum(codes[j] == codes[i] for j in nearest) / len(nearest))
    return sum(values) / len(values)


def few_shot_accuracy(vectors, shots, tested):
    """Return how often the nearest mean of shots is that of the class; tested[i] is the class of i, or -1."""
    correct = []
    for x, own in zip(vectors, tested, strict=True):
        if own >= 0:
            squared = [np.sum((x - vectors[members].mean(axis=0)) ** 2) for members in shots]
            correct.append(np.argmin(squared) == own)
    return np.mean(correct)


def verification_pairs(D, codes, groups):
    """Return the distances of the pairs of one class and of the pairs of different classes, each pair once."""
    similar, different = [], []
    for i in range(len(codes)):
        for j in compared(i, codes, groups):
            if j > i:
                (similar if codes[i] == codes[j] else different).append(D[i, j])
    return similar, different


def verification_auc(D, codes, groups):
    """Return the probability that a pair of one class is closer than a pair of different classes."""
    similar, different = verification_pairs(D, codes, groups)
    return np.mean([(s < d) + 0.5 * (s == d) for s in similar for d in different])


def verification_eer(D, codes, groups):
    """Return the point where the ROC curve, drawn as lines between all thresholds, crosses its antidiagonal."""
    similar, different = (np.array(part) for part in verification_pairs(D, codes, groups))
    curve = [(0.0, 1.0)] + [(np.mean(different <= t), np.mean(similar > t)) for t in np.unique([*similar, *different])]
    for (far, frr), (next_far, next_frr) in itertools.pairwise(curve):
        if next_far >= next_frr:
            t = (frr - far) / ((frr - far) + (next_far - next_frr))
            return far + t * (next_far - far)
    return 1.0


def lda_probabilities(vectors, codes, queries, n_classes):
    """Return the softmax of scaled Mahalanobis distances from class means, with Ledoit and Wolf's sums written out."""
    count, n = vectors.shape
    means = {c: vectors[codes == c].mean(axis=0) for c in set(codes.tolist())}
    rows = [v - means[int(c)] for v, c in zip(vectors, codes, strict=True)]
    S = sum(np.outer(x, x) for x in rows) / count
    target = np.trace(S) / n * np.eye(n)
    noise = sum(np.linalg.norm(np.outer(x, x) - S) ** 2 for x in rows) / count**2
    amount = min(noise / np.linalg.norm(S - target) ** 2, 1.0)
    inverse = np.linalg.inv((1.0 - amount) * S + amount * target)
    unit = np.mean([x @ inverse @ x for x in rows])
    result = np.zeros((len(queries), n_classes))
    for i, query in enumerate(queries):
        for c, mean in means.items():
            result[i, c] = np.exp(-(query - mean) @ inverse @ (query - mean) / unit)
    return result / result.sum(axis=1, keepdims=True)


def coupled_probabilities(log_odds, n_classes, n_leading=6):
    """Couple pairwise odds: squared geometric means over the leading opponents, row by row."""
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    rows = []
    for odds in np.exp(log_odds):
        r = np.ones((n_classes, n_classes))  # r[i, j] is the probability of i against j
        for (i, j), one in zip(pairs, odds, strict=True):
            r[i, j], r[j, i] = one / (1.0 + one), 1.0 / (1.0 + one)
        leading = sorted(range(n_classes), key=lambda i: -np.prod(r[i]))[:n_leading]
        strengths = [np.prod([r[i, j] for j in leading]) ** (2.0 / len(leading)) for i in range(n_classes)]
        rows.append(np.array(strengths) / sum(strengths))
    return np.array(rows)

"""Constants that were fitted to a machine: block sizes, break-even points and cost models.

They affect speed and memory, but not results, except for rounding. Each group names the benchmarks that it was fitted
with. To tune covmetric for another machine, run the benchmark, change the constant here, and run the benchmark again.
The values were measured on two cores of an AMD EPYC with AVX-512 and OpenBLAS. Only the ratios of times matter.

Numba does not notice changes in this file. After changing a constant that `solvers/kernels/` uses, delete its cache
(``__pycache__``).
"""

from __future__ import annotations

# --- BLAS threads (python -m benchmarks.solvers blas) -----------------------------------------------------------------
# One BLAS thread is faster than two if W has fewer rows than this. In the mean over six problems, two take 2.0
# times as long at n = 200, 1.5 times at n = 300, 1.3 times at n = 400, and 1.1 times at n = 600.
ONE_THREAD_BELOW = 512

# --- Sums over pairs (python -m benchmarks.blocks; python -m benchmarks.solvers growth) -------------------------------
# Bytes per chunk of differences. Several chunks fit into the cache of a core, and each is large enough to keep BLAS
# busy. The allocator does not return chunks of this size to the system, as it sometimes does with chunks of 2 MB, which
# then took twice as long.
CHUNK_BYTES = 2**19
# Arrays over all pairs are kept up to this size. Computing larger ones costs more than they save.
KEPT_BYTES = 2**24
# Lower triangles of at least this many bytes in all are summed up by compiled loops, which scale with threads
# (python -m benchmarks.scale threads). If W has at most so many rows, such loops also compute them: on one thread they
# take 0.4 times as long as BLAS at n = 9, 0.7 times at n = 22 and 0.9 times at n = 50.
COMPILED_FROM_BYTES, LOOPS_UP_TO_ROWS = 2**22, 48
# Half vectors of the B_k of a Newton step are computed by loops if W has at most so many rows: they take 0.4 times as
# long as BLAS at n = 5, 0.6 times at n = 10, and as long at n = 16.
HALF_GRAM_LOOPS_UP_TO_ROWS = 16
# Pairs per block of a large problem: differences of this many bytes, and between these numbers of pairs. Blocks are
# the unit of work of threads and workers: large enough that handing one out takes no time, small enough that eight
# threads have several each.
BLOCK_BYTES = 2**25
BLOCK_PAIRS = (2**10, 2**16)
# Pairs that are arrays are split into a multiple of this many blocks of equal size, so that the last blocks do not
# leave threads idle.
BLOCKS_MULTIPLE = 4
# Passes of a few operations per pair run in one thread if there are fewer pairs than this.
LIGHT_PASS_PAIRS = 2**18
# Consecutive blocks are summed up together if there are more than this many. A power of two: a pass is a binary tree.
MAX_RANGES = 256
# Tasks of a pass for each thread of a cluster: few, because each costs time and bytes, but enough that a worker that is
# faster than the others is given more (python -m benchmarks.scale workers).
TASKS_PER_THREAD = 8
# From this many blocks on a problem is solved in blocks; if its examples are thin, from the second number on.
SPLIT_FROM, SPLIT_THIN_FROM = 4, 16
# Bytes that the allocator of a worker keeps after they were freed (python -m benchmarks.scale workers).
FREED_BYTES_KEPT = 2**26
# The index tables of half vectors are cached for matrices of up to this size.
HALF_VECTORS_KEPT_BELOW = 256

# --- The reduction to the span of the differences (python -m benchmarks.span crossover) -------------------------------
# The reduction is tried if W has at least SPAN_ROWS rows and there are fewer columns than rows, and for any number of
# columns if W has at least SPAN_MANY_ROWS rows. It is used if the differences span at most SPAN_FRACTION of the
# directions.
SPAN_ROWS, SPAN_MANY_ROWS = 64, 128
SPAN_FRACTION = 0.9

# --- The choice of the first method by `auto` (python -m benchmarks.cells) --------------------------------------------
# Embedded examples are thin if they have at least this many times as many rows as columns.
THIN_RATIO = 4
# The epochs that Dykstra usually takes until Newton's model holds: FIRST_EPOCHS (m/n)^FIRST_EPOCHS_COLUMNS
# K^FIRST_EPOCHS_PAIRS, times FIRST_EPOCHS_THICK if examples are not thin, and the steps of Newton's method from there.
FIRST_EPOCHS, FIRST_EPOCHS_COLUMNS, FIRST_EPOCHS_PAIRS, FIRST_EPOCHS_THICK, LAST_STEPS = 4.0, 0.5, 0.15, 4.0, 2.0
# The steps that Newton's method alone takes: FIRST_STEPS (P/n)^FIRST_STEPS_OBJECTIVE n^FIRST_STEPS_ROWS, where P/n is
# the objective per row at the best multiple of the identity, or FIRST_OBJECTIVE if that is more.
FIRST_STEPS, FIRST_STEPS_OBJECTIVE, FIRST_STEPS_ROWS, FIRST_OBJECTIVE = 3.0, 0.36, 0.2, 0.05

# --- Dykstra (python -m benchmarks.projection) ------------------------------------------------------------------------
# Operations per call of the compiled sweep: few enough that Ctrl-C takes effect within a tenth of a second.
OPERATIONS_PER_SWEEP = 5e8
# The largest time that a certificate may take, as a fraction of the time of the epochs since the last certificate.
CERTIFICATE_FRACTION = 0.25
# Up to these sizes, plain loops are faster than LAPACK's dsytrd, and faster than dpotrf with dtrsm.
SMALL_TRIDIAGONAL = 128
SMALL_SOLVE = 24
# Thin examples with up to this many columns are visited in blocks of pairs, each with so many columns in all. At m = 1
# this is 2 times as fast at n = 10, 2.9 times at n = 78 and 4.5 times at n = 300; from m = 5 on it is not faster.
BLOCK_MAX_COLUMNS, BLOCK_COLUMNS = 4, 24


def visits_blocks(n: int, m: int) -> bool:
    """Return whether Dykstra's algorithm visits the pairs in blocks.

    Parameters
    ----------
    n, m : int
        The numbers of rows and columns of an embedded example.

    Returns
    -------
    bool
    """
    return m <= BLOCK_MAX_COLUMNS and 2 * m <= n


def sweep_seconds(n: int, m: int, moved: int, idle: int) -> float:
    """Return the predicted time of a sweep over half-spaces.

    Parameters
    ----------
    n, m : int
        The numbers of rows and columns of an embedded example.
    moved, idle : int
        The numbers of half-spaces whose projection changes W, and of half-spaces that already contain W.

    Returns
    -------
    float
        The time in seconds.
    """
    if visits_blocks(n, m):
        idle_pair = m * (5e-8 + 2.2e-9 * n + 4.2e-11 * n * n)
        moved_pair = m * (2.2e-7 + 3.5e-9 * n + 6.3e-11 * n * n)
        return 7e-6 + idle * idle_pair + moved * moved_pair
    m = min(n, m)
    speed = 4e10 * min(1.0, 0.1 * (1 + m))  # products with few columns are limited by the memory
    product = 2.0 * n * n * m / speed
    rest = (3.0 * n * m * m + 2.0 * n * n * m + 2.0 * m**3) / (0.75 * speed)
    return 7e-6 + idle * (3e-7 + product) + moved * (9e-7 + product + rest)


def certificate_seconds(n: int, m: int, n_pairs: int, kept: bool) -> float:
    """Return the predicted time of a certificate.

    Parameters
    ----------
    n, m : int
        The numbers of rows and columns of an embedded example.
    n_pairs : int
        The number of pairs.
    kept : bool
        Whether the lower triangles of all F_k F_k^T are kept in memory.

    Returns
    -------
    float
        The time in seconds.
    """
    if kept:
        return 1.2e-4 + n_pairs * (2e-8 + 3e-10 * n * n) + 2e-10 * n**3
    return 1.2e-4 + n_pairs * (2e-8 + m * (8e-9 + 1.6e-9 * n + 4.8e-11 * n * n)) + 1e-10 * n**3


def estimate_seconds(n: int, n_pairs: int) -> float:
    """Return the predicted time of an estimate of the gap by Dykstra's algorithm.

    Parameters
    ----------
    n : int
        The number of rows of an embedded example.
    n_pairs : int
        The number of pairs.

    Returns
    -------
    float
        The time in seconds.
    """
    return 1.2e-5 + 9e-9 * n_pairs + 2e-11 * n**3


# --- The linear system of a Newton step (python -m benchmarks.solvers grid; python -m benchmarks.blocks) --------------
# Bytes per block of rows of the dense system.
SYSTEM_BLOCK_BYTES = 2**26
# If examples have several columns, and the half vectors of the active pairs take at most this many bytes, the system is
# the one with the smaller matrix: comparing the costs of all kinds takes ten microseconds, more than it could save.
SMALL_SYSTEM_BYTES = 2**15
# Bytes that fit into the cache of a core.
CACHE_BYTES = 2**24
# The unit of the costs below is one operation of a matrix product, of which a core does this many in a second.
SPEED = 2.5e10
# The number of iterations of conjugate gradients in a typical step, and the cost of an iteration in addition to its
# sums over the pairs.
CG_TYPICAL_ITERATIONS = 8
CG_OVERHEAD = 5e5
# A preconditioner samples SAMPLED_PAIRS pairs per row of its matrix, and at least PAIRS_OF_A_BLOCK from each block. A
# step with it costs about as much as SAMPLED_ITERATIONS iterations (python -m benchmarks.scale threads).
SAMPLED_PAIRS, PAIRS_OF_A_BLOCK, SAMPLED_ITERATIONS = 64, 16, 6
# The cost per entry of a matrix-vector product, for matrices within the cache and for larger ones.
VECTOR_PRODUCT_CACHED, VECTOR_PRODUCT_UNCACHED = 10.0, 20.0
# The cost per entry of a difference in a sum over pairs whose examples have been transformed.
EXAMPLE_ENTRY = 25.0
# The cost of squaring and adding an entry of F W F^T, and of an entry that is computed from inner products of examples.
THIN_OVERHEAD, THIN_ENTRY = 30.0, 20.0
# The cost of transforming a pair, in addition to its matrix product.
PAIR_OVERHEAD = 1e4


def thin_work(n: int, m: int, n_active: float, n_examples: int | None) -> float:
    """Return the operations that the matrix of the pairs takes without half vectors.

    Parameters
    ----------
    n, m : int
        The numbers of rows and columns of an embedded example.
    n_active : float
        The number of active pairs.
    n_examples : int or None
        The number of examples, or None if their inner products may not be used.

    Returns
    -------
    float
    """
    by_pairs = n_active * n_active * m * m * (n + THIN_OVERHEAD)
    if m > 1 or n_examples is None:
        return by_pairs
    return min(by_pairs, n_examples * n_examples * n + THIN_ENTRY * n_active * n_active)


def newton_seconds(n: int, m: int, n_pairs: int, n_examples: int) -> float:
    """Return the predicted time of a step of Newton's method, with most of the pairs active.

    Parameters
    ----------
    n, m : int
        The numbers of rows and columns of an embedded example.
    n_pairs, n_examples : int
        The numbers of pairs and of examples.

    Returns
    -------
    float
        The time in seconds.
    """
    passes = 1.5 * _pass_work(n, m, n_pairs, n_examples)
    n_active = 0.8 * n_pairs
    thin = thin_work(n, m, n_active, n_examples)
    return 1.5e-4 + (0.4 * _system_work(n, m, n_active, n_examples, thin, 4.5) + passes + 20.0 * n**3) / SPEED


def interior_seconds(n: int, m: int, n_pairs: int, n_examples: int) -> float:
    """Return the predicted time of a step of the interior-point method.

    Parameters
    ----------
    n, m : int
        The numbers of rows and columns of an embedded example.
    n_pairs, n_examples : int
        The numbers of pairs and of examples.

    Returns
    -------
    float
        The time in seconds.
    """
    passes = 3.5 * _pass_work(n, m, n_pairs, n_examples)
    thin = thin_work(n, m, n_pairs, None)  # with the examples, too short a time would be predicted
    return 3e-4 + (0.55 * _system_work(n, m, n_pairs, n_examples, thin, 25.0) + passes + 50.0 * n**3) / SPEED


def _pass_work(n: int, m: int, n_pairs: float, n_examples: int) -> float:
    """Return the operations that a sum over the pairs takes: with differences, their lower triangles, or examples."""
    triangles = 5.0 * n * (n + 1) if m > 1 else float("inf")
    by_examples = 2.0 * n * n * m * n_examples + n_pairs * (500.0 + 10.0 * n * m)
    return min(n_pairs * (1500.0 + min(3.0 * n * n * m, triangles)), by_examples)


def _system_work(n: int, m: int, n_active: float, n_examples: int, thin: float, iterations: float) -> float:
    """Return the operations of the cheapest way to solve the system of a step; `thin` is `thin_work`."""
    p, a = 0.5 * n * (n + 1), n_active
    by_entries = a * p * p + p**3 / 3.0
    by_pairs = min(a * a * p, thin) + a**3 / 3.0
    by_iterations = iterations * (CG_OVERHEAD + 2.0 * _pass_work(n, m, a, n_examples) + 12.0 * n**3)
    return min(by_entries, by_pairs, by_iterations)


# --- Distances between vectors (python -m benchmarks.neighbors; python -m benchmarks.blocks) --------------------------
# Bytes per block of a distance matrix.
DISTANCE_BLOCK_BYTES = 2**25
# Entries per chunk of differences: half a megabyte, which stays in the cache.
DIFFERENCE_ENTRIES = 2**16
# Columns per block when the nearest columns are searched by the minima of blocks.
NEAREST_BLOCK = 64
# Entries of the candidate lists, and of the lower bounds, that are in memory at a time.
LIST_ENTRIES = 2**22
BOUND_ENTRIES = 2**20
# Up to this many distances are computed without scikit-learn, whose set-up takes a millisecond.
FEW_DISTANCES = 2**16
# From this many entries and dimensions of the references on, pruning saves time for 1,000 queries if the spectrum
# decays (1.3 to 1.7 times as fast at 2e6 entries, 3.5 times at 8e6). If it does not decay, the attempt costs 0.05 s,
# which is a third of the total at 2e6 entries and negligible at 8e6.
PRUNED_ENTRIES, PRUNED_DIMENSIONS = 2**21, 64
# The numbers of vectors from which the principal directions are computed, and with which their number is chosen.
PRUNED_LEARN, PRUNED_TRY = 512, 128
# The cost of a pair in nanoseconds: its lower bound, per direction and in addition to that; its distance, per
# dimension, from differences and by brute force.
PRUNED_BOUND, PRUNED_FILTER, PRUNED_EXACT, PRUNED_BRUTE = 0.035, 0.6, 1.7, 0.045

# --- Embeddings (python -m benchmarks.blocks) -------------------------------------------------------------------------
# Matrices that a thread embeds at a time.
MATRICES_PER_JOB = 64

# --- The search of CovMetricCV (python -m benchmarks.search) ----------------------------------------------------------
# The examples are embedded once for all folds if all embeddings together take at most this many bytes.
SHARED_EMBEDDING_BYTES = 2**28
# Up to this many distances between test and training examples are computed at once.
SEARCH_ENTRIES = 2**22

# --- Descriptors (python -m benchmarks.descriptors; python -m benchmarks.blocks) --------------------------------------
# Images, and series, that a job describes at a time.
IMAGES_PER_JOB = 8
SERIES_PER_JOB = 64
# The cost of covariances by integral images, in nanoseconds: per plane, per pixel of a grid with even and with uneven
# spacing, per cell, per box, and per test of a box.
INTEGRAL_PLANE, INTEGRAL_EVEN_PIXEL, INTEGRAL_PIXEL, INTEGRAL_CELL, INTEGRAL_BOX, INTEGRAL_TEST = (
    35e3, 1.8, 3.6, 12.0, 17.0, 0.15,
)  # fmt: skip
# The cost of covariances box by box, in nanoseconds: per box, per value, and per product.
DIRECT_BOX, DIRECT_VALUE, DIRECT_PRODUCT = 10e3, 2.4, 0.022

# --- Invariant distances of the peers (python -m benchmarks.blocks) ---------------------------------------------------
# Entries of the matrices of pairs that a thread processes at a time, and entries per block of lower bounds.
INVARIANT_ENTRIES = 2**20
INVARIANT_BOUNDS = 2**22
# Candidates in addition to twice the number of neighbours, whose distances are computed before others are ruled out.
INVARIANT_CANDIDATES = 8

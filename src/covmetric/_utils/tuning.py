"""Constants that were fitted to a machine: sizes of blocks, break-even points, models of cost.

They change how fast something runs, and how much memory it takes, but not what it computes (beyond the last digits).
Each group names the benchmark that fits it; to tune covmetric for another machine, run the benchmark, change the number
here, and run the benchmark again. Measured on two cores of an AMD EPYC with AVX-512 and OpenBLAS; times are in seconds
unless a comment says otherwise, and only their ratios matter.

Numba does not see changes of this file: after changing a constant that `solvers/compiled.py` uses, delete its cache
(``__pycache__``).
"""

from __future__ import annotations

# --- BLAS threads (python -m benchmarks.projection) -------------------------------------------------------------------
# Below this size of W, one BLAS thread is faster than two.
ONE_THREAD_BELOW = 256

# --- Sums over pairs (python -m benchmarks.solvers) -------------------------------------------------------------------
# Bytes of one chunk of differences. A few chunks fit into the cache of a core, one keeps BLAS busy, and the memory is
# not returned to the system after each chunk (chunks of 2 MB sometimes were, and took twice as long).
CHUNK_BYTES = 2**19
# Arrays over all pairs are kept up to this size; larger ones cost more to make than they save.
KEPT_BYTES = 2**24
# Index tables of half vectors are kept up to this size of matrix.
HALF_VECTORS_KEPT_BELOW = 256

# --- The choice of the solver by `auto` (python -m benchmarks.solvers) ------------------------------------------------
# Dykstra is chosen if the examples have at least THIN_RATIO times as many rows as columns, there are at least as many
# pairs as rows, and the weights sum to a number between these two.
THIN_RATIO = 10
LIGHTEST_WEIGHTS, HEAVIEST_WEIGHTS = 50.0, 2000.0

# --- Dykstra (python -m benchmarks.projection) ------------------------------------------------------------------------
# One call of the compiled sweep does about this many operations, so that Ctrl-C is noticed within a tenth of a second.
OPERATIONS_PER_SWEEP = 5e8
# Certificates may take this fraction of the time of the epochs between them.
CERTIFICATE_FRACTION = 0.25
# Up to these sizes, plain loops are faster than LAPACK's dsytrd, and than dpotrf with dtrsm.
SMALL_TRIDIAGONAL = 128
SMALL_SOLVE = 24


def sweep_seconds(n: int, m: int, moved: int, idle: int) -> float:
    """Return the modelled time of visiting half-spaces, of which `moved` changed W and `idle` did not.

    Parameters
    ----------
    n, m : int
        Rows and columns of an embedded example.
    moved, idle : int
        Numbers of half-spaces.

    Returns
    -------
    float
        Seconds.
    """
    m = min(n, m)
    product = 2.0 * n * n * m / 4e10
    rest = (3.0 * n * m * m + 2.0 * n * n * m + 2.0 * m**3) / 3e10
    return 2e-5 + idle * (3e-7 + product) + moved * (9e-7 + product + rest)


def certificate_seconds(n: int, m: int, n_pairs: int, kept: bool) -> float:
    """Return the modelled time of a certificate.

    Parameters
    ----------
    n, m : int
        Rows and columns of an embedded example.
    n_pairs : int
        Number of pairs.
    kept : bool
        Whether the lower triangles of all pairs are kept.

    Returns
    -------
    float
        Seconds.
    """
    if kept:
        return 2.5e-4 + n_pairs * 4e-10 * n * n + 7e-10 * n**3
    return 3e-4 + n_pairs * (1.5e-7 + 1e-8 * n * m + 4.0 * n * n * m / 4e10) + 20.0 * n**3 / 2e10


# --- The linear system of a Newton step (python -m benchmarks.solvers grid), in operations of a matrix product --------
# Bytes of a block of rows of the dense system.
SYSTEM_BLOCK_BYTES = 2**26
# How much a core reads without waiting for memory.
CACHE_BYTES = 2**24
# Iterations of conjugate gradients in a typical step, and the cost of one besides its sums over the pairs.
CG_TYPICAL_ITERATIONS = 8
CG_OVERHEAD = 5e5
# Products with a vector, per entry: within the cache, and beyond it.
VECTOR_PRODUCT_CACHED, VECTOR_PRODUCT_UNCACHED = 10.0, 20.0
# The cost of transforming a pair besides its product.
PAIR_OVERHEAD = 1e4

# --- Distances between vectors (python -m benchmarks.neighbors) -------------------------------------------------------
# Bytes of one block of a matrix of distances.
DISTANCE_BLOCK_BYTES = 2**25
# Entries of one chunk of differences (half a megabyte, which stays in the cache).
DIFFERENCE_ENTRIES = 2**16
# Columns of which only the smallest is looked at first, when the nearest columns are searched.
NEAREST_BLOCK = 64
# Entries of the candidate lists, and of the lower bounds, that are held at a time.
LIST_ENTRIES = 2**22
BOUND_ENTRIES = 2**20
# Up to so many distances are computed at once, without scikit-learn, which takes a millisecond to set up.
FEW_DISTANCES = 2**16
# Pruning 1,000 queries pays from here on if the spectrum decays (1.3 to 1.7 times as fast at 2e6 entries, 3.5 at 8e6).
# Where it does not decay, trying costs 0.05 s: a third of the whole at 2e6 entries, nothing at 8e6.
PRUNED_ENTRIES, PRUNED_DIMENSIONS = 2**21, 64
# Vectors that give the principal directions, and others that tell how many of them pay.
PRUNED_LEARN, PRUNED_TRY = 512, 128
# The cost of a pair in nanoseconds: its lower bound, per direction and besides; its distance from differences and by
# brute force, per dimension.
PRUNED_BOUND, PRUNED_FILTER, PRUNED_EXACT, PRUNED_BRUTE = 0.035, 0.6, 1.7, 0.045

# --- Embeddings (python -m benchmarks.search) -------------------------------------------------------------------------
# Matrices that a thread maps at a time.
MATRICES_PER_JOB = 64
# Examples are embedded once for all folds of a search if all of Phi takes at most this many bytes.
SHARED_EMBEDDING_BYTES = 2**28
# Distances that the search holds at a time.
SEARCH_ENTRIES = 2**22

# --- Descriptors (python -m benchmarks.descriptors) -------------------------------------------------------------------
# Images, and series, that a job describes at a time.
IMAGES_PER_JOB = 8
SERIES_PER_JOB = 64
# Integral images, in nanoseconds: per plane, per pixel of an even and of an uneven grid, per cell, per box, per test of
# a box; and box by box: per box, per value, per product.
INTEGRAL_PLANE, INTEGRAL_EVEN_PIXEL, INTEGRAL_PIXEL, INTEGRAL_CELL, INTEGRAL_BOX, INTEGRAL_TEST = (
    35e3, 1.8, 3.6, 12.0, 17.0, 0.15,
)  # fmt: skip
DIRECT_BOX, DIRECT_VALUE, DIRECT_PRODUCT = 10e3, 2.4, 0.022

# --- Invariant distances of the peers (python -m benchmarks.neighbors) ------------------------------------------------
# Floats of the matrices of pairs that a thread holds at a time, and entries of a block of lower bounds.
INVARIANT_ENTRIES = 2**20
INVARIANT_BOUNDS = 2**22
# Candidates besides the neighbours themselves, before the lower bounds are looked at.
INVARIANT_CANDIDATES = 8

"""The kernels that Numba compiles for the solvers: Dykstra's projection, and sums for Newton's step.

The mathematics keeps the paper's letters. Arrays are float64 and C-contiguous. A row-major array of shape (m, n) holds
F transposed, which BLAS reads as the column-major matrix F of shape (n, m). The triangle that BLAS calls "L" is the
upper triangle of a row-major W.

Numba takes a second to import, so that solvers import these files only when they start. It compiles a kernel again if
the file of the kernel has changed, but does not notice changes of the kernels that it calls in other files. Delete the
cache (``__pycache__``) after such a change; the tests do so themselves.
"""

"""Labelled vectors for the tests of constraints."""

from __future__ import annotations

import numpy as np


def labelled_vectors(sizes, q=3, seed=0):
    """Return Gaussian vectors (l, q) and their classes, in random order; class c has sizes[c] examples."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return rng.standard_normal((len(codes), q)) + codes[:, None], rng.permutation(codes)

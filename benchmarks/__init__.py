"""Benchmarks: each module prints its table with ``python -m benchmarks.NAME``."""

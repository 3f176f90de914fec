"""Robustness campaigns: whatever happens, the outcome is a certified result or a clear error.

``python -m benchmarks.torture [NAME...] [--seed 0] [--quick]`` runs the campaigns of `CAMPAIGNS`, each in its own
process, and prints a table: inputs, certified results, clear errors, defects, seconds. The first defects are printed
below the table. `--quick` takes seconds; the whole run takes about a quarter of an hour of one core.
"""

"""Helpers that do not depend on metric learning: validation, registries, distances, threads, warnings, tuning."""

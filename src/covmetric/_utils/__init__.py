"""Helpers without any mathematics of metric learning: validation, registries, threads, warnings, half vectors."""

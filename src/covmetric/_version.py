"""The version of covmetric."""

__version__ = "0.1.0"

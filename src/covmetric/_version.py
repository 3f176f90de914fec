"""The version of covmetric."""

__version__ = "0.2.0"

"""Slacks as machine code. tests/slacks/test_contract.py compares their values with those of Python."""

from __future__ import annotations

from covmetric.slacks import get_slack
from covmetric.solvers.kernels.slack import compile_slack


def test_compiled_slacks_are_kept():
    """The slack is compiled once, not again for each solve."""
    first, second = (compile_slack(get_slack("is")) for _ in range(2))
    assert first.addresses == second.addresses

"""Slacks as machine code: compiled once, and called by address from any kernel."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from covmetric.slacks.base import Slack


@dataclass(frozen=True)
class CompiledSlack:
    """The three scalar functions of a slack that the root finder needs, as machine code.

    The kernel receives their addresses, so one compiled sweep serves every slack. The objects keep the code alive.

    Attributes
    ----------
    xi, xi_prime, gradient : numba.core.ccallback.CFunc
        The compiled functions.
    """

    xi: Any
    xi_prime: Any
    gradient: Any

    @property
    def addresses(self) -> tuple[int, int, int]:
        """The addresses of the functions, as arguments of `sweep` and `find_root`."""
        return self.xi.address, self.xi_prime.address, self.gradient.address


def compile_slack(slack: Slack) -> CompiledSlack:
    """Compile the scalar functions of a slack, or load them from the cache.

    Parameters
    ----------
    slack : Slack
        The slack divergence.

    Returns
    -------
    CompiledSlack
    """
    return CompiledSlack(*map(_cfunc, (slack.scalar_xi, slack.scalar_xi_prime, slack.scalar_gradient)))


@functools.cache
def _cfunc(function: Any) -> Any:
    """Compile a function once per process, because its machine code is never freed."""
    try:
        return numba.cfunc("float64(float64)", cache=True)(function)
    except RuntimeError:
        return numba.cfunc("float64(float64)")(function)


@intrinsic
def call(typingctx, address, x):
    """Call the float64(float64) function at an address. Passing a function object of Numba would take 10 us."""

    def generate(context, builder, signature, arguments):
        double = ir.DoubleType()
        pointer = builder.inttoptr(arguments[0], ir.FunctionType(double, [double]).as_pointer())
        return builder.call(pointer, [arguments[1]])

    return types.float64(types.int64, types.float64), generate

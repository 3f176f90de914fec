"""Ctrl-C without losing anything: the signal waits for a place where a solve can stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_pending = False


def check_interrupt() -> None:
    """Raise KeyboardInterrupt if Ctrl-C waits. Solvers call it where they can stop, several times a second."""
    global _pending
    if _pending:
        _pending = False
        raise KeyboardInterrupt


def interrupt_waits() -> bool:
    """Whether Ctrl-C waits, and nobody has stopped for it yet."""
    return _pending


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Within, a first Ctrl-C waits for `check_interrupt`; a second one raises at once, as usual.

    An exception in the middle of a compilation or an import can leave either broken for the rest of the process.
    Signals reach the main thread only, and a handler that the user has set is left alone.
    """
    global _pending
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def remember(number: int, frame: FrameType | None) -> None:
        global _pending
        if _pending:
            signal.default_int_handler(number, frame)
        _pending = True

    _pending = False
    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _pending = False

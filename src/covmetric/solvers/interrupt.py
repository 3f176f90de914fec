"""Ctrl-C during a solve: the signal is deferred until the solve can stop and return the best metric so far."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_pending = False


def check_interrupt() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed. Solvers call this function several times a second.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C was deferred.
    """
    global _pending
    if _pending:
        _pending = False
        raise KeyboardInterrupt


def interrupt_waits() -> bool:
    """Return whether Ctrl-C was pressed and has not been raised yet.

    Returns
    -------
    bool
    """
    return _pending


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Defer the first Ctrl-C within a ``with`` block to the next `check_interrupt`; raise a second one at once.

    An exception in the middle of a compilation or an import can leave it broken for the rest of the process. Only the
    main thread receives signals, so other threads have nothing to defer. A handler that the user has set is kept.

    Yields
    ------
    None
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

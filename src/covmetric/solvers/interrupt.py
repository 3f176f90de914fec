"""Ctrl-C during a solve: the signal is deferred until the solve can stop and return the best metric so far."""

from __future__ import annotations

import signal
import threading
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


def _remember(number: int, frame: FrameType | None) -> None:
    """Handle Ctrl-C within a ``with`` block."""
    global _pending
    if _pending:
        signal.default_int_handler(number, frame)
    _pending = True


class DeferredInterrupts:
    """Defer the first Ctrl-C within a ``with`` block to the next `check_interrupt`; raise a second one at once.

    An exception in the middle of a compilation or an import can leave it broken for the rest of the process. Only the
    main thread receives signals, so other threads have nothing to defer. A handler that the user has set is kept.
    """

    def __enter__(self) -> None:
        global _pending
        in_main = threading.current_thread() is threading.main_thread()
        self._defers = in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._defers:
            _pending = False
            signal.signal(signal.SIGINT, _remember)

    def __exit__(self, *exception: object) -> None:
        global _pending
        if self._defers:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _pending = False

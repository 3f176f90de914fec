"""The command in a fresh process, as a user runs it."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import covmetric as package

COMMAND = [sys.executable, "-m", "covmetric"]
# The command of these sources, in whatever folder it runs.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}


def covmetric(*arguments, env=None, **settings):
    """Run the command and return its exit code, output and errors as text."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        env={**ENVIRONMENT, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output="stdout" not in settings,
        text=True,
        check=False,
        timeout=600,
        **settings,
    )


class OnTerminal:
    """The command with a terminal as its standard error."""

    def __init__(self, *arguments):
        self._terminal, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))  # otherwise no bar fits
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=side,
            text=True,
        )
        os.close(side)
        self.shown = ""

    def wait_for(self, *texts):
        """Read what the terminal shows until it has one of the texts; return whether it has."""
        while not any(text in self.shown for text in texts):
            if not self._read():
                return False
        return True

    def finish(self):
        """Wait for the end of the process; return its exit code and its output."""
        while self._read():
            pass
        os.close(self._terminal)
        output, _ = self.process.communicate(timeout=600)
        return self.process.returncode, output

    def _read(self):
        try:
            part = os.read(self._terminal, 4096).decode(errors="replace")
        except OSError:  # the process has ended
            return False
        self.shown += part
        return bool(part)

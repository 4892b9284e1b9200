"""Process that ends with the process that started it, even if that is killed."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class GuardedProcess:
    """A running process, and a guard that kills it when this process ends.

    Args:
        command: Program and arguments.
        log: File to which its output is added.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        # The guard's input closes when this process ends, even if it is killed; then the guard kills the process.
        self._guard: subprocess.Popen[bytes] | None = subprocess.Popen(
            ["/bin/sh", "-c", 'read -r _; kill -9 "$0"', str(self._process.pid)],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """True if the process has ended by itself."""
        return self._process.poll() is not None

    def terminate(self, timeout: float) -> None:
        """Ask the process to end (SIGTERM), and wait until it has.

        Raises:
            subprocess.TimeoutExpired: It still runs.
        """
        self._process.terminate()
        self._dismiss_guard()
        self._process.wait(timeout)

    def kill(self) -> None:
        """Kill the process, if it runs."""
        self._dismiss_guard()
        self._process.kill()
        self._process.wait()

    def _dismiss_guard(self) -> None:
        """End the guard before the process, because another process may get the process id later."""
        if self._guard:
            self._guard.kill()
            self._guard.communicate()
            self._guard = None

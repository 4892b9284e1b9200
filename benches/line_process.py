"""Process that answers each line of its input with a line."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self


class ProcessEndedError(RuntimeError):
    """Error for a process that ended without an answer; the message is its standard error."""


class LineProcess:
    """Process that is called through pipes; use it as a context manager.

    Args:
        command: The program and its arguments.
        folder: The working directory of the process.
    """

    def __init__(self, command: Sequence[str], folder: Path | None = None) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error:
            self._process.kill()  # it may never answer
        self.close()

    def close(self) -> None:
        """End the input of the process, and wait until it has ended."""
        self._process.communicate()

    def ask(self, line: str) -> str:
        """Send a line and return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self.read()

    def read(self) -> str:
        """Return the next line of the output.

        Raises:
            ProcessEndedError: The output has ended.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ProcessEndedError(self._process.communicate()[1].strip())
        return line.strip()

"""Calls of commands in this process."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from assignor.cli import main

GROUP = {
    "partitions_per_topic": {"orders": 6, "payments": [0, {"partition": 1, "racks": ["r1", None]}]},
    "subscriptions": {
        "a": ["orders", "payments"],
        "b": {"topics": ["orders"], "owned_partitions": [["orders", 0], ["orders", 1]], "generation": 7},
    },
    "assignor": "sticky",
}
"""Group as the commands read it."""


class Commands:
    """Commands that read a file or standard input."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._file = folder / "input.json"
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def file(self, content: Any) -> str:
        """Write a file with JSON or bytes, and return its path."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self._file.write_bytes(data)
        return str(self._file)

    def stdin(self, data: bytes) -> None:
        """Set standard input."""
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    def output(self, *words: str, code: int = 0) -> str:
        """Return the standard output of a command, which must end with an exit code and no error."""
        found = main(words)
        printed = self._capsys.readouterr()
        assert (code, "") == (found, printed.err)
        return printed.out

    def json(self, *words: str, code: int = 0) -> Any:
        """Return the JSON that a command prints."""
        return json.loads(self.output(*words, code=code))

    def error(self, *words: str) -> str:
        """Return the error of a command, which must be one line, with exit code 2 and no output."""
        code = main(words)
        printed = self._capsys.readouterr()
        assert (2, "") == (code, printed.out)
        (line,) = printed.err.splitlines()
        assert line.startswith("assignor: ")
        return line.removeprefix("assignor: ").replace(str(self._file), "FILE")

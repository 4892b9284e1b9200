"""Run of a command in this process, with what it prints and its exit code."""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
from typing import TYPE_CHECKING, NamedTuple

from assignor.cli import main

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_BROKER = ("--bootstrap-server", "127.0.0.1:1", "--timeout", "100")
"""Options of a cluster that does not answer."""


class Ended(NamedTuple):
    """How a command ended.

    Attributes:
        code: The exit code; None after an exception, whose traceback is in `err`.
        out: Standard output.
        err: Standard error, without the lines of progress.
    """

    code: int | None
    out: str
    err: str


class Stream(io.StringIO):
    """Standard output or standard error; `is_terminal` says whether it claims to be a terminal."""

    def __init__(self, *, is_terminal: bool = False) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a StringIO has no encoding
        return "utf-8"

    def isatty(self) -> bool:
        return self._is_terminal


def run(words: Sequence[object], stdin: bytes = b"", *, is_terminal: bool = False) -> Ended:
    """Run a command in this process."""
    out, err, before = Stream(is_terminal=is_terminal), Stream(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code: int | None = main([str(word) for word in words])
    except SystemExit as ended:
        code = int(str(ended.code))
    except Exception:
        code = None
        err.write(traceback.format_exc())
    finally:
        sys.stdin = before
    shown = [line for line in err.getvalue().splitlines(keepends=True) if not line.endswith(" s\n")]
    return Ended(code, out.getvalue(), "".join(shown))

"""Time limits for calls that have none, such as those of C libraries, which no signal interrupts."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, AnyStr, TypeVar

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

Result = TypeVar("Result")

LIMIT = 120.0
"""Time limit in seconds, far more than any call should take."""


def within(what: str, call: Callable[[], Result], seconds: float = LIMIT) -> Result:
    """Call a function in a thread of its own, and return its result.

    Args:
        what: What the function does, for the error.
        call: The function.
        seconds: Time limit. The thread continues after it, but does not keep the process alive.

    Raises:
        TimeoutError: The function did not return in time.
    """
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name=what, daemon=True).start()
    try:
        return done.result(seconds)
    except TimeoutError:
        if done.done():
            raise
        raise TimeoutError(f"{what} did not end within {seconds} s") from None


@contextlib.contextmanager
def killed_at_end(process: subprocess.Popen[AnyStr], seconds: float = LIMIT) -> Iterator[subprocess.Popen[AnyStr]]:
    """Kill a process at the end of the block or after the time limit, so that calls that read its output end."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        with process:
            try:
                yield process
            finally:
                process.kill()
    finally:
        timer.cancel()

"""Checks before timing: the answer is right, and the core is a release build."""

from __future__ import annotations

import assignor._core


class WrongAnswerError(Exception):
    """Error for a wrong answer of an implementation, which is then not timed."""


def require(is_right: bool, what: str) -> None:
    """Raise an error if an answer is wrong.

    Raises:
        WrongAnswerError: It is; the message is `what`.
    """
    if not is_right:
        raise WrongAnswerError(what)


def require_release() -> None:
    """Raise an error if the core was not built in release mode.

    Raises:
        RuntimeError: The core is a debug build, or the quickly compiled build of `make demo`.
    """
    build = assignor._core.__build__
    if build != "release":
        raise RuntimeError(
            f"{assignor._core.__file__} is a {build} build, which is too slow to time; "
            "build in release mode with `make build` and run again"
        )

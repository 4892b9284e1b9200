"""Patterns that later versions of `re` treat otherwise than CPython 3.11, whose syntax the Rust engine implements."""

from __future__ import annotations

import re
import sys


def changed(pattern: str) -> bool:
    """Return True if the running version of Python is known to differ from 3.11 for a pattern."""
    # From 3.12 on, the group of a conditional must be an identifier or plain digits.
    if sys.version_info >= (3, 12) and re.search(r"\(\?\((?![A-Za-z_]\w*\)|[0-9]+\))", pattern):
        return True
    # 3.13 removed the flag t.
    if sys.version_info >= (3, 13) and re.search(r"\(\?[a-zA-Z-]*t", pattern):
        return True
    # 3.14 added \z.
    return sys.version_info >= (3, 14) and r"\z" in pattern

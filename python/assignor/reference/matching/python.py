"""The dialect of kafka-python and aiokafka: `re.match` of the running interpreter.

The dialect is defined by `re`, so its specification is `re`. The Rust engine has a parser that follows CPython 3.11.
"""

from __future__ import annotations

import re
import warnings

from assignor.reference.matching.scanner import MAX_DEPTH, deep, invalid, unsupported


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern with `re`.

    Raises:
        PatternFault: `re` refuses the pattern, or the pattern nests deeper than Python can recur.
    """
    try:
        with deep(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `re` warns about sets that may change their meaning
            return re.compile(pattern)
    except re.error as error:
        raise invalid(error.pos or 0, error.msg) from None
    except RecursionError:
        raise unsupported(0, f"more than {MAX_DEPTH} nested groups") from None
    except (OverflowError, ValueError) as error:  # a count that is too large, a flag that is for bytes only
        raise invalid(0, str(error)) from None


def matches(pattern: re.Pattern[str], name: str) -> bool:
    """Return whether the pattern matches a prefix of the name."""
    try:
        return pattern.match(name) is not None
    except SystemError:  # `re` found a match, and computed a wrong span for a group of it
        return True

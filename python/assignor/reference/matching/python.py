"""The dialect python, of kafka-python and aiokafka: `re.match` of the running interpreter.

The reference calls `re` itself. The Rust engine has a parser that follows CPython 3.11.
"""

from __future__ import annotations

import re
import warnings

from assignor.reference.matching.limits import MAX_DEPTH
from assignor.reference.matching.scanner import deep, invalid, unsupported


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern with `re`.

    Raises:
        PatternError: `re` rejects the pattern, or the pattern nests too deeply for Python's recursion limit.
    """
    try:
        with deep(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `re` warns about sets whose meaning may change in later versions
            return re.compile(pattern)
    except re.error as error:
        raise invalid(error.pos or 0, error.msg) from None
    except RecursionError:
        raise unsupported(0, f"more than {MAX_DEPTH} nested groups") from None
    except (OverflowError, ValueError) as error:  # a count that is too large, or a flag for bytes patterns
        raise invalid(0, str(error)) from None


def matches(pattern: re.Pattern[str], name: str) -> bool:
    """Return True if the pattern matches a prefix of the name."""
    try:
        return pattern.match(name) is not None
    except SystemError:  # `re` found a match, but computed a wrong span for one of its groups
        return True

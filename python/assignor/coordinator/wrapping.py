"""Numbers that go on from their largest with their least, as Java's do.

A generation or a time that is stored may be any number of its width, so one more may not fit. Kafka's coordinator goes
on with what its arithmetic gives; so does this one.
"""

from __future__ import annotations

__all__ = ["wrapped"]


def wrapped(number: int, *, bits: int) -> int:
    """A number as an int of so many bits has it.

    Example:
        >>> wrapped(2**31 - 1, bits=32), wrapped(2**31, bits=32), wrapped(-5, bits=64)
        (2147483647, -2147483648, -5)
    """
    beyond = 1 << (bits - 1)
    return (number + beyond) % (2 * beyond) - beyond

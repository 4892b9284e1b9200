"""Every error that this package raises on purpose, under one root.

Java's exceptions keep their names here, with `Error` for `Exception`, so that what Kafka's own classes throw can be
compared class by class.
"""

__all__ = [
    "AssignorError",
    "IllegalArgumentError",
    "IllegalStateError",
    "InvalidPatternError",
    "MissingDependencyError",
    "NoOffsetForPartitionError",
    "NullArgumentError",
    "SparkStartError",
    "UnsupportedPatternError",
    "WireError",
    "WrongTypeError",
]


class AssignorError(Exception):
    """The root: catching it catches everything that this package raises on purpose."""


class IllegalArgumentError(AssignorError, ValueError):
    """A value that cannot be used (java.lang.IllegalArgumentException)."""


class WrongTypeError(AssignorError, TypeError):
    """A value of a type that cannot be used, such as a `str` where a list of topics is meant."""


class NullArgumentError(WrongTypeError):
    """None where a value is needed (java.lang.NullPointerException)."""


class IllegalStateError(AssignorError, RuntimeError):
    """A call that the object's present state does not allow (java.lang.IllegalStateException)."""


class NoOffsetForPartitionError(AssignorError):
    """No committed offset and no reset strategy (NoOffsetForPartitionException).

    Attributes:
        partitions: The (topic, partition) tuples that it is about.
    """

    partitions: frozenset[tuple[str, int]] = frozenset()


class WireError(AssignorError, ValueError):
    """Bytes that are not what their format says, or a value that their format cannot say.

    Attributes:
        offset: Index of the byte at which reading stopped, from the start of the buffer; None where a value was to be
            written.
        field: Dotted path of the field that was being read or written, such as `members[2].subscription`.
        reason: What was wrong.
    """

    def __init__(self, reason: str, offset: int | None, field: str) -> None:
        """Keep the three parts; the message is made of them."""
        super().__init__(reason, offset, field)
        self.reason = reason
        self.offset = offset
        self.field = field

    def __str__(self) -> str:
        if self.offset is None:
            return f"{self.reason} while writing {self.field}"
        return f"{self.reason} at offset {self.offset} while reading {self.field}"


class InvalidPatternError(AssignorError, ValueError):
    """A topic pattern that its dialect refuses."""


class UnsupportedPatternError(AssignorError, ValueError):
    """A topic pattern that its dialect accepts and this package cannot match exactly."""


class MissingDependencyError(AssignorError, ImportError):
    """Something optional that is not installed; the message says how to get it."""


class SparkStartError(AssignorError, RuntimeError):
    """Spark did not start; the message ends with the last lines of its log."""

"""Exceptions of this package; `AssignorError` is the base class.

The docstring of an exception names the Java exception that it corresponds to, if there is one.
"""

__all__ = [
    "AssignorError",
    "AuthorizationError",
    "ClusterError",
    "IllegalArgumentError",
    "IllegalStateError",
    "InvalidPatternError",
    "MissingDependencyError",
    "NoOffsetForPartitionError",
    "NotDeterminedError",
    "NullArgumentError",
    "OutOfMemoryError",
    "PatternError",
    "SnapshotError",
    "SparkStartError",
    "UnreachableError",
    "UnsupportedPatternError",
    "WireError",
    "WrongTypeError",
]


class AssignorError(Exception):
    """Base class of all exceptions that this package raises for invalid input or a failed operation."""


class IllegalArgumentError(AssignorError, ValueError):
    """An invalid value (java.lang.IllegalArgumentException)."""


class WrongTypeError(AssignorError, TypeError):
    """A value of the wrong type, such as a `str` in place of a list of topics."""


class NullArgumentError(WrongTypeError):
    """None in place of a required value (java.lang.NullPointerException)."""


class IllegalStateError(AssignorError, RuntimeError):
    """A call that the current state of the object does not allow (java.lang.IllegalStateException)."""


class NotDeterminedError(AssignorError, RuntimeError):
    """An answer that the input does not determine: Kafka's own answer differs from process to process."""


class OutOfMemoryError(AssignorError, MemoryError):
    """A result that does not fit into memory (java.lang.OutOfMemoryError). Nothing of it has been created.

    Attributes:
        reason: The result, and the memory that it needs.
        count: Number of items of the result, such as partitions.
        needed: Memory for them in bytes.
    """

    def __init__(self, reason: str, count: int, needed: int) -> None:
        """Store the parts of the message."""
        super().__init__(reason, count, needed)
        self.reason = reason
        self.count = count
        self.needed = needed

    def __str__(self) -> str:
        return self.reason


class NoOffsetForPartitionError(AssignorError):
    """Partitions without a committed offset and without a reset strategy (NoOffsetForPartitionException).

    Attributes:
        partitions: The (topic, partition) tuples of these partitions.
    """

    partitions: frozenset[tuple[str, int]] = frozenset()


class WireError(AssignorError, ValueError):
    """Malformed bytes, or a value that the wire format cannot represent.

    Attributes:
        offset: Index in the buffer of the byte at which reading stopped; None if writing failed.
        field: Dotted path of the field that could not be read or written, such as `members[2].subscription`.
        reason: What is wrong.
    """

    def __init__(self, reason: str, offset: int | None, field: str) -> None:
        """Store the parts of the message."""
        super().__init__(reason, offset, field)
        self.reason = reason
        self.offset = offset
        self.field = field

    def __str__(self) -> str:
        if self.offset is None:
            return f"{self.reason} while writing {self.field}"
        return f"{self.reason} at offset {self.offset} while reading {self.field}"


class SnapshotError(AssignorError, ValueError):
    """A damaged snapshot of a replay, or a snapshot of another version or other settings."""


class PatternError(AssignorError, ValueError):
    """Base class of `InvalidPatternError` and `UnsupportedPatternError`."""

    def __init__(self, reason: str, pattern: str, dialect: str, position: int = 0, owner: str | None = None) -> None:
        """Store the parts of the message."""
        super().__init__(reason, pattern, dialect, position, owner)
        self.reason = reason
        self.pattern = pattern
        self.dialect = dialect
        self.position = position
        self.owner = owner

    def _where(self) -> str:
        owner = "" if self.owner is None else f"{self.owner}: "
        pattern = repr(self.pattern if len(self.pattern) <= 200 else self.pattern[:199] + "…")
        return f"{owner}{self.dialect} pattern {pattern}, position {self.position}"


class InvalidPatternError(PatternError):
    """A topic pattern that is invalid in its dialect.

    Attributes:
        reason: What is wrong with the pattern.
        pattern: The pattern.
        dialect: Dialect of the pattern: `"java"`, `"re2j"`, `"librdkafka"` or `"python"`.
        position: Index of the character with the problem.
        owner: Owner of the pattern, such as `member 'a'`; None if the pattern was given without an owner.
    """

    def __str__(self) -> str:
        return f"{self._where()}: {self.reason}"


class UnsupportedPatternError(PatternError):
    """A topic pattern that is valid in its dialect, but that this package cannot match exactly.

    Attributes:
        reason: The unsupported construct; `construct` has the same value.
        pattern: The pattern.
        dialect: Dialect of the pattern.
        position: Index of the character at which the construct begins.
        owner: Owner of the pattern, such as `member 'a'`; None if the pattern was given without an owner.
    """

    @property
    def construct(self) -> str:
        """The unsupported construct."""
        return self.reason

    def __str__(self) -> str:
        return f"{self._where()}: not supported: {self.reason}"


class MissingDependencyError(AssignorError, ImportError):
    """An optional package that is missing, too old or broken; the message has the command that installs it."""


class ClusterError(AssignorError, RuntimeError):
    """A live cluster that does not answer, or answers with an error; the message names its address."""


class UnreachableError(ClusterError):
    """A live cluster that did not answer in time, or temporarily could not answer."""


class AuthorizationError(ClusterError):
    """A missing permission (ACL) on a live cluster; the message names it."""


class SparkStartError(AssignorError, RuntimeError):
    """A failed start of Spark; the message ends with the last lines of its log."""

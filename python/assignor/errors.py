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
    "PatternError",
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


class PatternError(AssignorError, ValueError):
    """A topic pattern that cannot be used, and where the reason lies in it: catching it catches both kinds."""

    def __init__(self, reason: str, pattern: str, dialect: str, position: int = 0, owner: str | None = None) -> None:
        """Keep the parts; the message is made of them."""
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
    """A topic pattern that its dialect refuses.

    Attributes:
        reason: What is wrong with it.
        pattern: The pattern.
        dialect: Who refuses it: `"java"`, `"re2j"`, `"librdkafka"` or `"python"`.
        position: Index of the character at which the reason lies.
        owner: Whose pattern it is, such as `member 'a'`; None where it was asked about alone.
    """

    def __str__(self) -> str:
        return f"{self._where()}: {self.reason}"


class UnsupportedPatternError(PatternError):
    """A topic pattern that its dialect accepts and this package cannot match exactly.

    Attributes:
        reason: The construct that is not supported; `construct` is the same.
        pattern: The pattern.
        dialect: Who accepts it.
        position: Index of the character at which the construct begins.
        owner: Whose pattern it is, such as `member 'a'`; None where it was asked about alone.
    """

    @property
    def construct(self) -> str:
        """The construct that is not supported."""
        return self.reason

    def __str__(self) -> str:
        return f"{self._where()}: not supported: {self.reason}"


class MissingDependencyError(AssignorError, ImportError):
    """Something optional that is not installed; the message says how to get it."""


class SparkStartError(AssignorError, RuntimeError):
    """Spark did not start; the message ends with the last lines of its log."""

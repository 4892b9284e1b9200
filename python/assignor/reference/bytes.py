"""Reader and writers of Kafka's primitive types, in big-endian order.

A string has an int16 length, arrays and byte arrays have an int32 length. A negative length means null.
"""

import codecs
import struct

from assignor.errors import WireError

__all__ = ["Reader", "to_int32", "write_bytes", "write_count", "write_string"]

MAX_STRING_BYTES = 32_767
"""Largest size in bytes of a string (Short.MAX_VALUE)."""

MAX_INT32 = 2**31 - 1
"""Largest length that fits into an int32."""


class Reader:
    """Reader of a buffer, with the position of the next byte.

    Each method takes the path of the field for its error message.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    @property
    def remaining(self) -> int:
        """Number of bytes that are left."""
        return len(self.data) - self.position

    def take(self, count: int, field: str, start: int | None = None) -> bytes:
        """Read the next `count` bytes; `start` is the position to name in an error, by default the current one."""
        if count > self.remaining:
            reason = f"{count} bytes are needed and {self.remaining} remain"
            raise WireError(reason, self.position if start is None else start, field)
        taken = self.data[self.position : self.position + count]
        self.position += count
        return taken

    def integer(self, layout: str, field: str) -> int:
        """Read an integer; `layout` is b, h, H, i or q, as in the module struct."""
        (number,) = struct.unpack(f">{layout}", self.take(struct.calcsize(f">{layout}"), field))
        return int(number)

    def nullable_string(self, field: str) -> str | None:
        """Read a string, or None if its length means null."""
        start = self.position
        length = self.integer("h", field)
        if length < 0:
            return None
        return java_string(self.take(length, field, start))

    def string(self, field: str) -> str:
        """Read a string that cannot be null."""
        start = self.position
        text = self.nullable_string(field)
        if text is None:
            raise WireError("null is not allowed", start, field)
        return text

    def nullable_bytes(self, field: str) -> bytes | None:
        """Read a byte array, or None if its length means null."""
        start = self.position
        length = self.integer("i", field)
        return None if length < 0 else self.take(length, field, start)

    def count(self, least: int, field: str) -> int:
        """Read the number of elements of an array that cannot be null; each element has at least `least` bytes."""
        start = self.position
        count = self.integer("i", field)
        if count < 0:
            raise WireError("null is not allowed", start, field)
        if count > self.remaining // least:
            reason = f"{count} elements of at least {least} bytes do not fit in the {self.remaining} that remain"
            raise WireError(reason, start, field)
        return count


def write_string(text: str | None, field: str) -> bytes:
    """Encode a string with its length; None becomes null."""
    if text is None:
        return struct.pack(">h", -1)
    data = text.encode()
    if len(data) > MAX_STRING_BYTES:
        raise WireError(f"'{text[:20]}…' has {len(data)} bytes of UTF-8; the limit is {MAX_STRING_BYTES}", None, field)
    return struct.pack(">h", len(data)) + data


def write_bytes(data: bytes | None, field: str) -> bytes:
    """Encode a byte array with its length; None becomes null."""
    return write_count(None if data is None else len(data), field) + (data or b"")


def write_count(count: int | None, field: str) -> bytes:
    """Encode the length of an array or a byte array; None becomes null."""
    if count is None:
        count = -1
    if count > MAX_INT32:
        raise WireError(f"length {count} exceeds the limit of {MAX_INT32}", None, field)
    return struct.pack(">i", count)


def to_int32(number: int) -> int:
    """Wrap a number to 32 bits, as Java's `int` does."""
    return (number + 2**31) % 2**32 - 2**31


def java_string(data: bytes) -> str:
    """Decode text as Java's `new String(bytes, UTF_8)` does: each ill-formed sequence becomes one U+FFFD.

    Java follows the Unicode standard, except for encoded surrogates (ED A0..BF and perhaps a continuation byte). It
    replaces them by one U+FFFD; the standard and Python replace them by two or three.
    """
    return data.decode("utf-8", "assignor.java")


def replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """Replace the ill-formed sequence at which the decoder stopped."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    first, second, third = (*error.object[error.start : error.start + 3], 0, 0, 0)[:3]
    if first == 0xED and 0xA0 <= second <= 0xBF:
        return "\ufffd", error.start + (3 if 0x80 <= third <= 0xBF else 2)
    return "\ufffd", error.end


codecs.register_error("assignor.java", replace_as_java)

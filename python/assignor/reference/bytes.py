"""Kafka's primitive types, big-endian: a reader over a byte buffer that checks every step, and what is written.

`compact` says of both how lengths are written: int16 before strings and int32 before the rest with negative for null,
or an unsigned varint of the length plus one with zero for null (KIP-482).
"""

import codecs
import struct

from assignor.errors import WireError

__all__ = ["Reader", "java_string", "write_bytes", "write_count", "write_string", "write_varint"]

LONGEST_STRING = 32_767
"""The longest string that Kafka writes, or reads in the compact encoding (Short.MAX_VALUE)."""

MOST = 2**31 - 1
"""The largest length that an int32 says."""


class Reader:
    """A position in a buffer.

    Every method takes the path of the field that is read, for the error it raises.
    """

    def __init__(self, data: bytes, *, compact: bool = False) -> None:
        self.data = data
        self.position = 0
        self.compact = compact

    @property
    def remaining(self) -> int:
        """How many bytes are left."""
        return len(self.data) - self.position

    def take(self, count: int, field: str, start: int | None = None) -> bytes:
        """The next `count` bytes, of an item that began at `start`."""
        if count > self.remaining:
            reason = f"{count} bytes are needed and {self.remaining} remain"
            raise WireError(reason, self.position if start is None else start, field)
        taken = self.data[self.position : self.position + count]
        self.position += count
        return taken

    def integer(self, layout: str, field: str) -> int:
        """An integer: `layout` is b, h, H, i or q, as in the module struct."""
        (number,) = struct.unpack(f">{layout}", self.take(struct.calcsize(f">{layout}"), field))
        return int(number)

    def varint(self, field: str) -> int:
        """An unsigned varint as ByteUtils.readUnsignedVarint gives it.

        At most five bytes; the bits above the 32nd fall away, so that it can come out negative.
        """
        start = self.position
        value = 0
        for shift in (0, 7, 14, 21, 28):
            byte = self.take(1, field)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return to_int32(value)
        raise WireError("an unsigned varint is longer than five bytes", start, field)

    def nullable_string(self, field: str) -> str | None:
        """A string, or None where its length stands for null."""
        start = self.position
        length = to_int32(self.varint(field) - 1) if self.compact else self.integer("h", field)
        if length < 0:
            return None
        if length > LONGEST_STRING:
            raise WireError(f"a string of {length} bytes is longer than {LONGEST_STRING}", start, field)
        return java_string(self.take(length, field, start))

    def string(self, field: str) -> str:
        """A string that cannot be null."""
        start = self.position
        text = self.nullable_string(field)
        if text is None:
            raise WireError("null is not allowed", start, field)
        return text

    def nullable_bytes(self, field: str) -> bytes | None:
        """A byte array, or None where its length stands for null."""
        start = self.position
        length = self.length(field)
        return None if length < 0 else self.take(length, field, start)

    def bytes(self, field: str) -> bytes:
        """A byte array that cannot be null."""
        start = self.position
        data = self.nullable_bytes(field)
        if data is None:
            raise WireError("null is not allowed", start, field)
        return data

    def nullable_count(self, least: int, field: str) -> int | None:
        """How many elements an array has, each of at least `least` bytes; None where that stands for null."""
        start = self.position
        count = self.length(field)
        if count < 0:
            return None
        if count > self.remaining // least:
            reason = f"{count} elements of at least {least} bytes do not fit in the {self.remaining} that remain"
            raise WireError(reason, start, field)
        return count

    def count(self, least: int, field: str) -> int:
        """How many elements an array has that cannot be null."""
        start = self.position
        count = self.nullable_count(least, field)
        if count is None:
            raise WireError("null is not allowed", start, field)
        return count

    def length(self, field: str) -> int:
        """The length of a byte array or an array; negative is null."""
        return to_int32(self.varint(field) - 1) if self.compact else self.integer("i", field)


def write_string(text: str | None, field: str, *, compact: bool = False) -> bytes:
    """A string with its length, or null for None."""
    if text is None:
        return write_varint(0) if compact else struct.pack(">h", -1)
    data = text.encode()
    if len(data) > LONGEST_STRING:
        raise WireError(
            f"'{text[:20]}…' has {len(data)} bytes of UTF-8, and {LONGEST_STRING} can be written", None, field
        )
    return (write_varint(len(data) + 1) if compact else struct.pack(">h", len(data))) + data


def write_bytes(data: bytes | None, field: str, *, compact: bool = False) -> bytes:
    """A byte array with its length, or null for None."""
    return write_count(None if data is None else len(data), field, compact=compact) + (data or b"")


def write_count(count: int | None, field: str, *, compact: bool = False) -> bytes:
    """How many elements an array has, or bytes a byte array; None is null."""
    if count is None:
        count = -1
    if count > MOST:
        raise WireError(f"a length of {count} is more than {MOST}, which can be written", None, field)
    return write_varint(count + 1) if compact else struct.pack(">i", count)


def write_varint(number: int) -> bytes:
    """An unsigned varint."""
    data = b""
    while number >= 0x80:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


def to_int32(number: int) -> int:
    """What is left of a number in Java's `int`."""
    return (number + 2**31) % 2**32 - 2**31


def java_string(data: bytes) -> str:
    """Text as Java's `new String(bytes, UTF_8)` reads it: each ill-formed piece becomes one U+FFFD.

    The pieces are those of the Unicode standard, but that Java takes an encoded surrogate (ED A0..BF and perhaps a
    continuation byte) as one piece where the standard, and Python, have three.
    """
    return data.decode("utf-8", "assignor.java")


def replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """The piece that begins where the decoder stopped, replaced."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    first, second, third = (*error.object[error.start : error.start + 3], 0, 0, 0)[:3]
    if first == 0xED and 0xA0 <= second <= 0xBF:
        return "\ufffd", error.start + (3 if 0x80 <= third <= 0xBF else 2)
    return "\ufffd", error.end


codecs.register_error("assignor.java", replace_as_java)

"""Reader and writers of Kafka's primitive types, in big-endian order.

`compact` selects the encoding of lengths. If it is False, a string has an int16 length, arrays and byte arrays have an
int32 length, and a negative length means null. If it is True, the length is an unsigned varint of the length plus one,
and 0 means null (KIP-482).
"""

import codecs
import struct

from assignor.errors import WireError

__all__ = ["Reader", "java_string", "write_bytes", "write_count", "write_string", "write_varint"]

MAX_STRING_BYTES = 32_767
"""Largest size in bytes of a string that Kafka writes, or reads in the compact encoding (Short.MAX_VALUE)."""

MAX_INT32 = 2**31 - 1
"""Largest length that fits into an int32."""


class Reader:
    """Reader of a buffer, with the position of the next byte.

    Each method takes the path of the field for its error message.
    """

    def __init__(self, data: bytes, *, compact: bool = False) -> None:
        self.data = data
        self.position = 0
        self.compact = compact

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

    def varint(self, field: str) -> int:
        """Read an unsigned varint of at most five bytes, as `ByteUtils.readUnsignedVarint` does.

        Bits above the 32nd are dropped, so the result can be negative.
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
        """Read a string, or None if its length means null."""
        start = self.position
        length = to_int32(self.varint(field) - 1) if self.compact else self.integer("h", field)
        if length < 0:
            return None
        if length > MAX_STRING_BYTES:
            raise WireError(f"a string of {length} bytes is longer than {MAX_STRING_BYTES}", start, field)
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
        length = self.length(field)
        return None if length < 0 else self.take(length, field, start)

    def bytes(self, field: str) -> bytes:
        """Read a byte array that cannot be null."""
        start = self.position
        data = self.nullable_bytes(field)
        if data is None:
            raise WireError("null is not allowed", start, field)
        return data

    def nullable_count(self, least: int, field: str) -> int | None:
        """Read the number of elements of an array, or None for null; each element has at least `least` bytes."""
        start = self.position
        count = self.length(field)
        if count < 0:
            return None
        if count > self.remaining // least:
            reason = f"{count} elements of at least {least} bytes do not fit in the {self.remaining} that remain"
            raise WireError(reason, start, field)
        return count

    def count(self, least: int, field: str) -> int:
        """Read the number of elements of an array that cannot be null."""
        start = self.position
        count = self.nullable_count(least, field)
        if count is None:
            raise WireError("null is not allowed", start, field)
        return count

    def length(self, field: str) -> int:
        """Read the length of a byte array or an array; a negative length means null."""
        return to_int32(self.varint(field) - 1) if self.compact else self.integer("i", field)


def write_string(text: str | None, field: str, *, compact: bool = False) -> bytes:
    """Encode a string with its length; None becomes null."""
    if text is None:
        return write_varint(0) if compact else struct.pack(">h", -1)
    data = text.encode()
    if len(data) > MAX_STRING_BYTES:
        raise WireError(f"'{text[:20]}…' has {len(data)} bytes of UTF-8; the limit is {MAX_STRING_BYTES}", None, field)
    return (write_varint(len(data) + 1) if compact else struct.pack(">h", len(data))) + data


def write_bytes(data: bytes | None, field: str, *, compact: bool = False) -> bytes:
    """Encode a byte array with its length; None becomes null."""
    return write_count(None if data is None else len(data), field, compact=compact) + (data or b"")


def write_count(count: int | None, field: str, *, compact: bool = False) -> bytes:
    """Encode the length of an array or a byte array; None becomes null."""
    if count is None:
        count = -1
    if count > MAX_INT32:
        raise WireError(f"length {count} exceeds the limit of {MAX_INT32}", None, field)
    return write_varint(count + 1) if compact else struct.pack(">i", count)


def write_varint(number: int) -> bytes:
    """Encode an unsigned varint."""
    data = b""
    while number >= 0x80:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


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

"""Bytes of log segments, written field by field: record batches of version 2, and messages of versions 0 and 1."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TYPE_CHECKING

import crc32c

if TYPE_CHECKING:
    from collections.abc import Iterable

LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 1 << 3, 1 << 4, 1 << 5
"""Attributes of a batch, beside the number of its codec."""

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
"""Numbers of the codecs."""


def varint(value: int) -> bytes:
    """Return a number in zigzag encoding."""
    rest, found = (value << 1) ^ (value >> 63), bytearray()
    while rest >= 0x80:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*found, rest])


def _sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(offset: int, key: bytes | None, value: bytes | None, *, timestamp: int = 0, headers: int = 0) -> bytes:
    """Return a record of a batch; offset and timestamp are differences from those of the batch."""
    body = b"\0" + varint(timestamp) + varint(offset) + _sized(key) + _sized(value) + varint(headers)
    return _sized(body + (_sized(b"name") + _sized(None)) * headers)


def batch(
    base_offset: int,
    content: bytes,
    count: int,
    *,
    attributes: int = 0,
    last: int | None = None,
    at: int = 1_700_000_000_000,
    producer: int = -1,
) -> bytes:
    """Return a batch of version 2, whose content may be compressed."""
    last = count - 1 if last is None else last
    body = struct.pack(">hiqqqhii", attributes, last, at, at + 9, producer, -1, -1, count) + content
    return struct.pack(">qiibI", base_offset, len(body) + 9, 5, 2, crc32c.crc32c(body)) + body


def message(
    offset: int,
    version: int,
    key: bytes | None,
    value: bytes | None,
    *,
    attributes: int = 0,
    at: int = 1_500_000_000_000,
) -> bytes:
    """Return a message of a message set."""
    parts = [struct.pack(">i", -1) if each is None else struct.pack(">i", len(each)) + each for each in (key, value)]
    body = struct.pack(">bb", version, attributes) + (struct.pack(">q", at) if version else b"") + b"".join(parts)
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def sealed(data: bytes) -> bytes:
    """Return a segment with right checksums, so that changed bytes reach the readers behind the checksum."""
    found, at = bytearray(data), 0
    while at + 17 <= len(found):
        size, version = struct.unpack_from(">i4xb", found, at + 8)
        end = at + 12 + size
        if size < 14 or end > len(found) or version not in (0, 1, 2):
            break
        if version < 2:
            struct.pack_into(">I", found, at + 12, zlib.crc32(found[at + 16 : end]))
        elif size >= 49:
            struct.pack_into(">I", found, at + 17, crc32c.crc32c(bytes(found[at + 21 : end])))
        at = end
    return bytes(found)


CONTENT = b"".join(
    record(
        number,
        b"key-%d" % (number % 3) if number % 4 else None,
        b"a value with equal parts, %d" % number,
        headers=number % 2,
    )
    for number in range(12)
)
"""Twelve records, which `COMPRESSED` has with each codec."""


def inner(version: int) -> bytes:
    """Return a message set with six messages, whose offsets are absolute in version 0 and relative in version 1."""
    base = 0 if version else 40
    return b"".join(
        message(base + number, version, None, b"a value with equal parts, %d" % number) for number in range(6)
    )


def xerial(blocks: Iterable[bytes]) -> bytes:
    """Return blocks of snappy in the framing of snappy-java."""
    return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(each)) + each for each in blocks)


COMPRESSED = {
    codec: base64.b64decode(text)
    for codec, text in {
        GZIP: (
            "H4sIAAAAAAACA3NiYGBgNEtUKEvMKU1VKM8syVBILSxNzFEoSCwqKdZRMGCIYGBg4spOrdQ1xKPMkIkjLzE3ldGHgYEFrNgIj2IjkJls"
            "YGUGeJQZQ810YmDgwOdEE5BxXARtNUU4kYeg3WYgM/kIetsc4UQBfE60ABknRNBWS6hxfgwMIhC7LfAEuQFDFAODGMTf+NTB4gYATBov"
            "AOsBAAA="
        ),
        SNAPPY: (
            "6wOwQgAAAAE2YSB2YWx1ZSB3aXRoIGVxdWFsIHBhcnRzLCAwAFgAAAIKa2V5LTE2ZicARDECCG5hbWUBTAAABAprZXktMmpUAAAyAVQA"
            "BgUnADBqJwAAMw1UDEIAAAhuowAANAFPAAoFT252AAA1DU8MTAAADAUtbnwAADYBVAAOBSdu9wAANw1UDEIAABBuowAAOAFPABIFT252"
            "AAA5DU8MTgAAFAUtBDE4anMBFDAAWgAAFgUoADJuKAAcMQIIbmFtZQE="
        ),
        LZ4: (
            "BCJNGGBAgsYAAAD/HUIAAAABNmEgdmFsdWUgd2l0aCBlcXVhbCBwYXJ0cywgMABYAAACCmtleS0xJwAIwTECCG5hbWUBTAAABC0AHzIt"
            "AAgQMlQAEQYnAB8wJwAIEzNUAE9CAAAIowAJEDRPABEKTwAPdgAJEzVPAEFMAAAMLQAPfAAJEDZUABEOJwAP9wAJEzdUAE9CAAAQowAJ"
            "EDhPABESTwAPdgAJEzlPAEFOAAAULQAvMTiaAQdxMTAAWgAAFigAHzIoAAmAMQIIbmFtZQEAAAAA"
        ),
        ZSTD: (
            "KLUv/WDrAOUEAGLHGR4wkTMGDN6jv8k50xik8IAjL280MQkOB05k+InrJiksUls5Td/hIzuN1PAQhys8PCI0dPBwyAkY73n4wnlJ4QIP"
            "fw/wDxaprZymmthEytMe7hKBsS5byWkvS0yJNdFkvKbN5ELslwIXAIDFUpcBFgNBIDsQGBAgYAK2A4EBAYIgQBzYGAgChGIyRlfIDgSm"
            "lABBEFAJiSpUZQ=="
        ),
    }.items()
}
"""`CONTENT` with each codec. The bytes are kept, because versions of a compressor differ."""

COMPRESSED_SETS = {
    each: base64.b64decode(text)
    for each, text in {
        (0, GZIP): (
            "H4sIAAAAAAACA2NgAAMNINY8sdxuCwPDfyAA8qQTFcoSc0pTFcozSzIUUgtLE3MUChKLSop1FAwgehg0QXj/Aj4lYjQZQjVpgTSprYyf"
            "QYwmI6gmbZCmwHX5fMRoMoZq0gFpOn/q11piNJlANemCNO04e8qaGE2mAIa6n0k+AQAA"
        ),
        (0, SNAPPY): (
            "vgIAAAkBuCgAAAApyKc+tAAA/////wAAABthIHZhbHVlIHdpdGggZXF1YWwgcGFydHMsIDAACTUAKQE1DL+gDiKONQAAMQk0BAAqATUQ"
            "JqlfmACKagAAMg01ACsBNQxRrm8OjjUAADMNNQAsATUMz8r6rY41AAA0DTUALQE1DLjNyjuONQAANQ=="
        ),
        (0, LZ4): (
            "BCJNGGBAgokAAAASAAEA8h8oAAAAKcinPrQAAP////8AAAAbYSB2YWx1ZSB3aXRoIGVxdWFsIHBhcnRzLCAwNAAgACkEAE+/oA4iNQAR"
            "EzE1ABAqNQBPJqlfmDUAERMyNQAQKzUAT1Gubw41ABETMzUAECw1AE/PyvqtNQAREzQ1ABAtNQBPuM3KOzUADVB0cywgNQAAAAA="
        ),
        (1, GZIP): (
            "H4sIAAAAAAACA2NggAPDG4/lrjMCGYyxdt9nMPwHAiBHOlGhLDGnNFWhPLMkQyG1sDQxR6EgsaikWEfBAKoRpMdw/RM9R1I0G0I1M4E0"
            "m72t/02KZiOoZmaQZsdX/rmkaDaGamYBab7fd+scKZpNoJpZQZpXdL6KIEWzKQDydGwQbgEAAA=="
        ),
        (1, SNAPPY): (
            "7gIAABkByDHY4x7XAQAAAAFdPveYAP////8AAAAbYSB2YWx1ZSB3aXRoIGVxdWFsIHBhcnRzLCAwAAk9ATQQMa/kLkEBCZ49AAAxCTwk"
            "AAIAAAAxNu1/+649AAAyDT0AAwE9DEHqT22uPQAAMw09AAQBPQzfjtrOrj0AADQNPQAFAT0MqInqWK49AAA1"
        ),
        (1, LZ4): (
            "BCJNGGBAgpAAAAAWAAEA8yMx2OMe1wEAAAABXT73mAD/////AAAAG2EgdmFsdWUgd2l0aCBlcXVhbCBwYXJ0cywgMDwAADQAUDGv5C5B"
            "CQAPPQAVEzE9AJ8CAAAAMTbtf/s9ABkTMj0AEAM9AE9B6k9tPQAZEzM9ABAEPQBP347azj0AGRM0PQAQBT0AT6iJ6lg9ABVQdHMsIDUA"
            "AAAA"
        ),
    }.items()
}
"""`inner` by version and codec."""

"""Kind of a file by its first bytes: a log segment, or what else it may be, for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HEAD_BYTES = 4096
"""Number of bytes that decide about the kind of a file."""

_MAGIC_POSITION = 16
_MAGICS = (0, 1, 2)
_LENGTH = slice(8, 12)
_SHORTEST_BATCH = 14
_OTHERS = (
    (b"PAR1", "a Parquet file"),
    (b"version https://git-lfs", "a pointer to a file in Git LFS, without its content"),
    (b"/annex/objects", "a pointer to a file in git-annex, without its content"),
    (b"\x1f\x8b", "compressed with gzip; decompress it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; decompress it first"),
    (b"\xfd7zXZ\0", "compressed with xz; decompress it first"),
    (b"BZh", "compressed with bzip2; decompress it first"),
    (b"PK\x03\x04", "a zip archive; unpack it first"),
    (b"Salted__", "encrypted with OpenSSL; decrypt it first"),
    (b"age-encryption.org", "encrypted with age; decrypt it first"),
    (b"-----BEGIN PGP", "encrypted with PGP; decrypt it first"),
)

SEGMENT = "segment"
"""Kind of a file that begins with a record batch or a message of Kafka."""

TEXT = "text"
"""Kind of a file of UTF-8 without control characters."""

UNKNOWN = "no log segment: it is encrypted, or of another program"
"""Kind of a file with other bytes."""

EMPTY = "empty"
"""Kind of a file without bytes, or with zero bytes only: an active segment without records."""


def kind_of(path: Path) -> str:
    """Return `SEGMENT`, `EMPTY`, or what else the file is, as words that follow "it is".

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        return kind_of_head(file.read(HEAD_BYTES))


def kind_of_head(head: bytes) -> str:
    """Return the kind of a file that begins with some bytes.

    Example:
        >>> kind_of_head(b"PAR1 and more"), kind_of_head(bytes(100))
        ('a Parquet file', 'empty')
    """
    if not head.strip(b"\0"):
        return EMPTY
    for start, kind in _OTHERS:
        if head.startswith(start):
            return kind
    if len(head) <= _MAGIC_POSITION:
        return "no log segment: it is too short" if not _is_text(head) else TEXT
    length = int.from_bytes(head[_LENGTH], "big", signed=True)
    if head[_MAGIC_POSITION] in _MAGICS and head[0] < 0x80 and length >= _SHORTEST_BATCH:
        return SEGMENT
    return TEXT if _is_text(head) else UNKNOWN


def _is_text(head: bytes) -> bool:
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = head[: error.start].decode("utf-8-sig", "replace") if error.start > len(head) - 4 else "\0"
    return all(character.isprintable() or character.isspace() for character in text)

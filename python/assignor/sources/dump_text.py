"""Text that `kafka-dump-log.sh` printed of `__consumer_offsets`, read as the records of the log.

The tool prints a line for each file, batch and record. Versions 0.11 to 4.x are read; `dump_contents` has the forms of
keys and payloads. The text may have been cut, compressed with gzip, saved with other line ends, and may have a prompt,
log lines, or a prefix in front of each line.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.lines import format_count
from assignor.offsets import coordinator_partition
from assignor.sources.dump_contents import Content, ContentError, SkippedTypeError, read_content
from assignor.sources.dump_lines import (
    BatchLine,
    ContentLine,
    CutLine,
    FileLine,
    ForeignLine,
    OtherLine,
    RecordLine,
    parse_line,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

BATCH_ROWS = 10_000

FIRST_BYTES = 1 << 16
"""Number of bytes of a file that show whether it is text of the tool."""

_PIECE = 1 << 20
_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_OF_PARTITION = re.compile(r"(?:^|[/\\])(?P<topic>[^/\\]+)-(?P<partition>\d{1,9})[/\\][^/\\]+$")
_LATEST = 2**63 - 1
_TOPIC = "__consumer_offsets"
_ADVICE = "print it again with --offsets-decoder"


_NO_BATCH = BatchLine(0, -1, -1, -1, is_transactional=False)
_SIGNS = (FileLine, BatchLine, RecordLine, CutLine)

Row = tuple[int, int, int, bytes, bytes | None]
"""Partition, offset, time, key and value of a record."""


class Transactional(NamedTuple):
    """Record of a transaction, or its marker.

    Attributes:
        offset: Its offset.
        producer_id: The producer of the transaction.
        control: -1 for a record; for a marker 0 if it aborts the transaction and 1 if it commits it.
    """

    offset: int
    producer_id: int
    control: int


def is_dump(first: bytes) -> bool:
    """Return True if a file with these first bytes is text of `kafka-dump-log.sh`.

    Example:
        >>> is_dump(b"Dumping /data/__consumer_offsets-3/00000000000000000000.log")
        True
        >>> is_dump(b'{"key": "AAEAAQ==", "value": null}')
        False
    """
    if first.startswith(_GZIP):
        try:
            first = zlib.decompressobj(wbits=31).decompress(first, 1 << 16)
        except zlib.error:
            return False
    lines = map(parse_line, first.decode(_encoding(first), errors="replace").splitlines())
    return any(isinstance(line, _SIGNS) or line == OtherLine(is_start=True) for line in lines)


def is_dump_file(path: Path) -> bool:
    """Return True if a file is text of `kafka-dump-log.sh`; False if it cannot be read, too."""
    try:
        with path.open("rb") as file:
            return is_dump(file.read(FIRST_BYTES))
    except (OSError, ValueError):  # a null character in the path
        return False


def read_dump(path: str | os.PathLike[str]) -> Dump:
    """Read a file with text of `kafka-dump-log.sh`, which may be compressed with gzip.

    Raises:
        IllegalArgumentError: The file cannot be read; also while the result is iterated.
    """
    return Dump(_Lines(Path(path)), str(path))


class Dump:
    """Records in text of `kafka-dump-log.sh`: an iterable of record batches with the columns of `records.SCHEMA`.

    It can be iterated once. Afterwards it also has what the text says of transactions, and notes on what it lacks.

    Args:
        lines: The lines of the text.
        place: Name of the text for messages.

    Attributes:
        transactions: By partition, the records and markers of transactions in the order of the text.
        unreadable: Number of lines with a record that cannot be read.
    """

    def __init__(self, lines: Iterable[str], place: str) -> None:
        self._lines = lines
        self._place = place
        self.transactions: dict[int, list[Transactional]] = {}
        self.unreadable = 0
        self._first_unreadable = ""
        self._foreign = 0
        self._first_foreign = 0
        self._records = 0
        self._undecoded = 0
        self._batches = 0
        self._lost_tombstones = 0
        self._undated = 0
        self._guessed_offsets = 0
        self._partial: Counter[str] = Counter()
        self._skipped: Counter[int] = Counter()
        self._dropped: Counter[str] = Counter()
        self._other_topics: Counter[str] = Counter()
        self._has_guessed_partition = False
        self._is_other = False
        self._partition: int | None = None
        self._current = _NO_BATCH
        self._next_offset = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the records in the order of the text.

        Raises:
            IllegalArgumentError: The text has records and none can be read, or only files of other topics.
        """
        from assignor.cluster.records import SCHEMA

        rows: list[Row] = []
        for number, line in enumerate(self._lines, start=1):
            row = self._read(line.rstrip("\r\n"), number)
            if row is not None:
                rows.append(row)
            if len(rows) == BATCH_ROWS:
                yield _batch(rows, SCHEMA)
                rows = []
        self._check()
        if rows or not self._records:
            yield _batch(rows, SCHEMA)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the text lacks and what was left out, complete after all records are read."""
        found = []
        if problem := getattr(self._lines, "problem", ""):
            found.append(f"{self._place}: {problem}")
        if self.unreadable:
            count = format_count(self.unreadable, "line")
            found.append(f"{count} left out, with records that cannot be read; the first is {self._first_unreadable}")
        if self._undecoded and self._records:
            found.append(f"{format_count(self._undecoded, 'record')} without a decoded key left out; {_ADVICE}")
        if self._foreign:
            count = format_count(self._foreign, "line")
            found.append(
                f"{count} of other programs or of unknown form ignored; the first is line {self._first_foreign}"
            )
        if self._skipped:
            types = ", ".join(map(str, sorted(self._skipped)))
            count = format_count(self._skipped.total(), "record")
            found.append(f"{count} left out, which the tool did not decode: this version of it has no type {types}")
        if self._lost_tombstones:
            found.append(
                f"{format_count(self._lost_tombstones, 'tombstone')} left out: versions before 2.4 do not print their "
                "keys, so deletions of groups and offsets are missing"
            )
        if self._partial["group"]:
            found.append(
                "versions before 3.8 print no subscriptions, racks, instance ids, clients, hosts and timeouts of "
                "members, and no leaders: partitions without an owner, changed subscriptions and restarts of static "
                "members are not found, and assignments are not compared"
            )
        if self._partial["commit"]:
            found.append("versions before 3.8 print no times of commits: the times of the records are used")
        if self._dropped:
            found.append(
                f"fields that only newer versions of Kafka have are ignored: {', '.join(sorted(self._dropped))}"
            )
        if self._undated:
            found.append(f"{format_count(self._undated, 'record')} without a time")
        if self._guessed_offsets:
            found.append(
                f"{format_count(self._guessed_offsets, 'record')} printed with --skip-record-metadata: their times are "
                "those of their batches, and their offsets are wrong where the log was compacted"
            )
        if self._has_guessed_partition:
            found.append(f"the text does not name the partition of {_TOPIC}: it is computed for 50 partitions")
        for topic, files in sorted(self._other_topics.items()):
            found.append(f"{format_count(files, 'file')} of {topic} ignored")
        return tuple(found)

    def _read(self, text: str, number: int) -> Row | None:
        """Return the row of a line; None for a line without a record of the topic."""
        line = parse_line(text)
        if isinstance(line, FileLine):
            self._start_file(line.path)
        elif self._is_other:
            return None
        elif isinstance(line, RecordLine):
            return self._record(line, number)
        elif isinstance(line, BatchLine):
            self._batches += 1
            self._current, self._next_offset = line, line.first
        elif isinstance(line, ContentLine):
            return self._without_metadata(line.content, number)
        elif isinstance(line, CutLine):
            self._cannot_read(number, "the line is cut off")
        elif isinstance(line, ForeignLine):
            self._foreign += 1
            self._first_foreign = self._first_foreign or number
        return None

    def _start_file(self, path: str) -> None:
        found = _OF_PARTITION.search(path)
        is_log = path.endswith(".log")
        self._is_other = not is_log or (found is not None and found["topic"] != _TOPIC)
        if is_log and found is not None and self._is_other:
            self._other_topics[f"{found['topic']}-{found['partition']}"] += 1
        self._partition = int(found["partition"]) if found is not None and not self._is_other else None
        self._current = _NO_BATCH

    def _record(self, line: RecordLine, number: int) -> Row | None:
        producer, is_transactional = self._current.producer_id, self._current.is_transactional
        if line.producer_id is not None:
            producer, is_transactional = line.producer_id, line.is_transactional
        if line.marker is not None:
            marker = Transactional(line.offset, producer, int(line.marker == "COMMIT"))
            self._transactions(self._partition or 0).append(marker)
        elif line.content is not None:
            content = self._content(line.content, line.time, number)
            return self._row(content, line.offset, line.time, producer if is_transactional else None)
        elif not line.is_control:
            self._lost_tombstones += line.is_null
            self._undecoded += not line.is_null
        return None

    def _without_metadata(self, text: str, number: int) -> Row | None:
        offset, time = self._next_offset, self._current.time
        self._next_offset += 1
        self._guessed_offsets += 1
        producer = self._current.producer_id if self._current.is_transactional else None
        return self._row(self._content(text, time, number), offset, time, producer)

    def _content(self, text: str, time: int, number: int) -> Content | None:
        try:
            content = read_content(text, time)
        except SkippedTypeError as skipped:
            self._skipped[int(skipped.args[0])] += 1
        except ContentError as error:
            self._cannot_read(number, str(error))
        else:
            if not content.is_full:
                self._partial["group" if content.key.startswith(b"\0\2") else "commit"] += 1
            self._dropped.update(content.dropped)
            return content
        return None

    def _cannot_read(self, number: int, reason: str) -> None:
        self.unreadable += 1
        self._first_unreadable = self._first_unreadable or f"line {number}: {reason}"

    def _row(self, content: Content | None, offset: int, time: int, producer: int | None) -> Row | None:
        if content is None:
            return None
        if self._partition is None:
            self._has_guessed_partition = True
            self._partition = coordinator_partition(content.group) if content.group is not None else 0
        if producer is not None:
            self._transactions(self._partition).append(Transactional(offset, producer, -1))
        self._records += 1
        self._undated += time < 0
        return self._partition, min(offset, _LATEST), max(min(time, _LATEST), -1), content.key, content.value

    def _transactions(self, partition: int) -> list[Transactional]:
        return self.transactions.setdefault(partition, [])

    def _check(self) -> None:
        """Check that a text with records has one that can be read."""
        if self._records:
            return
        if problem := getattr(self._lines, "problem", ""):
            raise IllegalArgumentError(f"{self._place} has no record that can be read: {problem}")
        if self.unreadable:
            raise IllegalArgumentError(f"{self._place}, {self._first_unreadable}; no record can be read: {_ADVICE}")
        if self._undecoded or (self._batches and not (self._skipped or self._lost_tombstones or self.transactions)):
            raise IllegalArgumentError(f"{self._place} has no keys and values of records; {_ADVICE}")
        if self._other_topics:
            topics = ", ".join(sorted(self._other_topics))
            raise IllegalArgumentError(f"{self._place} is a dump of {topics}, not of {_TOPIC}")


def _batch(rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    with dependency("pyarrow"):
        import pyarrow as pa

    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )


def _encoding(first: bytes) -> str:
    """Return the encoding of a text; PowerShell redirects output to UTF-16."""
    return "utf-16" if first.startswith(_UTF_16) else "utf-8-sig"


class _Lines:
    """Lines of a file. Only line feeds end them: metadata of commits may have other line breaks.

    Attributes:
        problem: Why the text ends early; "" if it does not.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.problem = ""

    def __iter__(self) -> Iterator[str]:
        rest, decoder = "", None
        for piece in self._pieces():
            if decoder is None:
                decoder = codecs.getincrementaldecoder(_encoding(piece))(errors="replace")
            *lines, rest = (rest + decoder.decode(piece)).split("\n")
            yield from lines
        if rest:
            yield rest

    def _pieces(self) -> Iterator[bytes]:
        """Yield the decompressed bytes; the first piece has more than one byte unless there are no more."""
        try:
            with self._path.open("rb") as file:
                piece = file.read(_PIECE)
                if not piece.startswith(_GZIP):
                    while piece:
                        yield piece
                        piece = file.read(_PIECE)
                    return
                stream = zlib.decompressobj(wbits=31)
                while piece:
                    yield from self._decompressed(stream, piece)
                    piece = stream.unused_data or file.read(_PIECE)
                    if stream.eof and piece:
                        stream = zlib.decompressobj(wbits=31)
                if not stream.eof:
                    self.problem = "the compressed file ends early"
        except zlib.error as error:
            self.problem = f"the compressed file is damaged: {error}"
        except OSError as error:
            raise IllegalArgumentError(f"{self._path} cannot be read: {error.strerror}") from error

    @staticmethod
    def _decompressed(stream: Any, piece: bytes) -> Iterator[bytes]:
        """Yield what a piece of a compressed file contains, at most `_PIECE` bytes at a time."""
        while piece and not stream.eof:
            if found := stream.decompress(piece, _PIECE):
                yield found
            piece = stream.unconsumed_tail

"""Lines in the text of `kafka-dump-log.sh`: of files, batches and records, in the forms of all its versions.

A line can have a prefix, such as the name of a container. Only the first characters of a line are searched for what the
tool prints before key and payload, so that the time to read a line does not grow faster than its length.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_WINDOW = 2_000
"""Number of characters in which the fields of a batch, or of a record before its key, are found."""

_NUMBER = r"\d{1,19}"
_TIME = rf"(?:CreateTime|LogAppendTime|NoTimestampType): (?P<time>-?{_NUMBER})"
_PRODUCER = rf"producerId: (?P<producer>-?{_NUMBER}) [^|]*?isTransactional: (?P<transactional>true|false)\b"

_DUMPING = re.compile(r"\bDumping (?P<path>\S.*\.\w+)\s*$")
_START = re.compile(rf"\b(?:Log s|S)tarting offset: {_NUMBER}\s*$")
_BATCH_BEGIN = re.compile(rf"\bbaseOffset: (?P<first>{_NUMBER}) lastOffset: (?P<last>{_NUMBER}) ")
_BATCH = re.compile(rf"[^|]*?{_PRODUCER}[^|]*? {_TIME}")
_RECORD_BEGIN = re.compile(rf"\boffset: (?P<offset>{_NUMBER}) ")
_SIZES = re.compile(rf"\bkey[sS]ize: -?{_NUMBER} value[sS]ize: (?P<value>-?{_NUMBER})")
_TIMES = re.compile(_TIME)
_OWN_PRODUCER = re.compile(_PRODUCER)
_CUT_RECORD = re.compile(rf"\| ?offset: {_NUMBER} {_TIME}")
_WITHOUT_METADATA = re.compile(r"(?:^|\s)\| key: ")
_KEY = " key: "
_HEADERS = "headerKeys: ["
_MARKER = re.compile(r" endTxnMarker: (ABORT|COMMIT)\b")
_CONTROL = re.compile(r" (?:controlType|LeaderChange|SnapshotHeader|SnapshotFooter|KRaftVersion|KRaftVoters):? ")
_OTHER = re.compile(
    rf"\s*$|.*\bSnapshot end offset: |.*\boffset: {_NUMBER} position: {_NUMBER}|.*\bFound {_NUMBER} invalid bytes|"
    rf".*\bNon-consecutive offsets in|\s*-?{_NUMBER} is followed by {_NUMBER}\s*$|"
    rf".*\b(?:timestamp|version|producerId): {_NUMBER} "
)
"""Lines of the tool without a record: batches of the oldest format, entries of indexes, and remarks."""


class FileLine(NamedTuple):
    """Start of a file."""

    path: str


class BatchLine(NamedTuple):
    """Batch of records: its first and last offset, its time, and its producer if it is part of a transaction."""

    first: int
    last: int
    time: int
    producer_id: int
    is_transactional: bool


class RecordLine(NamedTuple):
    """Record.

    Attributes:
        offset: Its offset.
        time: Its time; -1 if it has none.
        is_null: True if its value is null.
        producer_id: Its producer; None if only the line of the batch has it.
        is_transactional: True for a record of a transaction; only with a producer.
        marker: `ABORT` or `COMMIT` for the end of a transaction.
        is_control: True for a control record.
        content: The text of key and payload; None without a key.
    """

    offset: int
    time: int
    is_null: bool
    producer_id: int | None
    is_transactional: bool
    marker: str | None
    is_control: bool
    content: str | None


class ContentLine(NamedTuple):
    """Key and payload of a record that was printed without its metadata."""

    content: str


class CutLine(NamedTuple):
    """Beginning of the line of a record."""


class OtherLine(NamedTuple):
    """Line of the tool without a record.

    Attributes:
        is_start: True for the line with the first offset of a file.
    """

    is_start: bool = False


class ForeignLine(NamedTuple):
    """Line of another program, or of a form that is not known."""


Line = FileLine | BatchLine | RecordLine | ContentLine | CutLine | OtherLine | ForeignLine


def parse_line(line: str) -> Line:
    """Return what a line says.

    Example:
        >>> line = "| offset: 3 CreateTime: 5 keySize: 9 valueSize: -1 sequence: -1 headerKeys: []"
        >>> found = parse_line(f"{line} key: KEY payload: VALUE")
        >>> found.offset, found.time, found.is_null, found.content
        (3, 5, True, 'KEY payload: VALUE')
    """
    head = line[:_WINDOW]
    if (begin := _RECORD_BEGIN.search(head)) and (record := _record(line, begin)):
        return record
    if (begin := _BATCH_BEGIN.search(head)) and (found := _BATCH.match(head, begin.end())):
        return BatchLine(
            int(begin["first"]),
            int(begin["last"]),
            int(found["time"]),
            int(found["producer"]),
            found["transactional"] == "true",
        )
    if found := _DUMPING.search(head):
        return FileLine(found["path"])
    if found := _WITHOUT_METADATA.search(head):
        return ContentLine(line[found.end() :])
    if _CUT_RECORD.search(head):
        return CutLine()
    if _START.search(head):
        return OtherLine(is_start=True)
    return OtherLine() if _OTHER.match(head) else ForeignLine()


def _record(line: str, begin: re.Match[str]) -> RecordLine | None:
    """Return the record of a line; None if the line has an offset, but not the other fields of a record."""
    window = line[begin.end() : begin.end() + _WINDOW]
    fields = window.partition(_HEADERS)[0].partition(_KEY)[0]
    sizes, time = _SIZES.search(fields), _TIMES.search(fields)
    if sizes is None or time is None:
        return None
    rest = line[begin.end() + sizes.end() :]
    head, separator, content = rest.partition(_KEY)
    own = _OWN_PRODUCER.search(fields)  # versions before 2.1 print it for each record, and no batches
    marker = _MARKER.search(head[:_WINDOW])
    return RecordLine(
        int(begin["offset"]),
        int(time["time"]),
        int(sizes["value"]) < 0,
        None if own is None else int(own["producer"]),
        own is not None and own["transactional"] == "true",
        None if marker is None else marker[1],
        marker is not None or _CONTROL.search(head[:_WINDOW]) is not None,
        content if separator else None,
    )

"""Tables in the text of `kafka-consumer-groups.sh --describe`: their headers, and the cells of their rows.

The tool pads each cell to the width of its column, so the cells of a row begin at the columns of the header. Text that
was pasted can differ: tabs or single spaces between the cells, and lines that a terminal or a form has wrapped.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

COORDINATOR = "COORDINATOR (ID)"
OFFSETS, MEMBERS, STATE = "offsets", "members", "state"

_REQUIRED = {
    OFFSETS: {"TOPIC", "PARTITION", "CURRENT-OFFSET", "CONSUMER-ID"},
    MEMBERS: {"CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"},
    STATE: {COORDINATOR, "STATE", "#MEMBERS"},
}
_COLUMNS = {
    *("GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST"),
    *("CLIENT-ID", "GROUP-INSTANCE-ID", "#PARTITIONS", "ASSIGNMENT", "CURRENT-EPOCH", "CURRENT-ASSIGNMENT"),
    *("TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED", COORDINATOR, "ASSIGNMENT-STRATEGY", "STATE", "GROUP-EPOCH"),
    *("TARGET-ASSIGNMENT-EPOCH", "#MEMBERS"),
}
_NAMES = "|".join(sorted(map(re.escape, _COLUMNS), key=len, reverse=True))
_NAME = re.compile(rf"(?:{_NAMES})(?=\s|$)")
_HEADER = re.compile(rf"\s*+(?:(?:{_NAMES})(?:\s++|$))++$")
_BEGINS_HEADER = re.compile(r"\s*+(?:GROUP|TOPIC|CONSUMER-ID|COORDINATOR)\s[A-Z#()\s-]*+$")

_PIECE = re.compile(r"[A-Z#()\s-]++")
"""A line of a wrapped header."""

_NUMBERS = {
    *("PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "#PARTITIONS", "#MEMBERS", "LEADER-EPOCH"),
    *("CURRENT-EPOCH", "TARGET-EPOCH", "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"),
}
MOST_PARTITIONS = 2**31 - 1
"""A partition has a lower number."""

_NUMBER = re.compile(r"-?\d{1,19}|-")
_FILLED = {"GROUP", "TOPIC", "CONSUMER-ID", "STATE", *_NUMBERS}
_OPTIONAL = ("GROUP-INSTANCE-ID", "ASSIGNMENT-STRATEGY")
"""Columns whose cell is empty for a dynamic member, and for a group without members."""

_SPACED = ("ASSIGNMENT", "CLIENT-ID")
"""Columns whose cells can have spaces, if they are the last of a table."""

MESSAGE = re.compile(r"\s*(?:Consumer group '|Warning: Consumer group '|Error: |Error when )")
"""Lines of the tool that say something of a group. Some versions print them directly below a row."""

_MOST_LINES = 12
"""Highest number of lines over which one row is wrapped."""

Cells = dict[str, str]
Rows = tuple[list[tuple[int, Cells]], list[int]]
"""Places of rows in a block of lines with their cells, and places of lines that are no row."""


class Table(NamedTuple):
    """Table of the text.

    Attributes:
        kind: `OFFSETS`, `MEMBERS` or `STATE`.
        columns: Its columns.
        line: Number of the line with the header.
        rows: The cells of each row, and the number of its line.
        unreadable: Numbers of lines that are no row.
    """

    kind: str
    columns: tuple[str, ...]
    line: int
    rows: list[tuple[int, Cells]]
    unreadable: list[int]


def has_table(text: str) -> bool:
    """Return True if a text has the header of a table.

    Example:
        >>> has_table("GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID")
        True
    """
    return any(True for _ in read_tables(text.splitlines()))


def read_tables(lines: Sequence[str]) -> Iterator[Table]:
    """Yield the tables of a text in their order."""
    place = 0
    while place < len(lines):
        table = None
        if _BEGINS_HEADER.match(f"{lines[place]} "):
            block = _block(lines, place)
            table = _table(block, place + 1)
        if table is None:
            place += 1
        else:
            yield table
            place += len(block)


def _block(lines: Sequence[str], place: int) -> list[str]:
    """Return the lines from a place to the next empty line, message or header.

    The last piece of a wrapped row can be empty. The line after it is then a row of the same group.
    """
    block: list[str] = []
    firsts: set[str] = set()
    is_header = True
    for number in range(place, len(lines)):
        line = lines[number].rstrip("\r\n")
        is_blank = not line.strip()
        if MESSAGE.match(line) or (not is_header and _BEGINS_HEADER.match(f"{line} ")):
            break
        if is_blank and not _continues(is_header, firsts, lines[number + 1 : number + 2]):
            break
        block.append(line)
        is_header = is_header and (is_blank or _PIECE.fullmatch(line) is not None)
        if is_header and len(block) > _MOST_LINES:
            break
        if not is_blank and not line.startswith(" "):
            firsts.add(line.split(maxsplit=1)[0])
    return block


def _continues(is_header: bool, firsts: set[str], following: Sequence[str]) -> bool:
    """Return True if the line after an empty line belongs to the table before it."""
    line = "".join(following)
    if not line.strip() or MESSAGE.match(line) or _BEGINS_HEADER.match(f"{line} "):
        return False
    return is_header or line.split(maxsplit=1)[0] in firsts


def _table(block: list[str], number: int) -> Table | None:
    """Return the table of a block of lines, read in the form in which most of its lines are rows."""
    width = max(map(len, block))
    found = None
    for count in range(1, min(len(block), _MOST_LINES) + 1):
        wrapped = "".join(line.ljust(width) for line in block[: count - 1]) + block[count - 1]
        if kind := _kind(wrapped):
            columns = tuple(_NAME.findall(wrapped))
            forms = [_of_wrapped(wrapped, columns, block, count)]
            if count == 1:
                forms.insert(0, _of_lines(wrapped, columns, block))
            found = max(found, *(Table(kind, columns, number, *form) for form in forms), key=_quality)
        spaced = " ".join(line.strip() for line in block[:count])
        if count > 1 and (kind := _kind(spaced)):
            columns = tuple(_NAME.findall(spaced))
            found = max(found, Table(kind, columns, number, *_of_tokens(columns, block, count)), key=_quality)
    if found is None:
        return None
    rows = [(number + place, cells) for place, cells in found.rows]
    return found._replace(rows=rows, unreadable=[number + place for place in found.unreadable])


def _quality(table: Table | None) -> tuple[int, int]:
    """Return what is highest for the form with the most rows and then the fewest unreadable lines."""
    return (-1, 0) if table is None else (len(table.rows), -len(table.unreadable))


def _kind(text: str) -> str | None:
    if not _HEADER.match(text):
        return None
    names = set(_NAME.findall(text))
    return next((kind for kind, required in _REQUIRED.items() if required <= names), None)


def _of_lines(header: str, columns: tuple[str, ...], block: list[str]) -> Rows:
    """Return the rows of a block with a line for each."""
    cells_of = _reader(header, columns)
    rows, unreadable = [], []
    for place, line in enumerate(block[1:], start=1):
        if cells := cells_of(line):
            rows.append((place, cells))
        elif line.strip():
            unreadable.append(place)
    return rows, unreadable


def _of_wrapped(header: str, columns: tuple[str, ...], block: list[str], count: int) -> Rows:
    """Return the rows of a block that a terminal has wrapped, in which the header has `count` lines."""
    lines, width = block[count:], max(map(len, block))
    cells_of, starts = _reader(header, columns), _starts(header)
    begins = [*_row_begins(columns, lines, starts, count), len(lines)]
    rows, unreadable = [], []
    for first, end in pairwise(begins):
        text, place = lines[first], first + 1
        while place < end and (len(lines[place - 1]) == width or (place - first) * width <= starts[-1]):
            text = text.ljust((place - first) * width) + lines[place]
            place += 1
        if cells := cells_of(text):
            rows.append((count + first, cells))
        else:
            unreadable.append(count + first)
        unreadable += [count + other for other in range(place, end) if lines[other].strip()]
    return rows, unreadable


def _row_begins(columns: tuple[str, ...], lines: list[str], starts: list[int], count: int) -> list[int]:
    """Return the places of the lines with which rows begin: those with the group, or each after `count` lines."""
    if columns[0] == "GROUP":
        group = next((line for line in lines if line.strip()), "")[: starts[1]].rstrip()
        return [place for place, line in enumerate(lines) if line[: starts[1]].rstrip() == group]
    return list(range(0, len(lines), count))


def _of_tokens(columns: tuple[str, ...], block: list[str], count: int) -> Rows:
    """Return the rows of a block that is wrapped at spaces: a row has one word for each column."""
    words = [(place, word) for place, line in enumerate(block[count:], start=count) for word in _words(line)]
    rows, unreadable = [], []
    for start in range(0, len(words), len(columns)):
        chosen = words[start : start + len(columns)]
        cells = dict(zip(columns, (word for _, word in chosen), strict=False))
        if len(chosen) == len(columns) and _is_valid(cells):
            rows.append((chosen[0][0], cells))
        else:
            unreadable.append(chosen[0][0])
    return rows, unreadable


def _reader(header: str, columns: tuple[str, ...]) -> Callable[[str], Cells | None]:
    """Return a function that returns the cells of a line, or None for a line that is no row."""
    starts = _starts(header)

    def read(line: str) -> Cells | None:
        for cells in (_by_tab(line, columns), _by_place(line, columns, starts), _by_word(line, columns)):
            if cells is not None and _is_valid(cells):
                return cells
        return None

    return read


def _starts(header: str) -> list[int]:
    return [found.start() for found in _NAME.finditer(header)]


def _by_tab(line: str, columns: tuple[str, ...]) -> Cells | None:
    cells = [cell.strip() for cell in line.split("\t")]
    return dict(zip(columns, cells, strict=True)) if len(cells) == len(columns) > 1 else None


def _by_place(line: str, columns: tuple[str, ...], starts: list[int]) -> Cells | None:
    if "\t" in line or any(line[start - 1 : start].strip() for start in starts if start):
        return None
    ends = [*starts[1:], len(line)]
    return {name: line[start:end].strip() for name, start, end in zip(columns, starts, ends, strict=True)}


def _by_word(line: str, columns: tuple[str, ...]) -> Cells | None:
    words = _words(line)
    if len(words) > len(columns) and columns[-1] in _SPACED:
        words[len(columns) - 1 :] = [" ".join(words[len(columns) - 1 :])]
    for name in _OPTIONAL:
        if len(words) == len(columns) - 1 and name in columns:
            words.insert(columns.index(name), "")
    return dict(zip(columns, words, strict=True)) if len(words) == len(columns) else None


def _words(line: str) -> list[str]:
    """Return the words of a line; the address and the id of a coordinator are one."""
    return [found[0] for found in re.finditer(r"\S+:\d+\s+\(-?\d+\)|\S+", line)]


def _is_valid(cells: Cells) -> bool:
    return all(
        (cell or name not in _FILLED) and (name not in _NUMBERS or _NUMBER.fullmatch(cell))
        for name, cell in cells.items()
    ) and (cells.get("PARTITION", "-") == "-" or 0 <= int(cells["PARTITION"]) < MOST_PARTITIONS)

"""Encoding of records whose array of structures is given as tuples, as the coordinator gives the members of a group."""

from __future__ import annotations

from typing import Any

import pytest

from assignor import _core, errors
from assignor.offsets import Record, decode_record
from tests.offsets.decoding import RECORDED
from tests.offsets.samples import GROUP, MEMBER

ROW = tuple(MEMBER.values())
LONE = "\ud800"

REJECTED: list[tuple[str, Any, type[Exception], str]] = [
    ("members", [ROW, list(ROW)], errors.WrongTypeError, "value.members[1] must be a tuple, not list"),
    ("members", [ROW[:-1]], errors.WireError, "7 fields instead of 8 while writing value.members[0]"),
    ("members", [(*ROW, b"")], errors.WireError, "9 fields instead of 8 while writing value.members[0]"),
    ("members", [(None, *ROW[1:])], errors.NullArgumentError, "value.members[0].memberId must be a str, not None"),
    ("members", [(LONE, *ROW[1:])], errors.WireError, "while writing value.members[0].memberId"),
    ("members", [(*ROW[:5], 2**31, *ROW[6:])], errors.WireError, "while writing value.members[0].sessionTimeout"),
    ("members", [("x" * 2**15, *ROW[1:])], errors.WireError, "while writing value.members[0].memberId"),
    ("leader", [], errors.WireError, "'leader' is not an array of structures while writing value"),
    ("unknown", [], errors.WireError, "'unknown' is not an array of structures while writing value"),
]


def written(record: Record, array: str, rows: Any) -> tuple[bytes, bytes | None]:
    """Encode a record with other members, given as rows."""
    value = None if record.value is None else {name: it for name, it in record.value.items() if name != "members"}
    return _core.encode_record_with_rows(record.type, record.key, record.version, value, array, rows)


def test_rows_give_the_same_bytes_as_structures() -> None:
    compared = 0
    for key, value in RECORDED:
        record = decode_record(key, value)
        if record.type != GROUP.type or record.version != GROUP.version or record.value is None:
            continue
        rows = [tuple(member[name] for name in MEMBER) for member in record.value["members"]]
        assert written(record, "members", rows) == (key, value)
        compared += bool(rows)
    assert compared > 1_000


@pytest.mark.parametrize(("array", "rows", "kind", "message"), REJECTED)
def test_invalid_rows_are_rejected(array: str, rows: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as failed:
        written(GROUP, array, rows)
    assert message in str(failed.value)


def test_a_tombstone_has_no_rows() -> None:
    with pytest.raises(errors.WireError, match="'members' is not an array of structures"):
        written(Record(2, None, {"group": "g"}), "members", [])


def test_a_change_of_rows_during_reading_is_ignored() -> None:
    rows: list[Any] = []

    class Emptying(int):
        def __index__(self) -> int:
            rows.clear()
            return 1

    rows += [(*ROW[:5], Emptying(1), *ROW[6:]), ROW]
    plain = [(*ROW[:5], 1, *ROW[6:]), ROW]
    assert written(GROUP, "members", rows) == written(GROUP, "members", plain)

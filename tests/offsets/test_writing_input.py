"""Invalid records, and values with side effects: class and message of the error."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from assignor import errors
from assignor.offsets import Record, decode_record, encode_record
from assignor.validation import shown
from tests.offsets.decoding import EVERY_VERSION
from tests.offsets.samples import COMMIT, CURRENT, ENDPOINT, GROUP, MEMBER, METADATA, Path, changed
from tests.offsets.strategies import VERSIONS
from tests.support.invalid_input import LONE, Unreadable
from tests.support.record_layouts import LAYOUTS

WIRE, TYPE, NULL = errors.WireError, errors.WrongTypeError, errors.NullArgumentError

LONGEST = "é" * 16_383 + "x"
TOO_LONG = LONGEST + "x"
MANY = "'" + "é" * 20 + "…' has 32768 bytes of UTF-8; the limit is 32767"
LOOP: list[Any] = []
LOOP.append(LOOP)
STATUS = "cannot encode a record with status"
UUID = "is not a uuid in Kafka's form, 22 characters of URL-safe base64"
TOPIC_ID = ("value", "assignedPartitions", 0, "topicId")
EPOCHS = ("value", "assignedPartitions", 0, "assignmentEpochs")
SUBSCRIPTION = ("value", "members", 0, "subscription")


class Ordinal:
    """User-defined integer that is out of range."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        return f"<{self.number}>"


REJECTED: list[tuple[Record, Path, Any, type[Exception], str, str]] = [
    (COMMIT, ("value", "offset"), 2**63, WIRE, f"{2**63} is not between {-(2**63)} and {2**63 - 1}", "value.offset"),
    (COMMIT, ("value", "offset"), 10**30, WIRE, f"{10**30} is not between {-(2**63)} and {2**63 - 1}", "value.offset"),
    (COMMIT, ("key", "partition"), 2**31, WIRE, f"{2**31} is not between {-(2**31)} and {2**31 - 1}", "key.partition"),
    (COMMIT, ("key", "partition"), np.int64(2**31), WIRE,
     f"np.int64({2**31}) is not between {-(2**31)} and {2**31 - 1}", "key.partition"),
    (COMMIT, ("key", "partition"), Ordinal(2**70), WIRE, f"<{2**70}> is not between {-(2**31)} and {2**31 - 1}",
     "key.partition"),
    (CURRENT, ("value", "state"), 128, WIRE, "128 is not between -128 and 127", "value.state"),
    (ENDPOINT, ("value", "userEndpoint", "port"), -1, WIRE, "-1 is not between 0 and 65535", "value.userEndpoint.port"),
    (GROUP, ("key", "group"), TOO_LONG, WIRE, MANY, "key.group"),
    (GROUP, ("value", "members", 0, "memberId"), TOO_LONG, WIRE, MANY, "value.members[0].memberId"),
    (METADATA, ("value", "clientHost"), TOO_LONG, WIRE, MANY, "value.clientHost"),
    (GROUP, ("value", "leader"), LONE, WIRE, "'\\ud800' has a lone surrogate, which UTF-8 cannot encode",
     "value.leader"),
    (CURRENT, TOPIC_ID, "", WIRE, f"'' {UUID}", "value.assignedPartitions[0].topicId"),
    (CURRENT, TOPIC_ID, "A" * 21, WIRE, f"'{'A' * 21}' {UUID}", "value.assignedPartitions[0].topicId"),
    (CURRENT, TOPIC_ID, "A" * 22 + "==", WIRE, f"'{'A' * 22}==' {UUID}", "value.assignedPartitions[0].topicId"),
    (CURRENT, TOPIC_ID, "A" * 21 + "B", WIRE, f"'{'A' * 21}B' {UUID}", "value.assignedPartitions[0].topicId"),
    (CURRENT, TOPIC_ID, "+" + "A" * 21, WIRE, f"'+{'A' * 21}' {UUID}", "value.assignedPartitions[0].topicId"),
    (CURRENT, TOPIC_ID, "é" * 11, WIRE, f"'{'é' * 11}' {UUID}", "value.assignedPartitions[0].topicId"),
    (CURRENT, TOPIC_ID, " " + "A" * 22, WIRE, f"' {'A' * 22}' {UUID}", "value.assignedPartitions[0].topicId"),
    (METADATA, ("value", "classicMemberMetadata"), {}, WIRE, "a field that version 0 requires is missing",
     "value.classicMemberMetadata.sessionTimeoutMs"),
    (COMMIT, ("value", "x"), 1, WIRE, "unknown field 'x'", "value"),
    (COMMIT, ("value", "Offset"), 1, WIRE, "unknown field 'Offset'", "value"),
    (COMMIT, ("value", LONE), 1, WIRE, "unknown field '\\ud800'", "value"),
    (GROUP, ("value", "members", 0, "name"), "", WIRE, "unknown field 'name'", "value.members[0]"),
    (COMMIT, ("value", "metadata"), b"m", TYPE, "value.metadata must be a str, not bytes: b'm'", ""),
    (COMMIT, ("value", "metadata"), None, NULL, "value.metadata must be a str, not None", ""),
    (COMMIT, ("value", "expireTimestamp"), "1", TYPE, "value.expireTimestamp must be an int, not str: '1'", ""),
    (COMMIT, ("value", "offset"), True, TYPE, "value.offset must be an int, not bool: True", ""),
    (COMMIT, ("value", "offset"), 5.0, TYPE, "value.offset must be an int, not float: 5.0", ""),
    (COMMIT, ("value", "offset"), None, NULL, "value.offset must be an int, not None", ""),
    (COMMIT, ("value", "offset"), Unreadable(), TYPE, "value.offset must be an int, not Unreadable: <Unreadable>", ""),
    (COMMIT, ("value", 7), 1, TYPE, "value: a field's name must be a str, not int: 7", ""),
    (COMMIT, ("value",), [], TYPE, "value must be a dict, not list: []", ""),
    (COMMIT, ("value",), MappingProxyType({}), TYPE, "value must be a dict, not mappingproxy: mappingproxy({})", ""),
    (COMMIT, ("key",), None, NULL, "key must be a dict, not None", ""),
    (GROUP, SUBSCRIPTION, "s", TYPE, "value.members[0].subscription must be bytes, not str: 's'", ""),
    (GROUP, SUBSCRIPTION, None, NULL, "value.members[0].subscription must be bytes, not None", ""),
    (GROUP, ("value", "members"), None, NULL, "value.members must be a list, not None", ""),
    (GROUP, ("value", "members"), "m", TYPE, "value.members must be a list, not str: 'm'", ""),
    (GROUP, ("value", "members"), {}, TYPE, "value.members must be a list, not dict: {}", ""),
    (GROUP, ("value", "members"), LOOP, TYPE, "value.members[0] must be a dict, not list: [[...]]", ""),
    (GROUP, ("value", "members"), [MEMBER, None], NULL, "value.members[1] must be a dict, not None", ""),
    (CURRENT, EPOCHS, [1, None], NULL, "value.assignedPartitions[0].assignmentEpochs[1] must be an int, not None", ""),
    (ENDPOINT, ("value", "userEndpoint"), 1, TYPE, "value.userEndpoint must be a dict, not int: 1", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("record", "path", "value", "error", "reason", "field"), REJECTED, ids=lambda value: shown(value)[:30]
)
def test_values_that_cannot_be_encoded_are_rejected(
    record: Record,
    path: Path,
    value: Any,
    error: type[Exception],
    reason: str,
    field: str,
) -> None:
    assert encode_record(record)
    assert_rejected(changed(record, path, value), error, reason, field)
    assert field == "" or error is WIRE


def assert_rejected(record: Any, error: type[Exception], reason: str, field: str) -> None:
    with pytest.raises(errors.AssignorError) as caught:
        encode_record(record)
    assert error is type(caught.value)
    if isinstance(caught.value, errors.WireError):
        assert (reason, None, field) == (caught.value.reason, caught.value.offset, caught.value.field)
        assert f"{reason} while writing {field}" == str(caught.value)
    else:
        assert reason == str(caught.value)


@pytest.mark.parametrize(
    ("change", "error", "reason", "field"),
    [
        ({"type": 9}, WIRE, "the layout of type 9 (SHARE_GROUP_PARTITION_METADATA) is not known", "key.type"),
        ({"type": 25}, WIRE, "the layout of type 25 is not known", "key.type"),
        ({"type": -1}, WIRE, "the layout of type -1 is not known", "key.type"),
        ({"type": 2**15}, WIRE, "32768 is not between -32768 and 32767", "key.type"),
        ({"type": "2"}, TYPE, "key.type must be an int, not str: '2'", ""),
        ({"type": None}, NULL, "key.type must be an int, not None", ""),
        ({"status": "unknown_type"}, WIRE, f"{STATUS} 'unknown_type'", "key"),
        ({"status": None}, WIRE, f"{STATUS} None", "key"),
        ({"version": -1}, WIRE, "version -1 is negative", "value.version"),
        ({"version": 5}, WIRE, "unknown version 5 (the newest known version is 4)", "value.version"),
        ({"version": 2**15}, WIRE, "32768 is not between -32768 and 32767", "value.version"),
        ({"version": None}, NULL, "value.version must be an int, not None", ""),
        ({"version": True}, TYPE, "value.version must be an int, not bool: True", ""),
    ],
    ids=lambda value: repr(value)[:40],
)  # fmt: skip
def test_an_invalid_record_is_rejected(change: dict[str, Any], error: type[Exception], reason: str, field: str) -> None:
    assert_rejected(dataclasses.replace(GROUP, **change), error, reason, field)
    assert encode_record(GROUP)


def test_all_untagged_fields_are_required() -> None:
    samples = {(a["type"], a["valueVersion"]): (key, value) for key, value, a in EVERY_VERSION if a.get("value")}
    rejected = 0
    for number, version in VERSIONS:
        layout = LAYOUTS[number]
        record = decode_record(*samples[number, version])
        assert record.value is not None
        for part, fields, content in (("key", layout.key, record.key), ("value", layout.value, record.value)):
            at = 0 if part == "key" else version
            for field in fields:
                if field.tag is None and field.is_in(at):
                    left = {name: given for name, given in content.items() if name != field.name}
                    reason = f"a field that version {at} requires is missing"
                    given = changed(record, (part,), left)
                    assert_rejected(given, WIRE, reason, f"{part}.{field.name}")
                    rejected += 1
    assert 162 == rejected


@pytest.mark.parametrize("record", [None, b"", {}, ("a", 1), Record], ids=repr)
def test_objects_other_than_records_are_rejected(record: Any) -> None:
    with pytest.raises(TYPE, match=r"^record must be a Record, not "):
        encode_record(record)


def test_a_text_may_have_at_most_32767_bytes() -> None:
    for record, name in ((GROUP, "leader"), (METADATA, "clientId")):
        written = encode_record(changed(record, ("value", name), LONGEST))

        read = decode_record(*written).value
        assert read is not None
        assert LONGEST == read[name]


class Wrong:
    """Methods of subclasses that return wrong values."""

    __slots__ = ()

    def _wrong(self, *_: object) -> Any:
        return "wrong"

    __str__ = __bytes__ = encode = items = keys = __getitem__ = _wrong

    def _number(self, *_: object) -> int:
        return 99

    __index__ = __len__ = __hash__ = _number

    def _no(self, *_: object) -> bool:
        return False

    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = _no

    def __iter__(self) -> Iterator[Any]:
        return iter(["wrong"])


WRONG: dict[type, Any] = {base: type("Wrong", (Wrong, base), {}) for base in (str, int, bytes, dict, list, tuple)}
"""Subclasses with wrong methods."""


def disguised(value: Any, list_type: type) -> Any:
    """Return the same value built of subclasses."""
    if isinstance(value, dict):
        return WRONG[dict]({WRONG[str](name): disguised(content, list_type) for name, content in value.items()})
    if isinstance(value, list):
        return WRONG[list_type]([disguised(content, list_type) for content in value])
    return value if value is None else WRONG[type(value)](value)


@pytest.mark.parametrize("list_type", [list, tuple])
@pytest.mark.parametrize("record", [COMMIT, GROUP, CURRENT, ENDPOINT, METADATA], ids=lambda record: record.name)
def test_methods_of_subclasses_are_not_called(record: Record, list_type: type) -> None:
    in_subclasses = dataclasses.replace(
        record,
        type=WRONG[int](record.type),
        key=disguised(record.key, list_type),
        version=WRONG[int](record.version or 0),
        value=disguised(record.value, list_type),
    )

    assert encode_record(record) == encode_record(in_subclasses)


def test_a_field_that_occurs_twice_is_rejected() -> None:
    twice = changed(GROUP, ("key",), {"group": "g", WRONG[str]("group"): "h"})

    assert 2 == len(twice.key)
    assert_rejected(twice, WIRE, "the field 'group' occurs twice", "key")


class Interfering:
    """Integer with a side effect when it is read."""

    def __init__(self, number: int, interfere: Callable[[], object]) -> None:
        self.number = number
        self.interfere = interfere

    def __index__(self) -> int:
        self.interfere()
        return self.number


def test_containers_are_copied_before_user_code_can_change_them() -> None:
    value: dict[Any, Any] = dict(COMMIT.value or {})
    value["offset"] = Interfering(5, lambda: value.update({number: number for number in range(1000)}))
    partitions: list[Any] = [Interfering(0, lambda: partitions.clear()), 2]
    current = changed(CURRENT, ("value", "assignedPartitions", 0, "partitions"), partitions)

    assert encode_record(COMMIT) == encode_record(dataclasses.replace(COMMIT, value=value))
    assert encode_record(CURRENT) == encode_record(current)
    assert 1000 < len(value)
    assert [] == partitions


def test_an_error_of_user_code_propagates() -> None:
    def fail() -> None:
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        encode_record(changed(COMMIT, ("value", "offset"), Interfering(5, fail)))


def test_deep_and_large_values_are_rejected_or_encoded() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    many = list(range(300_000))

    assert_rejected(changed(GROUP, ("value", "members"), deep), TYPE,
                   "value.members[0] must be a dict, not list: <list>", "")  # fmt: skip
    written = encode_record(changed(CURRENT, ("value", "assignedPartitions", 0, "partitions"), many))
    read = decode_record(*written).value
    assert read is not None
    assert many == read["assignedPartitions"][0]["partitions"]

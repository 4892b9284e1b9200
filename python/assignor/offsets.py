"""Records of `__consumer_offsets`: what a group coordinator writes down, type by type.

A key is an int16 type and that type's key fields; a value is an int16 version and the fields of that version; a null
value is a tombstone. All types that Kafka 4.3.1 writes are known at every version. The numbers grow with every release,
so a type that is not known is not an error but a record that says so.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor._engine import choose
from assignor.errors import IllegalArgumentError, WireError
from assignor.validation import as_bytes, check_name, is_int, shown, wrong_type

if TYPE_CHECKING:
    from assignor._engine import Engine
    from assignor.columns import ArrowArray, ArrowRecordBatch
    from assignor.validation import Bytes

__all__ = ["Record", "coordinator_partition", "decode_batch", "decode_record", "encode_record"]

MOST_PARTITIONS = 2**31 - 1
"""A topic's partitions are numbered by int32."""


DECODED = "decoded"
"""The status of a record whose fields are known."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record, decoded or to be written.

    Names of fields are Kafka's; integers are `int`, byte arrays `bytes`, uuids Kafka's URL-safe base64 as `str`. A
    field that the version lacks is left out, and so is a tagged field at its default, as in Kafka's JSON.

    Attributes:
        type: The int16 at the head of the key.
        name: Kafka's name for it (`CoordinatorRecordType`), such as "GROUP_METADATA"; None for a number without one.
        key: The key's fields.
        version: The value's version; None for a tombstone.
        value: The value's fields; None for a tombstone.
        consumer_protocol: For a GROUP_METADATA value of protocol type "consumer" one dict per member: memberId,
            subscriptionVersion, subscription, assignmentVersion, assignment. A refused blob has subscriptionError or
            assignmentError; beside the former stands the tolerant reading, if there is one, with subscriptionTolerated,
            the version that its body really has. An empty blob is None and has no version.
        status: "decoded", or "unknown_type" where only type and name are known and the rest is empty.
    """

    type: int
    name: str | None
    key: dict[str, Any]
    version: int | None = None
    value: dict[str, Any] | None = None
    consumer_protocol: tuple[dict[str, Any], ...] | None = None
    status: str = DECODED

    @property
    def group(self) -> str | None:
        """The group that the record is about; None where the type is unknown."""
        return self.key.get("group", self.key.get("groupId"))


def decode_record(key: Bytes | None, value: Bytes | None, *, engine: Engine = "rust") -> Record:
    r"""Read a record.

    Args:
        key: The record's key. Null is possible in a topic, but never a coordinator's record: it is refused.
        value: The record's value; None for a tombstone.
        engine: "rust" or "reference".

    Returns:
        The record, with the fields and values of Kafka's GroupCoordinatorRecordSerde and JSON converters. Bytes after
        the last field are ignored.

    Raises:
        WireError: Key or value ends before its last field or holds an impossible length, or the value's version is not
            known. `field` begins with key or value.
        WrongTypeError: `key` or `value` is not bytes.

    Example:
        >>> record = decode_record(b"\0\1" b"\0\1g" b"\0\1t" b"\0\0\0\3", None)
        >>> record.name, record.group, record.key["partition"], record.value
        ('OFFSET_COMMIT', 'g', 3, None)
    """
    verb = choose(engine, _core.decode_record, "offsets")
    record_type, name, status, fields, version, content, protocol = verb(
        None if key is None else as_bytes(key, "key"),
        None if value is None else as_bytes(value, "value"),
    )
    members = None if protocol is None else tuple(protocol)
    return Record(record_type, name, fields, version, content, members, status)


def encode_record(record: Record, *, engine: Engine = "rust") -> tuple[bytes, bytes | None]:
    r"""Write a record.

    Args:
        record: Its type, key, version and value are written, with the values that `decode_record` gives: dicts, and
            lists or tuples. Name, status and consumer_protocol are not written, but a record whose status is not
            "decoded" is refused.

            All fields of the version must be there, but for tagged ones; None is a value of those alone that may be
            null. A field that the version lacks is checked and left out, as Kafka's writers do: all those of its
            records are ignorable. Likewise a tagged field at its default is left out. What is not in the layout of
            the type is refused.
        engine: "rust" or "reference".

    Returns:
        Key and value, byte for byte those of Kafka's GroupCoordinatorRecordSerde. The value of a tombstone (no value,
        whatever the version) is None.

    Raises:
        WireError: The layout of the type or the version is not known; a field is missing or is none of the type's; an
            integer, a text or a uuid cannot be said in its field. `field` begins with key or value.
        WrongTypeError: `record` is no Record, or something in it of another type than its field; NullArgumentError,
            which is one, for None where it is no value.

    Example:
        >>> encode_record(Record(3, "CONSUMER_GROUP_METADATA", {"groupId": "g"}, 0, {"epoch": 7, "metadataHash": 0}))
        (b'\x00\x03\x00\x01g', b'\x00\x00\x00\x00\x00\x07\x00')
        >>> encode_record(Record(3, "CONSUMER_GROUP_METADATA", {"groupId": "g"}))
        (b'\x00\x03\x00\x01g', None)
    """
    verb = choose(engine, _core.encode_record, "offsets")
    if not isinstance(record, Record):
        raise wrong_type("record", "a Record", record)
    if record.status != DECODED:
        raise WireError(f"the fields of a record are not known whose status is {shown(record.status)}", None, "key")
    return verb(record.type, record.key, record.version, record.value)


def decode_batch(keys: ArrowArray, values: ArrowArray) -> ArrowRecordBatch:
    r"""Read many records at once.

    Args:
        keys: A binary or large_binary column: anything with `__arrow_c_array__`, such as a `pyarrow.Array`.
        values: A column as long; null for tombstones.

    Returns:
        One row per record, through `__arrow_c_array__` (`pyarrow.record_batch(...)` takes it): type int32, type_name
        string, group_id string, tombstone bool, version int32, status string, key_json, value_json,
        consumer_protocol_json and error string. The JSON texts equal those of Kafka's own converters; byte arrays in
        them are base64. `status` is "decoded", "unknown_type", or "bad" for a record that `decode_record` refuses: then
        `error` says why, and type and group are there if the key could be read.

    Raises:
        WrongTypeError: A column holds something else than binary.
        IllegalArgumentError: The columns differ in length, or a text column would pass 2 GiB: hand over fewer records.

    Example:
        >>> import pyarrow
        >>> keys = pyarrow.array([b"\0\2" b"\0\1g", b"?"], pyarrow.binary())
        >>> batch = pyarrow.record_batch(decode_batch(keys, pyarrow.nulls(2, pyarrow.binary())))
        >>> batch["status"].to_pylist(), batch["group_id"].to_pylist()
        (['decoded', 'bad'], ['g', None])
    """
    return _core.decode_batch(keys, values)


def coordinator_partition(group: str, partitions: int = 50, *, engine: Engine = "rust") -> int:
    """Say which partition of `__consumer_offsets` holds a group; that partition's leader is the group's coordinator.

    Args:
        group: The group id.
        partitions: How many partitions the topic has (`offsets.topic.num.partitions`).
        engine: "rust" or "reference".

    Returns:
        The absolute value of Java's `String.hashCode`, modulo `partitions` (`GroupCoordinatorService.partitionFor`).

    Raises:
        WrongTypeError: `group` is not a str, or `partitions` not an int; NullArgumentError, which is one, for None.
        IllegalArgumentError: `partitions` is not positive or not an int32.

    Example:
        >>> coordinator_partition("order-processor")
        23
    """
    check_name(group, "group")
    if not is_int(partitions):
        raise wrong_type("partitions", "an int", partitions)
    count = operator.index(partitions)
    if not 1 <= count <= MOST_PARTITIONS:
        raise IllegalArgumentError(f"partitions must be between 1 and {MOST_PARTITIONS}, not {count}")
    return choose(engine, _core.coordinator_partition, "offsets")(group, count)

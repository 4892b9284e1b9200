"""Decoder and encoder of the records that group coordinators write to `__consumer_offsets`.

A key has an int16 type and the key fields of that type. A value has an int16 version and the fields of that version; a
null value is a tombstone. All versions of all types that Kafka 4.3.1 writes are supported. Newer releases add types, so
an unknown type is not an error: its record has the status `unknown_type`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.errors import IllegalArgumentError, WireError
from assignor.validation import as_bytes, check_name, read_index, shown, wrong_type

if TYPE_CHECKING:
    from assignor.columns import ArrowArray, ArrowRecordBatch
    from assignor.validation import Bytes

__all__ = ["Record", "coordinator_partition", "decode_batch", "decode_record", "encode_record"]

MOST_PARTITIONS = 2**31 - 1
"""Largest number of partitions of a topic: the largest int32."""


DECODED = "decoded"
"""Status of a record whose fields are known."""


@dataclass(frozen=True, slots=True)
class Record:
    """Record of `__consumer_offsets`: the result of `decode_record` and the input of `encode_record`.

    Fields have Kafka's names. Integers are `int`, byte arrays are `bytes`, and uuids are `str` in Kafka's URL-safe
    base64. As in Kafka's JSON, fields that the version lacks and tagged fields at their default are left out.

    Attributes:
        type: The int16 at the start of the key.
        name: Kafka's name of the type (`CoordinatorRecordType`), such as "GROUP_METADATA"; None if it has no name.
        key: The fields of the key.
        version: The version of the value; None for a tombstone.
        value: The fields of the value; None for a tombstone.
        consumer_protocol: One dict per member, if the value is a GROUP_METADATA value of protocol type "consumer".
            The keys are memberId, subscriptionVersion, subscription, assignmentVersion and assignment. If a blob
            cannot be decoded, subscriptionError or assignmentError has the error. If only the tolerant reader
            (`decode_subscription`) can decode a subscription, the dict has both subscriptionError and the result of
            that reader, and subscriptionTolerated has the version of the body. An empty blob becomes None, without
            a version.
        status: "decoded", or "unknown_type" if only type and name are known; the other fields are then empty.
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
        """Group id in the key; None if the type is unknown."""
        return self.key.get("group", self.key.get("groupId"))


def decode_record(key: Bytes | None, value: Bytes | None) -> Record:
    r"""Decode a record.

    Args:
        key: The record's key. None is an error, because a coordinator never writes a null key.
        value: The record's value; None for a tombstone.

    Returns:
        The record, with the fields and values of Kafka's GroupCoordinatorRecordSerde and JSON converters. Bytes after
        the last field are ignored.

    Raises:
        WireError: The key is None, the key or the value is truncated or has an invalid length, or the version of the
            value is not known. `field` begins with key or value.
        WrongTypeError: `key` or `value` is not bytes.

    Example:
        >>> record = decode_record(b"\0\1" b"\0\1g" b"\0\1t" b"\0\0\0\3", None)
        >>> record.name, record.group, record.key["partition"], record.value
        ('OFFSET_COMMIT', 'g', 3, None)
    """
    record_type, name, status, fields, version, content, protocol = _core.decode_record(
        None if key is None else as_bytes(key, "key"),
        None if value is None else as_bytes(value, "value"),
    )
    members = None if protocol is None else tuple(protocol)
    return Record(record_type, name, fields, version, content, members, status)


def encode_record(record: Record) -> tuple[bytes, bytes | None]:
    r"""Encode a record.

    Args:
        record: The record to encode. Its type, key, version and value are encoded; they have the form that
            `decode_record` returns, and lists may also be tuples. Name and consumer_protocol are ignored. The status
            must be "decoded".

            All untagged fields of the version are required, and fields that the type does not have are an error. None
            is allowed for nullable fields only. As in Kafka's writers, fields that the version lacks and tagged
            fields at their default are left out, but their values are checked.

    Returns:
        Key and value, with the same bytes as Kafka's GroupCoordinatorRecordSerde. The value of a tombstone (a record
        whose value is None) is None.

    Raises:
        WireError: The layout of the type or the version is not known, a field is missing or unknown, or a value is out
            of range for its field. `field` begins with key or value.
        WrongTypeError: `record` is not a Record, or a value has the wrong type for its field. None raises its subclass
            NullArgumentError.

    Example:
        >>> encode_record(Record(3, "CONSUMER_GROUP_METADATA", {"groupId": "g"}, 0, {"epoch": 7, "metadataHash": 0}))
        (b'\x00\x03\x00\x01g', b'\x00\x00\x00\x00\x00\x07\x00')
        >>> encode_record(Record(3, "CONSUMER_GROUP_METADATA", {"groupId": "g"}))
        (b'\x00\x03\x00\x01g', None)
    """
    if not isinstance(record, Record):
        raise wrong_type("record", "a Record", record)
    if not isinstance(record.status, str) or record.status != DECODED:
        raise WireError(f"cannot encode a record with status {shown(record.status)}", None, "key")
    return _core.encode_record(record.type, record.key, record.version, record.value)


def decode_batch(keys: ArrowArray, values: ArrowArray) -> ArrowRecordBatch:
    r"""Decode a batch of records.

    Args:
        keys: A binary or large_binary column: anything with `__arrow_c_array__`, such as a `pyarrow.Array`.
        values: A column of the same length; null for tombstones.

    Returns:
        One row per record, through `__arrow_c_array__` (for `pyarrow.record_batch(...)`). The columns are type (int32),
        type_name, group_id (string), tombstone (bool), version (int32), status, key_json, value_json,
        consumer_protocol_json and error (string). The JSON texts equal those of Kafka's own converters; byte arrays are
        base64. `status` is "decoded", "unknown_type", or "bad" if the record cannot be decoded. A bad record has the
        reason in `error`, and its type and group id if its key could be decoded.

    Raises:
        WrongTypeError: A column is not binary.
        IllegalArgumentError: The columns differ in length, or a text column would exceed 2 GiB. In the second case,
            pass fewer records.

    Example:
        >>> import pyarrow
        >>> keys = pyarrow.array([b"\0\2" b"\0\1g", b"?"], pyarrow.binary())
        >>> batch = pyarrow.record_batch(decode_batch(keys, pyarrow.nulls(2, pyarrow.binary())))
        >>> batch["status"].to_pylist(), batch["group_id"].to_pylist()
        (['decoded', 'bad'], ['g', None])
    """
    return _core.decode_batch(keys, values)


def coordinator_partition(group: str, partitions: int = 50) -> int:
    """Return the partition of `__consumer_offsets` for a group; the partition's leader is the group's coordinator.

    Args:
        group: The group id.
        partitions: The number of partitions of the topic (`offsets.topic.num.partitions`).

    Returns:
        The absolute value of Java's `String.hashCode`, modulo `partitions` (`GroupCoordinatorService.partitionFor`).

    Raises:
        WrongTypeError: `group` is not a str, or `partitions` is not an int. None raises its subclass NullArgumentError.
        IllegalArgumentError: `partitions` is not positive or not an int32.

    Example:
        >>> coordinator_partition("order-processor")
        23
    """
    check_name(group, "group")
    count = read_index(partitions, "partitions")
    if not 1 <= count <= MOST_PARTITIONS:
        raise IllegalArgumentError(f"partitions must be between 1 and {MOST_PARTITIONS}, not {shown(count)}")
    return _core.coordinator_partition(group, count)

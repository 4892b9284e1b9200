"""Key and payload of a record in the text of `kafka-dump-log.sh --offsets-decoder`, as the bytes of the record.

Kafka has printed three forms. In the examples, key and payload are separated by an arrow.

3.8 and newer   {"type":"1","data":{...}} -> {"version":"3","data":{...}}: Kafka's JSON of all fields
2.4 to 3.7      offset_commit::group=G,partition=T-0 -> offset=5,metadata=M
                group_metadata::group=G -> {"protocolType":"consumer",...,"assignment":"{MEMBER=[T-0, T-1]}"}
2.3 and older   offset::G:T:0 -> 5:M
                {"metadata":"G"} (0.11: metadata::G) -> as above (0.11: consumer:range:7:{MEMBER=[T-0, T-1]})

The older forms have only some of the fields. Their records get the oldest version of the value that has all known
fields, so that no field is invented that could be left out.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any, NamedTuple

from assignor.errors import AssignorError, WireError
from assignor.model import Subscription, TopicPartition
from assignor.offsets import Record, encode_record
from assignor.wire import encode_assignment, encode_subscription

OFFSET_COMMIT, GROUP_METADATA, MEMBER_METADATA = 1, 2, 5
_OFFSET_VERSION = 2
"""Version of OffsetCommitValue without the leader epoch and the expiry, which the older forms do not print."""

_GROUP_VERSION = 0
"""Version of GroupMetadataValue without instance id, rebalance timeout and time of the state."""

_DELETED = "<DELETE>"
_PAYLOAD = " payload: "
_COMMIT_KEYS = (
    re.compile(r"offset_commit::group=(?P<group>.*?),partition=(?P<topic>[\w.-]+)-(?P<partition>\d+)(?: payload: |$)"),
    re.compile(r"offset::(?P<group>.*?):(?P<topic>[\w.-]+):(?P<partition>\d+)(?: payload: |$)"),
)
_COMMIT_VALUES = (
    re.compile(r"offset=(-?\d+)(?:,metadata=(.*))?", re.DOTALL),
    re.compile(r"(-?\d+)(?::(.*))?", re.DOTALL),
)
_GROUP_KEY = re.compile(r"(?:group_metadata::group=|metadata::)(.*?)(?: payload: |$)")
_GROUP_VALUE = re.compile(r"([^:]*):(?:Some\((.*?)\)|(.*?)):(-?\d+):(\{.*\})")
_CONSUMERS = re.compile(r"(.*?)=\[([^\[\]]*)\](?::([0-9A-F]*))?(?:,|$)")
_OTHER_MEMBERS = re.compile(r"(.*?)=[0-9A-F]*(?:,|$)")
_SKIPPED = re.compile(r"unknown::version=(-?\d+)|Unknown record type (-?\d+) at offset -?\d+, skipping")
_ERROR = re.compile(r"Error at (?:offset )?-?\d+, skipping\. (.*)")
_UNKNOWN_FIELD = re.compile(r"unknown field '(\w+)'")
_STEPS = re.compile(r"\.(\w+)|\[\d+\]")
_MOST_DROPPED = 20
"""Highest number of unknown fields of one record; a newer Kafka adds only a few."""

_JSON = json.JSONDecoder()


class ContentError(Exception):
    """Text that is not a record in a form of the decoder; the message says why."""


class SkippedTypeError(Exception):
    """Record of a type that the decoder does not know; the argument is the type."""


class Content(NamedTuple):
    """Bytes of a record, and what the text leaves out.

    Attributes:
        group: The group in the key; None if the type of the record has none.
        key: The key.
        value: The value; None for a tombstone.
        is_full: False if the text has only some of the fields of the value.
        dropped: Names of fields that this package does not know.
    """

    group: str | None
    key: bytes
    value: bytes | None
    is_full: bool = True
    dropped: tuple[str, ...] = ()


def read_content(text: str, timestamp: int) -> Content:
    r"""Return the record in a text that begins after `key: `.

    Args:
        text: The text of key and payload.
        timestamp: Time of the record, which becomes the commit time if the text has none.

    Raises:
        SkippedTypeError: The decoder did not know the type.
        ContentError: The text is in none of the forms, is cut off, or has values that no record can have.

    Example:
        >>> content = read_content("offset_commit::group=g,partition=orders-3 payload: <DELETE>", 0)
        >>> content.group, content.key, content.value
        ('g', b'\x00\x01\x00\x01g\x00\x06orders\x00\x00\x00\x03', None)
    """
    if skipped := _SKIPPED.match(text):
        raise SkippedTypeError(int(skipped[1] or skipped[2]))
    if failed := _ERROR.match(text):
        raise ContentError(f"the decoder printed an error: {failed[1]}")
    try:
        if text.startswith("{"):
            return _of_json(text)
        for key, value in zip(_COMMIT_KEYS, _COMMIT_VALUES, strict=True):
            if found := key.match(text):
                return _commit(found, _payload(text, found.end()), value, timestamp)
        if found := _GROUP_KEY.match(text):
            return _group(found[1], _payload(text, found.end()))
    except KeyError as error:
        raise ContentError(f"it has no field {error}") from error
    except (AssignorError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ContentError(str(error) or type(error).__name__) from error
    raise ContentError("it has no key in a form that --offsets-decoder prints")


def _payload(text: str, start: int) -> str:
    if start >= len(text) and not text.endswith(_PAYLOAD):
        raise ContentError("it has a key, but no payload")
    return text[start:]


def _of_json(text: str) -> Content:
    """Return the record of a key in JSON."""
    key, end = _JSON.raw_decode(text)
    if not text.startswith(_PAYLOAD, end):
        raise ContentError("it has a key, but no payload")
    payload = text[end + len(_PAYLOAD) :]
    if set(key) == {"metadata"}:
        return _group(key["metadata"], payload)
    fields = key["data"]
    if payload == _DELETED:
        return _encoded(int(key["type"]), fields, None, None)
    value = json.loads(payload)
    content = _with_bytes(int(key["type"]), value["data"])
    return _encoded(int(key["type"]), fields, int(value["version"]), content)


def _encoded(
    number: int, key: dict[str, Any], version: int | None, value: dict[str, Any] | None, *, is_full: bool = True
) -> Content:
    """Encode a record; fields that a newer Kafka has added are left out."""
    dropped: list[str] = []
    while True:
        record = Record(number, None, key, version, value)
        try:
            encoded, data = encode_record(record)
        except WireError as error:
            unknown = _UNKNOWN_FIELD.match(error.reason)
            if unknown is None or value is None or not (error.field or "").startswith("value"):
                raise
            if len(dropped) == _MOST_DROPPED:
                raise
            _drop(value, error.field or "", unknown[1])
            dropped.append(unknown[1])
        else:
            return Content(record.group, encoded, data, is_full, tuple(dropped))


def _drop(value: dict[str, Any], path: str, name: str) -> None:
    """Remove a field from the place of a path such as `value.members[0]`, and from its siblings in a list."""
    places: list[Any] = [value]
    for step in _STEPS.finditer(path):
        found = [place[step[1]] for place in places] if step[1] else [each for place in places for each in place]
        places = [place for place in found if place is not None]
    for place in places:
        place.pop(name, None)


def _with_bytes(number: int, value: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a value with byte arrays in place of their JSON."""
    if number == GROUP_METADATA:
        members = [
            {
                **member,
                "subscription": _subscription(member["subscription"]),
                "assignment": _assignment(member["assignment"]),
            }
            for member in value["members"]
        ]
        return {**value, "members": members}
    if number == MEMBER_METADATA and (classic := value.get("classicMemberMetadata")) is not None:
        protocols = [{**each, "metadata": _bytes(each["metadata"])} for each in classic["supportedProtocols"]]
        return {**value, "classicMemberMetadata": {**classic, "supportedProtocols": protocols}}
    return value


def _bytes(text: str | None) -> bytes | None:
    try:
        return None if text is None else base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ContentError(f"a byte array is not base64: {error}") from error


def _subscription(given: Any) -> bytes | None:
    """Return the bytes of a subscription that the decoder printed as JSON; its fields show its version."""
    if not isinstance(given, dict):
        return _bytes(given)
    version = 3 if "rackId" in given else 2 if "generationId" in given else 1 if "ownedPartitions" in given else 0
    subscription = Subscription(
        given["topics"],
        rack=given.get("rackId"),
        owned_partitions=_pairs(given.get("ownedPartitions") or ()),
        generation=given.get("generationId"),
        user_data=_bytes(given.get("userData")),
    )
    return encode_subscription(subscription, version)


def _assignment(given: Any) -> bytes | None:
    if not isinstance(given, dict):
        return _bytes(given)
    return encode_assignment(_pairs(given["assignedPartitions"]), 0, user_data=_bytes(given.get("userData")))


def _pairs(entries: Any) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(entry["topic"], partition) for entry in entries for partition in entry["partitions"])


def _commit(key: re.Match[str], payload: str, form: re.Pattern[str], timestamp: int) -> Content:
    fields = {"group": key["group"], "topic": key["topic"], "partition": int(key["partition"])}
    if payload == _DELETED:
        return _encoded(OFFSET_COMMIT, fields, None, None)
    value = form.fullmatch(payload)
    if value is None:
        raise ContentError("its payload is no committed offset")
    committed = {"offset": int(value[1]), "metadata": value[2] or "", "commitTimestamp": timestamp}
    return _encoded(OFFSET_COMMIT, fields, _OFFSET_VERSION, committed, is_full=False)


def _group(group: str, payload: str) -> Content:
    """Return the record of a classic group from one of the older forms."""
    if payload == _DELETED:
        return _encoded(GROUP_METADATA, {"group": group}, None, None)
    if payload.startswith("{"):
        found = json.loads(payload)
        kind, protocol = found["protocolType"], found["protocol"]
        generation, members = found["generationId"], found["assignment"]
    elif payload.endswith("}") and (parts := _GROUP_VALUE.fullmatch(payload)):
        kind, generation, members = parts[1], int(parts[4]), parts[5]
        protocol = parts[2] or (None if parts[3] in ("null", "None") else parts[3])
    else:
        raise ContentError("its payload is no group")
    value = {
        "protocolType": kind,
        "generation": generation,
        "protocol": protocol,
        "leader": None,
        "members": [_member(name, assigned) for name, assigned in _members(members, is_consumer=kind == "consumer")],
    }
    return _encoded(GROUP_METADATA, {"group": group}, _GROUP_VERSION, value, is_full=False)


def _members(text: str, *, is_consumer: bool) -> list[tuple[str, bytes]]:
    """Return the members in a text such as `{a=[orders-0],b=[]}`, and the bytes of their assignments."""
    if not (text.startswith("{") and text.endswith("}")):
        raise ContentError("its members are not in braces")
    inner, found, place = text[1:-1], [], 0
    while place < len(inner):
        member = (_CONSUMERS if is_consumer else _OTHER_MEMBERS).match(inner, place)
        if member is None or member.end() == place:
            raise ContentError(f"its members cannot be read from column {place + 2} on")
        place = member.end()
        if is_consumer:
            partitions = [each.rpartition("-") for each in member[2].split(", ") if each]
            pairs = [(topic, int(number)) for topic, _, number in partitions]
            found.append((member[1], encode_assignment(pairs, 0, user_data=_hex(member[3]))))
        else:
            found.append((member[1], b""))
    return found


def _hex(text: str | None) -> bytes | None:
    """Return bytes from hexadecimal digits, which lack zeros at the front."""
    return None if not text else bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}")


def _member(member_id: str, assignment: bytes) -> dict[str, Any]:
    """Return a member whose other fields are not in the text."""
    return {
        "memberId": member_id,
        "clientId": "",
        "clientHost": "",
        "sessionTimeout": 0,
        "subscription": b"",
        "assignment": assignment,
    }

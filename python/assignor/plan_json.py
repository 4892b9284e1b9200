"""JSON format of a plan.

A plan is an object with these keys:

* `topics`: topic names in Java's order.
* `subscriptions`: distinct subscriptions, each a list of names in Java's order. A name need not be a topic of the plan.
* `members`: one object per member with `member_id` and `subscription` (an index), and with `group_instance_id` if the
  member is static. `user_data`, `owned_partitions` and `rack` are the sizes in bytes of these parts of the encoded
  subscription; a size of 0 is left out.
* `spans`: an object with the four columns of `Plan.spans`.
* `assignor`, left out if it is `"range"`, and `group_protocol`, left out if it is `"classic"`.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

from assignor.errors import IllegalArgumentError
from assignor.ordering import java_order
from assignor.validation import check_name, shown, wrong_type

Parts = tuple[list[str], list[list[str]], list[tuple[str, int, str | None, int, int, int]], list[list[int]]]
"""Parts of a plan: topics, subscriptions, members, spans. The fields of a member are in the order of `FIELDS`."""

FIELDS = ("member_id", "subscription", "group_instance_id", "user_data", "owned_partitions", "rack")
DEFAULT = ("range", "classic")
"""Default assignor and group protocol."""

COLUMNS = ("member", "topic", "start", "count")
LARGEST = 2**31 - 1


def dumps(parts: Parts, assignor: str, group_protocol: str) -> str:
    """Return a plan as JSON text."""
    topics, subscriptions, members, spans = parts
    known = zip(("assignor", "group_protocol"), (assignor, group_protocol), DEFAULT, strict=True)
    return json.dumps(
        {
            **{name: value for name, value, default in known if value != default},
            "topics": topics,
            "subscriptions": subscriptions,
            "members": [_member(fields) for fields in members],
            "spans": dict(zip(COLUMNS, spans, strict=True)),
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )


def _member(fields: tuple[Any, ...]) -> dict[str, Any]:
    """Return the fields of a member that differ from their defaults."""
    known = zip(FIELDS, fields, (..., ..., None, 0, 0, 0), strict=True)
    return {name: value for name, value, default in known if value != default}


def loads(text: str | bytes) -> tuple[Parts, str, str]:
    """Parse a plan from JSON text; return its parts, assignor and group protocol.

    Types and ranges of numbers are checked here. Indices and the names of assignor and group protocol are not.

    Raises:
        WrongTypeError: `text` is neither `str` nor bytes.
        IllegalArgumentError: The text is not JSON, or not a plan.
    """
    if not isinstance(text, (str, bytes, bytearray)):
        raise wrong_type("text", "str or bytes", text)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise IllegalArgumentError(f"invalid JSON: {error}") from None
    plan = _object(found, "the plan")
    members = []
    for number, entry in enumerate(_list(plan.get("members"), "members")):
        where = f"members[{number}]"
        fields = _object(entry, where)
        instance_id = fields.get("group_instance_id")
        members.append(
            (
                _name(fields.get("member_id"), f"{where}.member_id"),
                _number(fields.get("subscription"), f"{where}.subscription"),
                None if instance_id is None else _name(instance_id, f"{where}.group_instance_id"),
                _number(fields.get("user_data", 0), f"{where}.user_data"),
                _number(fields.get("owned_partitions", 0), f"{where}.owned_partitions"),
                _number(fields.get("rack", 0), f"{where}.rack"),
            )
        )
    parts = (
        _topics(plan.get("topics")),
        [
            _names(names, f"subscriptions[{number}]")
            for number, names in enumerate(_list(plan.get("subscriptions"), "subscriptions"))
        ],
        members,
        _columns(plan.get("spans")),
    )
    assignor, group_protocol = (
        _name(plan.get(name, default), name)
        for name, default in zip(("assignor", "group_protocol"), DEFAULT, strict=True)
    )
    return parts, assignor, group_protocol


def _topics(value: object) -> list[str]:
    topics = _names(value, "topics")
    for number, (before, topic) in enumerate(itertools.pairwise(topics)):
        if java_order(before) >= java_order(topic):
            where = f"topics[{number + 1}]"
            raise IllegalArgumentError(f"{where} = {shown(topic)}: must come after {shown(before)} in Java's order")
    return topics


def _columns(value: object) -> list[list[int]]:
    spans = _object(value, "spans")
    columns = []
    for column in COLUMNS:
        where = f"spans.{column}"
        columns.append([_number(entry, f"{where}[{row}]") for row, entry in enumerate(_list(spans.get(column), where))])
        rows, found = len(columns[0]), len(columns[-1])
        if found != rows:
            raise IllegalArgumentError(f"{where} must have {rows} entries, as spans.{COLUMNS[0]} has, not {found}")
    return columns


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise IllegalArgumentError(f"{where} must be an object, not {shown(value)}")
    return value


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise IllegalArgumentError(f"{where} must be an array, not {shown(value)}")
    return value


def _names(value: object, where: str) -> list[str]:
    return [_name(name, f"{where}[{number}]") for number, name in enumerate(_list(value, where))]


def _name(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise IllegalArgumentError(f"{where} must be a string, not {shown(value)}")
    return check_name(value, where)


def _number(value: object, where: str) -> int:
    if type(value) is not int or not 0 <= value <= LARGEST:
        raise IllegalArgumentError(f"{where} must be an integer from 0 to {LARGEST}, not {shown(value)}")
    return value

"""Input of the commands: files or standard input with JSON, and the group that it describes.

A group is an object with `partitions_per_topic` and `subscriptions`, as the arguments of `assignor.assign`, and the
optional keys `assignor`, `group_protocol`, `topic_ids` and `prefer_rack_aware`. The keys `assignment`, which `check`
reads, `scenarios`, which `what-if` reads, and `weights`, which `plan`, `what-if`, `scale` and `migrate` read, are
allowed for all commands, so that one file serves all of them.

A description of a group is such an input, too: the text of `kafka-consumer-groups.sh --describe`, or the JSON of
`assignor describe` (`assignor.sources.group_text`). `scale` also reads a group of a recording.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import errno
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from assignor import PartitionInfo, Subscription, TopicPartition
from assignor.cli.selection import utf8_name
from assignor.errors import AssignorError, IllegalArgumentError
from assignor.names import GroupProtocol
from assignor.terminal import notice
from assignor.validation import shown

STDIN = "-"

_REQUIRED = ("partitions_per_topic", "subscriptions")
_OTHERS = ("assignment", "scenarios", "weights")
_SETTINGS = ("assignor", "group_protocol", "topic_ids", "prefer_rack_aware")
_FIELDS = ("topics", "group_instance_id", "rack", "owned_partitions", "generation", "user_data", "pattern", "dialect")
_PARTITION_FIELDS = {"partition", "racks"}

INPUT_HELP = (
    'JSON file, or - for standard input: {"partitions_per_topic": {"orders": 6}, "subscriptions": {"a": ["orders"]}}; '
    "docs/command-line.md lists all keys. Also the output of `assignor describe --json`, or of "
    "kafka-consumer-groups.sh --describe"
)


@dataclass(frozen=True, slots=True)
class GroupInput:
    """Group that a command reads.

    Attributes:
        place: Name of the file for messages.
        partitions_per_topic: As for `assignor.assign`.
        subscriptions: As for `assignor.assign`.
        settings: Further arguments of `assignor.assign`.
        others: Values of the keys that only one command reads.
        name: Name of the group; `""` if the input has none.
        is_settled: False for a description of a group in a rebalance, in which partitions can have no owner for a
            moment.
    """

    place: str
    partitions_per_topic: dict[str, Any]
    subscriptions: dict[str, Any]
    settings: dict[str, Any]
    others: dict[str, Any] = field(default_factory=dict)
    is_settled: bool = True
    name: str = ""


def add_group_input(command: argparse.ArgumentParser) -> None:
    """Add the argument INPUT and the options of the assignor."""
    command.add_argument("input", metavar="INPUT", help=INPUT_HELP)
    command.add_argument("--assignor", metavar="NAME", help="Kafka's name of the assignor, such as cooperative-sticky")
    add_group_protocol(command)
    add_described_group(command)


def add_group_protocol(command: argparse.ArgumentParser) -> None:
    """Add the option `--group-protocol`."""
    command.add_argument(
        "--group-protocol",
        choices=get_args(GroupProtocol),
        help="protocol of the group; consumer is KIP-848, share is KIP-932",
    )


def add_described_group(command: argparse.ArgumentParser) -> None:
    """Add the option `--group` of an input that can be a description of several groups."""
    command.add_argument(
        "--group",
        type=utf8_name,
        metavar="PATTERN",
        help="the group to read, by name or by a pattern that matches one group, if the input describes several groups",
    )


def read_group(options: argparse.Namespace) -> GroupInput:
    """Read the group of a command; the options of `add_group_input` override keys of the input.

    Raises:
        IllegalArgumentError: The file cannot be read, or is neither JSON of a group nor a description of one; the
            message names the place.
    """
    data, place = read_group_data(options.input, options.group), place_of(options.input)
    if options.group is not None and not isinstance(data, GroupInput):
        raise IllegalArgumentError(f"{place} is one group without a name; remove --group")
    found = group_of(data, place)
    given = {name: getattr(options, name) for name in ("assignor", "group_protocol")}
    found.settings.update({name: value for name, value in given.items() if value is not None})
    return found


def read_group_data(path: str, name: str | None) -> Any:
    """Read a JSON file, or the description of a group as a `GroupInput`; `-` is standard input.

    Args:
        path: The file.
        name: The group to choose from a description of several groups; None for a description of one.

    Raises:
        IllegalArgumentError: The file cannot be read, is neither JSON nor a description, or has no such group.
    """
    from assignor.sources import group_text

    text, place = read_text(path), place_of(path)
    if not text.lstrip().startswith("{") and group_text.is_group_text(text):
        described = group_text.read_group_text(text, place)
    else:
        data = parse_json(text, place)
        if not group_text.is_description(data):
            return data
        described = group_text.read_description(data, place)
    group = group_text.choose_group(described, name, place)
    group.check(place)
    notice(f"{place} describes {f'group {shown(group.name)}' if group.name else 'a group'}: {'; '.join(group.notes())}")
    settings = {"assignor": group.assignor, "group_protocol": group.protocol}
    assignment = {member: [list(each) for each in owned] for member, owned in group.assignment().items()}
    return GroupInput(
        place,
        dict(group.counts),
        dict(group.subscriptions()),
        {key: value for key, value in settings.items() if value is not None},
        {"assignment": assignment},
        group.is_settled,
        group.name,
    )


def group_of(data: Any, place: str) -> GroupInput:
    """Return the group that a JSON object or a description of a group describes."""
    if isinstance(data, GroupInput):
        return data
    if not isinstance(data, dict):
        raise IllegalArgumentError(f"{place}: the input must be an object with {' and '.join(_REQUIRED)}")
    allowed = (*_REQUIRED, *_SETTINGS, *_OTHERS)
    for name in _REQUIRED:
        if name not in data:
            raise IllegalArgumentError(f"{place} has no {name}; the input needs {' and '.join(_REQUIRED)}")
        _object(data[name], f"{place}: {name}")
    for name in data:
        if name not in allowed:
            raise IllegalArgumentError(f"{place}: unknown key {shown(name)}; allowed are {', '.join(allowed)}")
    return GroupInput(
        place,
        {
            topic: _partitions(given, f"{place}: topic {topic!r}")
            for topic, given in data["partitions_per_topic"].items()
        },
        {name: _subscription(given, f"{place}: member {name!r}") for name, given in data["subscriptions"].items()},
        {name: data[name] for name in _SETTINGS if name in data},
        {name: data[name] for name in _OTHERS if name in data},
    )


def partitions_of(value: Any, place: str) -> list[TopicPartition]:
    """Return the partitions in a list of pairs of topic and partition id."""
    found = []
    for entry in _list(value, place):
        if not isinstance(entry, list) or len(entry) != 2:
            raise IllegalArgumentError(
                f'{place}: {shown(entry)} must be a pair of topic and partition, such as ["orders", 0]'
            )
        found.append(TopicPartition(*entry))
    return found


def read_json(path: str) -> Any:
    """Read a JSON file; `-` is standard input.

    Raises:
        IllegalArgumentError: The file cannot be read, or is not JSON; the message names line and column.
    """
    return parse_json(read_text(path), place_of(path))


def parse_json(text: str, place: str, *, of: str = "a group", is_line: bool = False) -> Any:
    """Parse a text with JSON; errors name the place.

    Args:
        text: The text.
        place: Name of the input for messages.
        of: What the JSON describes, for messages.
        is_line: True if `place` has the number of the line.

    Raises:
        IllegalArgumentError: The text is not JSON, has too many nested values, or a number with too many digits.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"column {error.colno}" if is_line else f"line {error.lineno}, column {error.colno}"
        raise IllegalArgumentError(f"{place} is not JSON: {error.msg} at {where}") from error
    except RecursionError as error:
        raise IllegalArgumentError(f"{place} is not JSON of {of}: it has too many nested values") from error
    except ValueError as error:
        most = sys.get_int_max_str_digits()
        raise IllegalArgumentError(f"{place} is not JSON of {of}: it has a number of over {most:,} digits") from error


def read_text(path: str) -> str:
    """Read a UTF-8 file; `-` is standard input."""
    try:
        data = _read_stdin() if path == STDIN else Path(path).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise IllegalArgumentError(f"{place_of(path)} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise IllegalArgumentError(f"{place_of(path)} is not UTF-8: invalid byte at position {error.start}") from error
    except ValueError as error:  # a null character in the path
        raise IllegalArgumentError(f"{path} cannot be read: {error}") from error


def _read_stdin() -> bytes:
    if sys.stdin is None:  # `assignor ... <&-`
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return sys.stdin.buffer.read()


def place_of(path: str) -> str:
    """Return the name of an input for messages."""
    return "standard input" if path == STDIN else path


def decode_base64(value: Any, place: str) -> bytes | None:
    """Return the bytes of a base64 text; None for null."""
    if value is None:
        return None
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise IllegalArgumentError(f"{place} must be a base64 string or null, not {shown(value)}") from error


def _partitions(value: Any, place: str) -> Any:
    if not isinstance(value, list):
        return value
    found: list[Any] = []
    for entry in value:
        if not isinstance(entry, dict):
            found.append(entry)
            continue
        if not {"partition"} <= set(entry) <= _PARTITION_FIELDS:
            raise IllegalArgumentError(
                f'{place}: {shown(entry)} must have the form {{"partition": 0, "racks": ["r1", null]}}'
            )
        found.append(PartitionInfo(entry["partition"], tuple(_list(entry.get("racks", []), f"{place}: racks"))))
    return found


def _subscription(value: Any, place: str) -> Any:
    if isinstance(value, list):
        return value
    given = dict(_object(value, place, "a list of topics or an object"))
    for name in given:
        if name not in _FIELDS:
            raise IllegalArgumentError(f"{place}: unknown key {shown(name)}; allowed are {', '.join(_FIELDS)}")
    if "owned_partitions" in given:
        given["owned_partitions"] = partitions_of(given["owned_partitions"], f"{place}: owned_partitions")
    if "user_data" in given:
        given["user_data"] = decode_base64(given["user_data"], f"{place}: user_data")
    try:
        return Subscription(**given)
    except AssignorError as error:
        raise IllegalArgumentError(f"{place}: {str(error).removeprefix('Subscription: ')}") from error


def _object(value: Any, place: str, wanted: str = "an object") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise IllegalArgumentError(f"{place} must be {wanted}, not {shown(value)}")
    return value


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise IllegalArgumentError(f"{place} must be a list, not {shown(value)}")
    return value

"""Recordings of members with a real broker: the format of `tests/vectors/member_exchanges.jsonl.gz`.

The file is gzip, one scenario per line, each a JSON object:

* `scenario`: its name; `group`: the group's id; `assignor`: "range" or "uniform", the assignor of the group. "uniform"
  depends on the order of Java's hash maps, so another coordinator may assign other partitions.
* `settings`: the broker's settings of consumer groups, name to text, as in its configuration.
* `events`: the events in the order of the responses. Each has `at`, a non-decreasing time in milliseconds since the
  start of the scenario, and is of one of three kinds, by its other keys:

  * `topics`: {name: {"id": uuid, "partitions": count}} - these topics are new, have another number of partitions, or
    are deleted (0). No heartbeat was in flight during the change, and the coordinator has seen it at `at`.
  * `request`, `response`, `sent`, `client` - a heartbeat and its response. `sent` is the time of the request, `at` the
    time of the response; the coordinator handled it in between. `client` names the sender: a scenario may have two that
    use one member id. `request` has the fields of `HeartbeatRequest` and `response` those of `HeartbeatResponse`
    (assignor.member), all of them, null included. `topic_partitions` and `assignment` are {uuid: [partition, ...]},
    with topic ids and partition ids in ascending order, which the wire format does not require.
  * `described`: the coordinator's description at that time (ConsumerGroupDescribe): {"state", "epoch", "assignor",
    "members": {member id: {"epoch", "instance_id", "assigned", "target"}}}, where the last two are {topic name:
    [partition, ...]}.

All members of a scenario share one connection, on which the broker handles one request after the other. So the order of
the events is the order in which the coordinator saw them. Actions of its timers are not events: it removes a member
whose session timed out (`group.consumer.session.timeout.ms` after its last heartbeat) or that did not revoke in time
(its `rebalance_timeout_ms`), and resolves patterns again. Target assignments are computed within the heartbeat that
needs one (`group.consumer.assignment.interval.ms` is 0, and nothing is offloaded).
Uuids are text as `str(uuid.UUID)` gives it.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from uuid import UUID

    from assignor import TopicPartition
    from assignor.member import HeartbeatRequest, HeartbeatResponse
    from tests.broker.admin import DescribedGroup

FILE = "member_exchanges.jsonl.gz"


class Recording:
    """Recording of a scenario; times are in milliseconds since its start."""

    def __init__(self, scenario: str, group: str, assignor: str, settings: Mapping[str, str]) -> None:
        self.scenario = scenario
        self._head = {
            "scenario": scenario,
            "group": group,
            "assignor": assignor,
            "settings": {name: value for name, value in sorted(settings.items()) if name.startswith("group.consumer.")},
        }
        self._events: list[dict[str, Any]] = []

    def exchange(self, sent: int, at: int, client: str, request: HeartbeatRequest, response: HeartbeatResponse) -> None:
        """Record a heartbeat and its response."""
        self._events.append(
            {
                "at": at,
                "sent": sent,
                "client": client,
                "request": _fields(request),
                "response": _fields(response),
            }
        )

    def topics(self, at: int, topics: Mapping[str, tuple[UUID, int]]) -> None:
        """Record new, changed or deleted topics."""
        changed = {name: {"id": str(topic_id), "partitions": count} for name, (topic_id, count) in topics.items()}
        self._events.append({"at": at, "topics": changed})

    def described(self, at: int, group: DescribedGroup) -> None:
        """Record the coordinator's description of the group."""
        members = {
            member_id: {
                "epoch": member.epoch,
                "instance_id": member.instance_id,
                "assigned": _by_topic(member.assigned),
                "target": _by_topic(member.target),
            }
            for member_id, member in sorted(group.members.items())
        }
        account = {"state": group.state, "epoch": group.epoch, "assignor": group.assignor, "members": members}
        self._events.append({"at": at, "described": account})

    def drop_since(self, at: int) -> None:
        """Forget the events at this time and later."""
        self._events = [event for event in self._events if event["at"] < at]

    def line(self) -> str:
        """Return the scenario as JSON."""
        return json.dumps({**self._head, "events": self._events}, separators=(",", ":"))


def wanted() -> bool:
    """Return True if this run writes its scenarios; it replaces the file, so run all tests (`-m broker`)."""
    return bool(os.environ.get("ASSIGNOR_RECORD"))


def write(path: Path, recordings: Iterable[Recording]) -> None:
    """Write scenarios, sorted by name; the same scenarios give the same bytes."""
    lines = "".join(f"{each.line()}\n" for each in sorted(recordings, key=lambda each: each.scenario))
    path.write_bytes(gzip.compress(lines.encode(), mtime=0))


def read(path: Path) -> list[dict[str, Any]]:
    """Read scenarios."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def _fields(message: HeartbeatRequest | HeartbeatResponse) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in dataclasses.fields(message):
        value = getattr(message, field.name)
        found[field.name] = _by_id(value) if field.name in ("topic_partitions", "assignment") else value
    return found


def _by_id(partitions: Mapping[UUID, tuple[int, ...]] | None) -> dict[str, list[int]] | None:
    if partitions is None:
        return None
    return dict(sorted((str(topic_id), sorted(ids)) for topic_id, ids in partitions.items()))


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        found.setdefault(topic, []).append(partition)
    return found

"""Replay of recorded requests to a real broker through the model of its coordinator.

`tests/broker/recording.py` describes the format of a recording.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from assignor.member.messages import HeartbeatRequest
from tests.member.simulation.coordinator import ModelCoordinator
from tests.member.simulation.coordinator_settings import CoordinatorSettings
from tests.member.simulation.targets import Topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assignor.member.messages import HeartbeatResponse
    from tests.member.simulation.group_member import Partitions

__all__ = ["Difference", "differences"]

Story = dict[str, Any]


class Difference(NamedTuple):
    """A difference between the broker's answer and the model's."""

    scenario: str
    event: int
    broker: object
    model: object


def differences(scenario: Story) -> list[Difference]:
    """Return all differences between the answers and descriptions of broker and model, without error messages.

    A recording does not show how long the broker took to resolve patterns. The model resolves them before the next
    heartbeat. If the answer to this heartbeat depends on them, the broker must have resolved them too.
    """
    settings = scenario["settings"]
    coordinator = ModelCoordinator(
        CoordinatorSettings(
            heartbeat_interval_ms=int(settings["group.consumer.heartbeat.interval.ms"]),
            session_timeout_ms=int(settings["group.consumer.session.timeout.ms"]),
            max_size=int(settings.get("group.consumer.max.size", 2**31 - 1)),
            assignment_interval_ms=int(settings["group.consumer.assignment.interval.ms"]),
            regex_refresh_interval_ms=int(settings["group.consumer.regex.refresh.interval.ms"]),
            regex_resolution_ms=0,
        )
    )
    found = []
    for index, event in enumerate(scenario["events"]):
        broker, model = _both(coordinator, scenario["group"], event)
        if broker != model:
            found.append(Difference(scenario["scenario"], index, broker, model))
    return found


def _both(coordinator: ModelCoordinator, group: str, event: Mapping[str, Any]) -> tuple[object, object]:
    """Return the broker's and the model's answer to an event."""
    if "topics" in event:
        topics = dict(coordinator.topics)
        for name, topic in event["topics"].items():
            topics.pop(name, None)
            if topic["partitions"]:
                topics[name] = Topic(UUID(topic["id"]), topic["partitions"])
        coordinator.change_topics(topics)
        return None, None
    if "described" in event:
        coordinator.expire(event["at"])
        return event["described"], _described(coordinator, group)
    return _expected(event["response"]), _answered(coordinator.heartbeat(_request(event["request"]), event["at"]))


def _request(given: Mapping[str, Any]) -> HeartbeatRequest:
    names, owned = given["subscribed_topic_names"], given["topic_partitions"]
    return HeartbeatRequest(
        **{
            **given,
            "subscribed_topic_names": None if names is None else tuple(names),
            "topic_partitions": None if owned is None else {UUID(id): tuple(each) for id, each in owned.items()},
        }
    )


def _expected(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return the compared part of the broker's answer."""
    return {name: value for name, value in response.items() if name != "error_message"}


def _answered(response: HeartbeatResponse) -> dict[str, Any]:
    assignment = response.assignment
    return {
        "error_code": int(response.error_code),
        "member_id": response.member_id,
        "member_epoch": response.member_epoch,
        "heartbeat_interval_ms": response.heartbeat_interval_ms,
        "assignment": None if assignment is None else {str(id): list(each) for id, each in sorted(assignment.items())},
    }


def _described(coordinator: ModelCoordinator, group: str) -> dict[str, Any] | None:
    described = coordinator.describe(group)
    if described is None:
        return None
    names = {topic.id: name for name, topic in coordinator.topics.items()}
    return {
        "state": described.state,
        "epoch": described.epoch,
        "assignor": described.assignor,
        "members": {
            member_id: {
                "epoch": member.epoch,
                "instance_id": member.instance_id,
                "assigned": _by_name(member.held, names),
                "target": _by_name(described.targets[member_id], names),
            }
            for member_id, member in described.members.items()
        },
    }


def _by_name(partitions: Partitions, names: Mapping[UUID, str]) -> dict[str, list[int]]:
    """Return partitions by the names of existing topics."""
    found: dict[str, list[int]] = {}
    for name, number in sorted((names[id], number) for id, number in partitions if id in names):
        found.setdefault(name, []).append(number)
    return found

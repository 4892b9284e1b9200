"""Runner of programs of events with `assignor.member.Member`; it reports effects in the format of `MemberOracle`.

A program is JSON: the options of the member, and events with their times. Heartbeats, callbacks and commits are
numbered from 0 in order of appearance, so that a program is valid for every member that runs it.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol
from uuid import UUID

from assignor.errors import IllegalStateError
from assignor.member import HeartbeatRequest, HeartbeatResponse, Member, effects, events

Json = dict[str, Any]

NEVER = 2**31 - 1


class Runner(Protocol):
    """A member that runs a program event by event."""

    def step(self, event: Json) -> Json:
        """Pass an event to the member, and return its report."""
        ...


def member(options: Json, **others: Any) -> Member:
    """Return a member with the options that follow Kafka's code.

    The request timeout is disabled, because in Kafka the network client handles it, and the program takes the place of
    the network client.
    """
    given = {name: value for name, value in options.items() if name != "group"}
    kafka = {
        "heartbeat_while_preparing_to_leave": True,
        "join_at_once": True,
        "jitter": 0.0,
        "request_timeout_ms": NEVER,
    }
    return Member(options["group"], "member", **{**given, **kafka, **others})


def start(options: Json, **others: Any) -> MemberRunner:
    """Start a member with these options."""
    return MemberRunner(member(options, **others), options["retry_backoff_max_ms"], options["retry_backoff_ms"])


class MemberRunner:
    """Runner of our member.

    Args:
        member: The member, before its first event.
        patience: Greatest time before it requests the same topic names again.
        pause: Greatest time before it looks for the coordinator again.
    """

    def __init__(self, member: Member, patience: int, pause: int) -> None:
        self.member = member
        self._patience = patience
        self._asked = -patience
        self._pause = pause
        self._may_look_at = -NEVER
        self._looks_for_coordinator = False
        self._given_up: set[tuple[str, int]] = set()
        self._heartbeats: list[int] = []
        self._callbacks: list[int] = []
        self._commits: list[int] = []

    def step(self, event: Json) -> Json:
        """Pass an event to the member, confirm that its heartbeats are sent, and return the report."""
        report: Json = {"effects": [], "metadata": False}
        if event["type"] == "coordinator" and event["known"]:
            self._looks_for_coordinator = False
        pending: deque[events.Event] = deque([self._event(event)])
        while pending:
            for effect in self.member.handle(pending.popleft(), event["at"]):
                shown = self._shown(effect)
                if shown is not None:
                    report["effects"].append(shown)
                if isinstance(effect, effects.RequestMetadata):
                    report["metadata"] = True
                    self._asked = event["at"]
                elif isinstance(effect, effects.FindCoordinator):
                    self._looks_for_coordinator = True
                    self._may_look_at = event["at"] + self._pause
                elif isinstance(effect, effects.PauseFetching):
                    self._given_up |= {(topic, id) for topic, id in effect.partitions}
                elif isinstance(effect, effects.SendHeartbeat):
                    pending.append(events.HeartbeatSent(effect.number))
        report["state"] = self.member.state.name
        report["epoch"] = self.member.epoch
        report["assignment"] = [list(partition) for partition in self.member.assignment]
        self._given_up &= {(topic, id) for topic, id in self.member.assignment}
        report["given_up"] = sorted([topic, id] for topic, id in self._given_up)
        report["committing_epoch"] = self._committing_epoch()
        report["looks_for_coordinator"] = self._looks_for_coordinator
        report["asked_lately"] = event["at"] - self._asked < self._patience
        report["wake"] = self.member.next_deadline()
        # `next_deadline` does not show this deadline, because others may be earlier.
        waits = self._may_look_at in self.member._heartbeats.deadlines() and self._may_look_at > event["at"]
        report["looks_soon"] = waits and not self._looks_for_coordinator
        return report

    def _committing_epoch(self) -> int | str | None:
        try:
            epoch = self.member.commit_identity().member_epoch
        except IllegalStateError:
            return "not now"
        return epoch if epoch > 0 else None

    def _event(self, event: Json) -> events.Event:
        match event["type"]:
            case "subscribe":
                return events.Subscribe(tuple(event["topics"]), event["pattern"])
            case "leave":
                return events.Leave()
            case "poll":
                return events.Poll()
            case "tick":
                return events.Tick()
            case "response":
                return events.ResponseReceived(self._heartbeats[event["heartbeat"]], response(event))
            case "transport":
                return events.TransportFailed(self._heartbeats[event["heartbeat"]], event["retriable"], "broken")
            case "coordinator":
                return events.CoordinatorFound() if event["known"] else events.CoordinatorLost()
            case "metadata":
                return events.MetadataArrived({UUID(id): name for id, name in event["names"].items()})
            case "commit":
                number = self._commits[event["commit"]]
                return events.CommitFailed(number, "it failed") if event["failed"] else events.CommitDone(number)
            case "callback":
                number = self._callbacks[event["callback"]]
                return events.CallbackFailed(number, "it failed") if event["failed"] else events.CallbackDone(number)
        raise ValueError(f"unknown type of event: {event['type']!r}")

    def _shown(self, effect: effects.Effect) -> Json | None:
        match effect:
            case effects.SendHeartbeat(number, request):
                self._heartbeats.append(number)
                return {"kind": "heartbeat", "request": fields(request)}
            case effects.Commit(number, deadline):
                self._commits.append(number)
                return {"kind": "commit", "deadline": deadline}
            case effects.CallPartitionsAssigned(number, partitions, assignment):
                self._callbacks.append(number)
                return {"kind": "assigned", "partitions": pairs(partitions), "assignment": pairs(assignment)}
            case effects.CallPartitionsRevoked(number, partitions):
                self._callbacks.append(number)
                return {"kind": "revoked", "partitions": pairs(partitions)}
            case effects.CallPartitionsLost(number, partitions):
                self._callbacks.append(number)
                return {"kind": "lost", "partitions": pairs(partitions)}
            case effects.LeaveCompleted():
                return {"kind": "left"}
            case effects.RaiseError(code, name, _):
                return {"kind": "error", "code": code, "name": name}
        return None


def response(event: Json) -> HeartbeatResponse:
    """Return the coordinator's answer of an event."""
    assignment = event["assignment"]
    return HeartbeatResponse(
        error_code=event["error"],
        error_message=event["message"],
        member_id="member",
        member_epoch=event["epoch"],
        heartbeat_interval_ms=event["interval"],
        assignment=None if assignment is None else {UUID(id): tuple(ids) for id, ids in assignment.items()},
    )


def fields(request: HeartbeatRequest) -> Json:
    """Return a request in the format of the oracle."""
    names, owned = request.subscribed_topic_names, request.topic_partitions
    return {
        "group_id": request.group_id,
        "own_member_id": request.member_id == "member",
        "member_epoch": request.member_epoch,
        "instance_id": request.instance_id,
        "rack_id": request.rack_id,
        "rebalance_timeout_ms": request.rebalance_timeout_ms,
        "subscribed_topic_names": None if names is None else sorted(names),
        "subscribed_topic_regex": request.subscribed_topic_regex,
        "server_assignor": request.server_assignor,
        "topic_partitions": None if owned is None else {str(id): sorted(ids) for id, ids in owned.items()},
    }


def pairs(partitions: Any) -> list[list[Any]]:
    """Return partitions in the format of the oracle."""
    return [[topic, id] for topic, id in partitions]

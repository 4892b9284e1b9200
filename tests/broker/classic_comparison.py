"""Our coordinator beside a broker's answers: the same requests in virtual time, and every field compared.

A recording keeps what was asked and answered, so that it can be compared again, also with a coordinator that is wrong.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assignor.coordinator import Coordinator, CoordinatorConfig, GroupDescription, GroupState, JoinGroupRequest
from assignor.coordinator.responses import DeleteGroupResponse
from tests.broker.classic_programs import TOPICS
from tests.broker.classic_requests import DeleteRequest
from tests.coordinator import kio_descriptions, kio_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from uuid import UUID

    from assignor import TopicPartition
    from assignor.coordinator import Effects
    from assignor.coordinator.requests import Request
    from tests.broker.classic_programs import Program, Step


@dataclass
class Entry:
    """One step as it was played.

    Attributes:
        number: Its own, by which answers are told apart.
        at: The virtual time.
        step: What was drawn.
        request: What was asked; None for a wait.
        new_id: The member id that the broker made up in this step, as far as anybody saw it.
        answers: That arrived from here to the next step, by the number of their request; kio's.
        look: The version of DescribeGroups.
        looked: Its answer afterwards; kio's.
    """

    number: int
    at: int
    step: Step
    request: Request | DeleteRequest | None
    new_id: str | None = None
    answers: dict[int, Any] = field(default_factory=dict)
    look: int = 5
    looked: Any = None


@dataclass
class Recording:
    """A program as it was played once.

    Attributes:
        program: What was played.
        group_id: The group.
        config: What the broker was set to.
        topic_ids: Of the topics that exist there.
        entries: Its steps.
        offsets: What OffsetFetch said at the end, (offset, leader epoch, metadata) by partition; None before the end.
    """

    program: Program
    group_id: str
    config: CoordinatorConfig
    topic_ids: Mapping[str, UUID]
    entries: list[Entry] = field(default_factory=list)
    offsets: dict[TopicPartition, tuple[int, int, str]] | None = None


class Replica:
    """A coordinator that is asked what the broker was asked."""

    def __init__(
        self,
        group_id: str,
        config: CoordinatorConfig,
        topic_ids: Mapping[str, UUID],
        make: Callable[..., Coordinator] = Coordinator,
    ) -> None:
        self._group_id = group_id
        self._topic_ids = topic_ids
        self._new_id: str | None = None
        self._made: list[str] = []
        self._problems: list[str] = []
        self._requests: dict[int, Request | DeleteRequest] = {}
        self.coordinator = make(config, partitions_per_topic=TOPICS, member_ids=self._make_id)

    def next_deadline(self) -> int | None:
        """When the next timer ends."""
        return self.coordinator.next_deadline()

    def expire(self, now: int) -> dict[int, Any]:
        """Let time pass, and give the answers of which it is time."""
        return self._answers(self.coordinator.expire(now))

    def take(self, entry: Entry) -> dict[int, Any]:
        """Do what a step asks, and give the answers, by the number of their request, as kio has them."""
        coordinator, request, at = self.coordinator, entry.request, entry.at
        self._new_id = entry.new_id
        if request is None:
            return self.expire(at)
        self._requests[entry.number] = request
        if isinstance(request, DeleteRequest):
            return self._answers(coordinator.delete_group(request.group_id, at, entry.number))
        ask: Any = {
            "JoinGroupRequest": coordinator.join_group,
            "SyncGroupRequest": coordinator.sync_group,
            "HeartbeatRequest": coordinator.heartbeat,
            "LeaveGroupRequest": coordinator.leave_group,
            "OffsetCommitRequest": coordinator.offset_commit,
        }[type(request).__name__]
        return self._answers(ask(request, at, entry.number))

    def look(self, version: int) -> Any:
        """Describe the group as DescribeGroups does."""
        try:
            described = self.coordinator.describe(self._group_id)
        except Exception as error:  # it must not
            self._problems.append(f"describe failed: {type(error).__name__}: {error}")
            described = GroupDescription(self._group_id, GroupState.DEAD)
        return kio_descriptions.describe_response([described], version)

    def offsets(self) -> dict[TopicPartition, tuple[int, int, str]]:
        """What is committed, as OffsetFetch says it."""
        committed = self.coordinator.committed(self._group_id)
        return {each: (it.offset, it.leader_epoch, it.metadata) for each, it in committed.items()}

    def problems(self) -> list[str]:
        """What else went wrong since the last call."""
        found, self._problems = self._problems, []
        return found

    def _answers(self, effects: Effects) -> dict[int, Any]:
        given = {}
        for answer in effects.answers:
            number = answer.correlation
            assert isinstance(number, int)
            request, response = self._requests[number], answer.response
            if number in given:
                self._problems.append(f"request {number} was answered twice in one step")
            if isinstance(response, DeleteGroupResponse):
                result = (request.group_id, response.error_code)
                given[number] = kio_descriptions.delete_response([result], request.version)
            else:
                given[number] = kio_messages.response_to_kio(response, request.version, self._topic_ids)
        return given

    def _make_id(self, prefix: str) -> str:
        made = self._new_id or f"{prefix}-unseen-{len(self._made)}"
        if not made.startswith(f"{prefix}-"):
            self._problems.append(f"the broker's member id {made} does not begin with {prefix}-")
        if made in self._made:
            self._problems.append(f"a second member id is made in a step, after {made}")
            made = f"{prefix}-second-{len(self._made)}"
        self._made.append(made)
        return made


@dataclass(frozen=True)
class Difference:
    """Something that the broker and the coordinator do not agree on.

    Attributes:
        entry: The number of the step.
        field: Which field, such as "JoinGroupResponse.error_code".
        broker: What the broker says.
        ours: What the coordinator says.
    """

    entry: int
    field: str
    broker: object
    ours: object

    def __str__(self) -> str:
        return f"step {self.entry}: {self.field} is {self.broker!r} at the broker and {self.ours!r} here"


def compare(entry: Entry, answers: Mapping[int, Any], looked: Any, problems: list[str]) -> list[Difference]:
    """Compare what a step led to at the broker with what it led to here."""
    found = [Difference(entry.number, problem, None, None) for problem in problems]
    for number in sorted({*answers, *entry.answers}):
        theirs, ours = entry.answers.get(number), answers.get(number)
        if theirs is None or ours is None:
            found.append(Difference(entry.number, f"answer to {number}", theirs, ours))
        else:
            found += fields_that_differ(entry.number, type(theirs).__name__, theirs, ours)
    return found + fields_that_differ(entry.number, "look", entry.looked.groups[0], looked.groups[0])


def fields_that_differ(number: int, name: str, theirs: Any, ours: Any) -> list[Difference]:
    """Name the outermost fields in which two of kio's entities differ, messages for people aside."""
    if theirs == ours:
        return []
    return [
        Difference(number, f"{name}.{each.name}", getattr(theirs, each.name), getattr(ours, each.name))
        for each in dataclasses.fields(theirs)
        if each.name != "error_message" and getattr(theirs, each.name) != getattr(ours, each.name)
    ]


def replay(recording: Recording, make: Callable[..., Coordinator] = Coordinator) -> list[Difference]:
    """Compare a recording with a coordinator; ends after the first step with differences."""
    replica = Replica(recording.group_id, recording.config, recording.topic_ids, make)
    for entry in recording.entries:
        try:
            answers = replica.take(entry)
            looked = replica.look(entry.look)
        except Exception as error:  # a wrong coordinator may do anything
            return [Difference(entry.number, f"{type(error).__name__}: {error}", None, None)]
        if found := compare(entry, answers, looked, replica.problems()):
            return found
    return [] if recording.offsets is None else compare_offsets(recording, replica)


def compare_offsets(recording: Recording, replica: Replica) -> list[Difference]:
    """Compare the offsets that are kept at the end."""
    ours = replica.offsets()
    return [] if ours == recording.offsets else [Difference(len(recording.entries), "offsets", recording.offsets, ours)]


def needs_new_id(entry: Entry) -> bool:
    """Whether the broker may have made up a member id in a step that was not answered."""
    return isinstance(entry.request, JoinGroupRequest) and not entry.request.member_id

"""Comparison of our coordinator with a broker: the same requests in virtual time, and all fields of the responses.

A recording keeps requests and responses, so that they can be compared again, also with a wrong coordinator.
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
from tests.coordinator.driver import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from uuid import UUID

    from assignor import TopicPartition
    from assignor.coordinator import Effects
    from assignor.coordinator.requests import Request
    from tests.broker.classic_programs import Program, Step


@dataclass
class Entry:
    """Played step.

    Attributes:
        number: Number of the step, which identifies its response.
        at: Virtual time.
        step: The step of the program.
        request: The request; None for a wait.
        new_id: Member id that the broker generated in this step; None if it was not seen.
        answers: Responses that arrived before the next step, as entities of kio, by the number of their request.
        look: Version of the DescribeGroups request after the step.
        looked: Response to that request, as an entity of kio.
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
    """Recording of a played program.

    Attributes:
        program: The program.
        group_id: The group.
        config: Configuration of the broker.
        topic_ids: Ids of the existing topics.
        entries: The played steps.
        offsets: Result of OffsetFetch at the end, (offset, leader epoch, metadata) by partition; None before the end.
    """

    program: Program
    group_id: str
    config: CoordinatorConfig
    topic_ids: Mapping[str, UUID]
    entries: list[Entry] = field(default_factory=list)
    offsets: dict[TopicPartition, tuple[int, int, str]] | None = None


class Replica:
    """Coordinator that handles the requests of a recording."""

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
        """Return the time at which the next timer expires."""
        return self.coordinator.next_deadline()

    def expire(self, now: int) -> dict[int, Any]:
        """Run the timers up to a time, and return their responses."""
        return self._answers(self.coordinator.expire(now))

    def take(self, entry: Entry) -> dict[int, Any]:
        """Handle the request of a step, and return the responses as entities of kio, by the number of their request."""
        coordinator, request, at = self.coordinator, entry.request, entry.at
        self._new_id = entry.new_id
        if request is None:
            return self.expire(at)
        self._requests[entry.number] = request
        if isinstance(request, DeleteRequest):
            return self._answers(coordinator.delete_group(request.group_id, at, entry.number))
        ask: Callable[..., Effects] = getattr(coordinator, METHODS[type(request)])
        return self._answers(ask(request, at, entry.number))

    def look(self, version: int) -> Any:
        """Return the response to a DescribeGroups request."""
        try:
            described = self.coordinator.describe(self._group_id)
        except Exception as error:  # describe must never fail
            self._problems.append(f"describe failed: {type(error).__name__}: {error}")
            described = GroupDescription(self._group_id, GroupState.DEAD)
        return kio_descriptions.describe_response([described], version)

    def offsets(self) -> dict[TopicPartition, tuple[int, int, str]]:
        """Return the committed offsets in the form of OffsetFetch."""
        committed = self.coordinator.committed(self._group_id)
        return {each: (it.offset, it.leader_epoch, it.metadata) for each, it in committed.items()}

    def problems(self) -> list[str]:
        """Return and clear the problems that were found since the last call."""
        found, self._problems = self._problems, []
        return found

    def _answers(self, effects: Effects) -> dict[int, Any]:
        given = {}
        for answer in effects.answers:
            number = answer.correlation
            assert isinstance(number, int)
            request, response = self._requests[number], answer.response
            if number in given:
                self._problems.append(f"request {number} has two responses in one step")
            if isinstance(response, DeleteGroupResponse):
                result = (request.group_id, response.error_code)
                given[number] = kio_descriptions.delete_response([result], request.version)
            else:
                given[number] = kio_messages.response_to_kio(response, request.version, self._topic_ids)
        return given

    def _make_id(self, prefix: str) -> str:
        made = self._new_id or f"{prefix}-unseen-{len(self._made)}"
        if not made.startswith(f"{prefix}-"):
            self._problems.append(f"the broker's member id {made} does not start with {prefix}-")
        if made in self._made:
            self._problems.append(f"a second member id is generated in one step, after {made}")
            made = f"{prefix}-second-{len(self._made)}"
        self._made.append(made)
        return made


@dataclass(frozen=True)
class Difference:
    """Difference between the broker and the coordinator.

    Attributes:
        entry: Number of the step.
        field: Name of the field, such as "JoinGroupResponse.error_code".
        broker: Value of the broker.
        ours: Value of the coordinator.
    """

    entry: int
    field: str
    broker: object
    ours: object

    def __str__(self) -> str:
        return f"step {self.entry}: {self.field}: the broker has {self.broker!r}, our coordinator {self.ours!r}"


def compare(entry: Entry, answers: Mapping[int, Any], looked: Any, problems: list[str]) -> list[Difference]:
    """Return the differences between the outcomes of a step in the broker and in our coordinator."""
    found = [Difference(entry.number, problem, None, None) for problem in problems]
    for number in sorted({*answers, *entry.answers}):
        theirs, ours = entry.answers.get(number), answers.get(number)
        if theirs is None or ours is None:
            found.append(Difference(entry.number, f"answer to {number}", theirs, ours))
        else:
            found += fields_that_differ(entry.number, type(theirs).__name__, theirs, ours)
    return found + fields_that_differ(entry.number, "look", entry.looked.groups[0], looked.groups[0])


def fields_that_differ(number: int, name: str, theirs: Any, ours: Any) -> list[Difference]:
    """Return the differences between the top-level fields of two kio entities, except error messages."""
    if theirs == ours:
        return []
    return [
        Difference(number, f"{name}.{each.name}", getattr(theirs, each.name), getattr(ours, each.name))
        for each in dataclasses.fields(theirs)
        if each.name != "error_message" and getattr(theirs, each.name) != getattr(ours, each.name)
    ]


def replay(recording: Recording, make: Callable[..., Coordinator] = Coordinator) -> list[Difference]:
    """Replay a recording, and return the differences in the first step that has any."""
    replica = Replica(recording.group_id, recording.config, recording.topic_ids, make)
    for entry in recording.entries:
        try:
            answers = replica.take(entry)
            looked = replica.look(entry.look)
        except Exception as error:  # a wrong coordinator may fail anywhere
            return [Difference(entry.number, f"{type(error).__name__}: {error}", None, None)]
        if found := compare(entry, answers, looked, replica.problems()):
            return found
    return [] if recording.offsets is None else compare_offsets(recording, replica)


def compare_offsets(recording: Recording, replica: Replica) -> list[Difference]:
    """Return the difference between the committed offsets at the end."""
    ours = replica.offsets()
    return [] if ours == recording.offsets else [Difference(len(recording.entries), "offsets", recording.offsets, ours)]


def needs_new_id(entry: Entry) -> bool:
    """Return True if the broker may have generated a member id in this step."""
    return isinstance(entry.request, JoinGroupRequest) and not entry.request.member_id

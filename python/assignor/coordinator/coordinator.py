"""Sans-io coordinator of many classic groups: it accepts requests with the time, and returns effects.

Source: GroupCoordinatorService, GroupCoordinatorShard and GroupMetadataManager, kafka-group-coordinator 4.3.1.
`docs/coordinator.md` lists the differences and their reasons.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from assignor.coordinator import committing, joining, membership, rebalancing
from assignor.coordinator.context import Answer, Context, CoordinatorConfig
from assignor.coordinator.members import BrokenGroupError
from assignor.coordinator.records import read_groups
from assignor.coordinator.requests import (
    VERSIONS,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    PendingRequest,
    SyncGroupRequest,
)
from assignor.coordinator.responses import (
    GroupDescription,
    HeartbeatResponse,
    describe_group,
    error_response,
    make,
)
from assignor.coordinator.state import ErrorCode, GroupState, response_error
from assignor.coordinator.timers import Timer, TimerKind
from assignor.errors import IllegalStateError
from assignor.lines import format_count
from assignor.validation import check_name, read_int, wrong_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from assignor.coordinator.context import Effects
    from assignor.coordinator.group import ClassicGroup, StoredOffset
    from assignor.coordinator.requests import Request
    from assignor.coordinator.responses import Response
    from assignor.model import TopicPartition
    from assignor.partition_assignor import PartitionAssignor, PartitionsPerTopic

__all__ = ["Coordinator"]

_TIME_BITS = 63

REQUEST_HANDLERS: Mapping[type[Request], Callable[..., Response | None]] = {
    JoinGroupRequest: joining.join,
    SyncGroupRequest: membership.sync,
    LeaveGroupRequest: membership.leave,
    OffsetCommitRequest: committing.commit,
}
"""Handler of each request that may wait: a function of the context, the request and its `PendingRequest`.

It returns the answer, or None if the answer waits for another request, a timer or a write."""

_HEARTBEAT_VERSIONS = frozenset(VERSIONS[HeartbeatRequest])

TIMER_HANDLERS: Mapping[TimerKind, Callable[[Context, Timer], None]] = {
    TimerKind.JOIN_PHASE: rebalancing.expire_join_phase,
    TimerKind.SYNC_PHASE: rebalancing.expire_sync_phase,
    TimerKind.SESSION: rebalancing.expire_session,
    TimerKind.RETENTION_CHECK: committing.delete_expired,
}
"""Handler of each kind of timer."""


class Coordinator:
    """The broker's side of the classic group protocol, for any number of groups.

    A coordinator has no clock, socket, thread or callback. Each call passes the time and returns effects: the records
    to write to the log, the answers to send after that, and the time of the next call. Each call first fires the timers
    that are due, each at its own deadline, so the result does not depend on how often `expire` is called. If a call
    passes a time earlier than that of a previous call, the later time is used. A coordinator is not thread-safe.

    A request may have to wait: a join for other joins, a sync for the leader. A later call then returns its answer,
    with the correlation of the request. Answers, leaders and the order of members equal those of Kafka 4.3.1.

    Args:
        config: The settings; None for Kafka's defaults.
        assignor: Assignor for server-side assignment. Groups of consumers that agree on this assignor's protocol get
            their assignments from the coordinator, and no member acts as leader. Requires `partitions_per_topic`.
        partitions_per_topic: The topics of the cluster, as for `assign`. With topics, the coordinator rejects commits
            to other topics, and recognises topic changes as the cause of a rebalance. None disables both.
        member_ids: Function that returns a new member id for a client id or instance id; None appends a random UUID, as
            Kafka does.
        confirm_writes: False if every write counts as complete immediately: the caller writes the records, then sends
            the answers. True if answers that depend on a write wait for `written` or `write_failed`.

    Raises:
        WrongTypeError: An argument has a wrong type.
        IllegalStateError: There is an assignor but no `partitions_per_topic`.

    Example:
        >>> coordinator = Coordinator(member_ids=lambda name: name + "-1")
        >>> join = JoinGroupRequest("orders", client_id="c", protocols=[("range", b"")], protocol_type="any")
        >>> answer = coordinator.join_group(join, now=0, correlation=7).answers[0]
        >>> answer.correlation, answer.response.error_code.name, answer.response.member_id
        (7, 'MEMBER_ID_REQUIRED', 'c-1')
    """

    def __init__(
        self,
        config: CoordinatorConfig | None = None,
        *,
        assignor: PartitionAssignor | None = None,
        partitions_per_topic: PartitionsPerTopic | None = None,
        member_ids: Callable[[str], str] | None = None,
        confirm_writes: bool = False,
    ) -> None:
        if config is None:
            config = CoordinatorConfig()
        if not isinstance(config, CoordinatorConfig):
            raise wrong_type("Coordinator: config", "a CoordinatorConfig", config)
        if not isinstance(confirm_writes, bool):
            raise wrong_type("Coordinator: confirm_writes", "a bool", confirm_writes)
        if member_ids is not None and not callable(member_ids):
            raise wrong_type("Coordinator: member_ids", "a callable", member_ids)
        is_for_consumers = hasattr(assignor, "metadata")  # of a Python client
        if assignor is not None and (is_for_consumers or not isinstance(getattr(assignor, "name", None), str)):
            raise wrong_type("Coordinator: assignor", "a PartitionAssignor such as assignor.RangeAssignor()", assignor)
        if assignor is not None and partitions_per_topic is None:
            raise IllegalStateError("Coordinator: assignor requires partitions_per_topic, the topics to assign")
        self.config = config
        self._context = Context(
            config, assignor, partitions_per_topic, member_ids or _with_random_uuid, confirm_writes=confirm_writes
        )
        self._started = False
        self._loaded: list[ClassicGroup] = []  # groups whose sessions begin with the first call that passes a time
        self._dead_groups = 0

    def __repr__(self) -> str:
        groups = self._context.groups.values()
        members = format_count(sum(len(group.members) for group in groups), "member")
        return f"<Coordinator: {format_count(len(groups), 'group')}, {members}, next deadline {self.next_deadline()}>"

    # Requests

    def join_group(self, request: JoinGroupRequest, now: int, correlation: object = None) -> Effects:
        """Handle a JoinGroup request.

        Returns:
            The answer, unless the request waits, and other effects of the call.

        Raises:
            WrongTypeError: The request or the time has a wrong type.
            IllegalStateError: `member_ids` returned an invalid id or one that the group already has. Exceptions of
                `member_ids` propagate. In both cases the group is unchanged, and the next call returns the effects of
                the timers that were due.
        """
        return self._handle(request, JoinGroupRequest, now, correlation)

    def sync_group(self, request: SyncGroupRequest, now: int, correlation: object = None) -> Effects:
        """Handle a SyncGroup request; see `join_group`."""
        return self._handle(request, SyncGroupRequest, now, correlation)

    def heartbeat(self, request: HeartbeatRequest, now: int, correlation: object = None) -> Effects:
        """Handle a Heartbeat request; see `join_group`."""
        context = self._begin_request(request, HeartbeatRequest, now)
        if request.version in _HEARTBEAT_VERSIONS:
            response = membership.heartbeat(context, request)
        else:
            response = HeartbeatResponse(ErrorCode.UNSUPPORTED_VERSION)
        context.answers.append(make(Answer, (correlation, response)))
        return self._end()

    def leave_group(self, request: LeaveGroupRequest, now: int, correlation: object = None) -> Effects:
        """Handle a LeaveGroup request; see `join_group`."""
        return self._handle(request, LeaveGroupRequest, now, correlation)

    def offset_commit(self, request: OffsetCommitRequest, now: int, correlation: object = None) -> Effects:
        """Handle an OffsetCommit request; see `join_group`."""
        return self._handle(request, OffsetCommitRequest, now, correlation)

    def delete_group(self, group_id: str, now: int, correlation: object = None) -> Effects:
        """Delete an Empty group; the answer is a `DeleteGroupResponse`, with an error for other groups.

        Raises:
            WrongTypeError: The group id or the time has a wrong type.
        """
        check_name(group_id, "delete_group: group_id")
        self._begin(now)
        pending = PendingRequest(correlation, 0)
        response = committing.delete(self._context, group_id, pending)
        if response is not None:
            self._context.answer(pending, response)
        return self._end()

    def _handle(self, request: Request, kind: type[Request], now: int, correlation: object) -> Effects:
        context = self._begin_request(request, kind, now)
        pending = PendingRequest(correlation, request.version)
        response: Response | None
        if request.version in VERSIONS[kind]:
            try:
                response = REQUEST_HANDLERS[kind](context, request, pending)
            except BrokenGroupError as error:
                context.report_problem(f"group {request.group_id!r}: {error}")
                response = error_response(request, ErrorCode.UNKNOWN_SERVER_ERROR, pending)
        else:
            response = error_response(request, ErrorCode.UNSUPPORTED_VERSION, pending)
        if response is not None:
            context.answer(pending, response)
        return self._end()

    def _begin_request(self, request: Request, kind: type[Request], now: int) -> Context:
        """Check the type of a request, and begin a call."""
        if type(request) is not kind:
            raise wrong_type("request", f"a {kind.__name__}", request)
        context = self._context
        if type(now) is int and context.now <= now < context.timers.quiet_until and self._started:
            context.now = now  # no timer is due
        else:
            self._begin(now)
        return context

    # Other events

    def disconnected(self, group_id: str, member_id: str, now: int) -> Effects:
        """Record that a member's connection has ended.

        As in Kafka, this has no effect of its own: the member may reconnect before its session expires. If the session
        expires first, the cause of the rebalance is APPLICATION_CRASHED instead of CONSUMER_DEAD.

        Raises:
            WrongTypeError: An id or the time has a wrong type.
        """
        check_name(group_id, "disconnected: group_id")
        check_name(member_id, "disconnected: member_id")
        self._begin(now)
        group = self._context.groups.get(group_id)
        member = None if group is None else group.members.get(member_id)
        if member is not None:
            member.is_connected = False
        return self._end()

    def update_metadata(self, partitions_per_topic: PartitionsPerTopic, now: int) -> Effects:
        """Replace the topics of the cluster and their partition counts.

        A group with server-side assignment rebalances if one of its topics changed. In other groups the leader notices
        the change and joins again.

        Raises:
            WrongTypeError, IllegalArgumentError: As `assign`; the topics are then unchanged.
        """
        self._begin(now)
        topics = self._context.topics
        topics.replace(partitions_per_topic)
        for group in list(self._context.groups.values()):
            if group.is_server_assigned and group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
                changed_topic = topics.changed_since(group.topic_sizes)
                if changed_topic is not None:
                    self._guarded(group.group_id, rebalancing.prepare_rebalance, self._context, group, changed_topic)
        return self._end()

    def expire(self, now: int) -> Effects:
        """Fire the timers that are due.

        Raises:
            WrongTypeError: The time is not an int.
        """
        self._begin(now)
        return self._end()

    def next_deadline(self) -> int | None:
        """Return the deadline of the next timer in milliseconds; None if no timer is set."""
        return self._context.timers.next_deadline()

    def written(self, number: int, now: int) -> Effects:
        """Confirm that a write has completed; only for a coordinator with `confirm_writes=True`.

        Raises:
            IllegalStateError: No unconfirmed write has this number.
        """
        return self._complete_write(number, None, now)

    def write_failed(self, number: int, error: int, now: int) -> Effects:
        """Report that a write failed and is not retried; only for a coordinator with `confirm_writes=True`.

        Args:
            number: Number of the write.
            error: Error code of the log, such as 19 (NOT_ENOUGH_REPLICAS).
            now: Time in milliseconds.

        Raises:
            IllegalStateError: No unconfirmed write has this number.
        """
        return self._complete_write(number, response_error(read_int(error, "write_failed: error", bits=16)), now)

    def _complete_write(self, number: int, error: ErrorCode | None, now: int) -> Effects:
        number = read_int(number, "a write's number", bits=64)
        self._begin(now)
        try:
            self._context.complete_write(number, error)
        except BrokenGroupError as broken:
            self._context.report_problem(str(broken))
        return self._end()

    # Loading and unloading

    def load(self, records: Iterable[tuple[bytes, bytes | None]], now: int | None = None) -> Effects:
        """Load groups from a log.

        Args:
            records: Key and value of each record of one partition of `__consumer_offsets`, in the order of the log and
                without those of aborted transactions.
            now: Time at which the loaded sessions begin. None for the latest time that was passed to this coordinator;
                if there was none, sessions begin with the first call that passes a time.

        Returns:
            The effects. Groups above `group_max_size` rebalance. So do groups with server-side assignment whose members
            do not own all partitions of their topics. Records of other group types are skipped; `problems` counts them.

        Raises:
            WireError: A record cannot be decoded. Nothing is loaded, and the next call returns the effects of timers
                that were due.
            IllegalStateError: One of the groups already exists. Nothing is loaded.
        """
        if now is not None or self._started:
            self._begin(self._context.now if now is None else now)
        groups, problems = read_groups(records, self._context.groups, self._context.now)
        for problem in problems:
            self._context.report_problem(problem)
        for group in groups:
            self._dead_groups -= group.group_id in self._context.groups
            self._context.groups[group.group_id] = group
        self._loaded += groups
        if self._started:
            self._start_loaded()
        return self._end()

    def _start_loaded(self) -> None:
        for group in self._loaded:
            self._guarded(group.group_id, rebalancing.start_loaded_group, self._context, group)
        self._loaded.clear()

    def unload(self, now: int) -> Effects:
        """Unload all groups, because another coordinator now owns their log.

        Waiting requests get the error NOT_COORDINATOR. Later requests about these groups get the error
        COORDINATOR_NOT_AVAILABLE.
        Unconfirmed writes can no longer be confirmed.
        """
        self._begin(now)
        for group in self._context.groups.values():
            rebalancing.unload_group(self._context, group)
        self._dead_groups = len(self._context.groups)
        self._context.fail_writes(ErrorCode.NOT_COORDINATOR)
        return self._end()

    # Queries

    def groups(self) -> tuple[str, ...]:
        """Return the ids of all groups, in the order of their creation."""
        return tuple(self._context.groups)

    def describe(self, group_id: str) -> GroupDescription:
        """Return a group as DescribeGroups shows it; a group that does not exist is Dead."""
        group = self._context.groups.get(check_name(group_id, "describe: group_id"))
        return GroupDescription(group_id, GroupState.DEAD) if group is None else describe_group(group)

    def committed(self, group_id: str) -> dict[TopicPartition, StoredOffset]:
        """Return the committed offsets of a group; empty if the group does not exist."""
        group = self._context.groups.get(check_name(group_id, "committed: group_id"))
        return {} if group is None else dict(group.offsets)

    # Calls

    def _begin(self, now: int) -> None:
        """Fire the timers that are due, then advance the time."""
        if type(now) is not int or now.bit_length() > _TIME_BITS:
            now = read_int(now, "now", bits=64)
        if not self._started:
            self._started = True
            self._context.now = now
            self._start_loaded()
        self._fire(now)
        self._context.now = max(self._context.now, now)

    def _end(self) -> Effects:
        """Fire the timers that the call made due, and return all effects."""
        context = self._context
        if not self._started:
            return context.take_effects(None)
        has_groups = len(context.groups) > self._dead_groups
        if has_groups is (context.retention_timer.deadline is None):
            committing.schedule_retention_check(context, is_needed=has_groups)
        deadline = context.timers.next_deadline()
        if deadline is not None and deadline <= context.now:
            self._fire(context.now)
            deadline = context.timers.next_deadline()
        return context.take_effects(deadline)

    def _fire(self, now: int) -> None:
        """Fire all timers that are due, each at its own deadline."""
        context = self._context
        context.advances_to = now
        while (timer := context.timers.pop(now)) is not None:
            context.now = max(context.now, context.timers.fired_at)
            self._guarded(timer.group_id, TIMER_HANDLERS[timer.kind], context, timer)

    def _guarded(self, group_id: str, handler: Callable[..., None], *arguments: object) -> None:
        """Call a handler for one group; report a broken group as a problem, so that other groups continue."""
        try:
            handler(*arguments)
        except BrokenGroupError as error:
            self._context.report_problem(f"group {group_id!r}: {error}")


def _with_random_uuid(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4()}"

"""The coordinator of many classic groups, sans-io: requests and the time in, effects out.

Source: GroupCoordinatorService, GroupCoordinatorShard and GroupMetadataManager, kafka-group-coordinator 4.3.1. Where
this coordinator does something else than they do, `docs/coordinator.md` says what and why.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from assignor.coordinator import committing, joining, membership, rebalancing
from assignor.coordinator.context import Context, CoordinatorConfig
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
from assignor.coordinator.responses import GroupDescription, describe_group, error_response
from assignor.coordinator.state import ErrorCode, GroupState, response_error
from assignor.coordinator.timers import Timer, TimerKind
from assignor.errors import IllegalStateError
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
    HeartbeatRequest: membership.heartbeat,
    LeaveGroupRequest: membership.leave,
    OffsetCommitRequest: committing.commit,
}
"""Handler of each request: a function of the context, the request and its pending answer, which returns the answer.

It returns None if the request waits, for other requests, a timer or a write."""

TIMER_HANDLERS: Mapping[TimerKind, Callable[[Context, Timer], None]] = {
    TimerKind.JOIN_PHASE: rebalancing.expire_join_phase,
    TimerKind.SYNC_PHASE: rebalancing.expire_sync_phase,
    TimerKind.SESSION: rebalancing.expire_session,
    TimerKind.RETENTION_CHECK: committing.delete_expired,
}
"""Handler of each kind of timer."""


class Coordinator:
    """The broker side of the classic group protocol, for any number of groups.

    It has no clock, socket, thread or callback. Each call takes the time and returns effects: what is to be written to
    the log, which answers are to be sent then, and when to call again. Before anything else a call does what has come
    due by its time, each thing at its own time, so it makes no difference how often `expire` is called. A time below an
    earlier one counts as the earlier one. Use it from one thread.

    A request that has to wait (a join for the others, a sync for the leader) is answered by a later call, with the
    correlation that was given with it. Answers, orders of members and leaders are those of Kafka 4.3.1.

    Args:
        config: The settings; None is Kafka's defaults.
        assignor: Makes the coordinator lead: groups of consumers that agree on this assignor's protocol get their
            assignments from it, and no member acts as leader. It needs `partitions_per_topic`.
        partitions_per_topic: The topics of the cluster, as `assign` takes them. With them the coordinator refuses
            commits for other topics, and can tell why a leader joins again; None is not to look at topics.
        member_ids: Makes a new member id of the client id or instance id; None appends a random UUID, as Kafka does.
        confirm_writes: False takes every write as done: the caller writes the records, and then sends the answers.
            True waits for `written` or `write_failed` with what depends on a write.

    Raises:
        WrongTypeError: An argument is of another type.
        IllegalStateError: There is an assignor, but no topics.

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
        if assignor is not None and not isinstance(getattr(assignor, "name", None), str):
            raise wrong_type("Coordinator: assignor", "a PartitionAssignor with a name", assignor)
        if assignor is not None and partitions_per_topic is None:
            raise IllegalStateError("Coordinator: an assignor needs partitions_per_topic, the topics to assign from")
        self.config = config
        self._context = Context(
            config, assignor, partitions_per_topic, member_ids or _with_random_uuid, confirm_writes=confirm_writes
        )
        self._started = False
        self._loaded: list[ClassicGroup] = []  # groups whose sessions begin with the first call that passes the time
        self._dead_groups = 0

    # Requests

    def join_group(self, request: JoinGroupRequest, now: int, correlation: object = None) -> Effects:
        """Handle a JoinGroup request.

        Returns:
            Its answer, if it has one already, and what else comes of it.

        Raises:
            WrongTypeError: The request or the time is of another type.
            IllegalStateError: `member_ids` gave no id, or one that the group has. What it raises passes. In both cases
                the group is as it was, and what had come due is in the effects of the next call.
        """
        return self._handle(request, JoinGroupRequest, now, correlation)

    def sync_group(self, request: SyncGroupRequest, now: int, correlation: object = None) -> Effects:
        """Handle a SyncGroup request; as `join_group`."""
        return self._handle(request, SyncGroupRequest, now, correlation)

    def heartbeat(self, request: HeartbeatRequest, now: int, correlation: object = None) -> Effects:
        """Handle a Heartbeat request; as `join_group`."""
        return self._handle(request, HeartbeatRequest, now, correlation)

    def leave_group(self, request: LeaveGroupRequest, now: int, correlation: object = None) -> Effects:
        """Handle a LeaveGroup request; as `join_group`."""
        return self._handle(request, LeaveGroupRequest, now, correlation)

    def offset_commit(self, request: OffsetCommitRequest, now: int, correlation: object = None) -> Effects:
        """Handle an OffsetCommit request; as `join_group`."""
        return self._handle(request, OffsetCommitRequest, now, correlation)

    def delete_group(self, group_id: str, now: int, correlation: object = None) -> Effects:
        """Handle the deletion of a group that is empty; the answer is a `DeleteGroupResponse`.

        Raises:
            WrongTypeError: The group or the time is of another type.
        """
        check_name(group_id, "delete_group: group_id")
        self._begin(now)
        pending = PendingRequest(correlation, 0)
        response = committing.delete(self._context, group_id, pending)
        if response is not None:
            self._context.answer(pending, response)
        return self._end()

    def _handle(self, request: Request, kind: type[Request], now: int, correlation: object) -> Effects:
        if type(request) is not kind:
            raise wrong_type("request", f"a {kind.__name__}", request)
        context = self._context
        self._begin(now)
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

    # What else happens

    def disconnected(self, group_id: str, member_id: str, now: int) -> Effects:
        """Tell that a member's connection has ended.

        It changes nothing at once, as in Kafka: the member may come back before its session is over. If it does not,
        its application counts as crashed, and not only as too slow.
        """
        self._begin(now)
        group = self._context.groups.get(group_id)
        member = None if group is None else group.members.get(member_id)
        if member is not None:
            member.is_connected = False
        return self._end()

    def update_metadata(self, partitions_per_topic: PartitionsPerTopic, now: int) -> Effects:
        """Tell which topics there are now, and how many partitions each has.

        Groups that the coordinator leads rebalance if one of their topics changed. In others the leader finds out by
        itself, and joins again.

        Raises:
            WrongTypeError, IllegalArgumentError: As `assign`; then nothing has changed.
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
        """Do what has come due by that time.

        Raises:
            WrongTypeError: The time is not an int.
        """
        self._begin(now)
        return self._end()

    def next_deadline(self) -> int | None:
        """When something comes due next, in milliseconds; None if nothing will."""
        return self._context.timers.next_deadline()

    def written(self, number: int, now: int) -> Effects:
        """Tell that a write is done, with `confirm_writes`.

        Raises:
            IllegalStateError: No write of that number waits.
        """
        return self._complete_write(number, None, now)

    def write_failed(self, number: int, error: int, now: int) -> Effects:
        """Tell that a write is not done, and will not be, with `confirm_writes`.

        Args:
            number: Of the write.
            error: The log's error code, such as 19 (NOT_ENOUGH_REPLICAS).
            now: The time.

        Raises:
            IllegalStateError: No write of that number waits.
        """
        return self._complete_write(number, response_error(int(error)), now)

    def _complete_write(self, number: int, error: ErrorCode | None, now: int) -> Effects:
        self._begin(now)
        try:
            self._context.complete_write(number, error)
        except BrokenGroupError as broken:
            self._context.report_problem(str(broken))
        return self._end()

    # From log to log

    def load(self, records: Iterable[tuple[bytes, bytes | None]], now: int | None = None) -> Effects:
        """Take over groups from a log.

        Args:
            records: Key and value of each record of a partition of `__consumer_offsets`, in the order of the log and
                without those of aborted transactions.
            now: The time; sessions begin anew then. None is the latest time that this coordinator knows; where it knows
                none, sessions begin with the next call that tells it.

        Returns:
            What comes of it: groups that are larger than allowed rebalance, and so do those that the coordinator leads
            and that do not own what their topics have now. Records of groups of other kinds are passed over, and
            `problems` says how many.

        Raises:
            WireError: A record cannot be read. Nothing is loaded then, but what had come due is in the effects of the
                next call.
            IllegalStateError: One of the groups is there already. Nothing is loaded then.
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
        """Give all groups up, as their log has another coordinator now.

        Requests that wait, for others or for a write, are answered NOT_COORDINATOR, and later ones about these groups
        COORDINATOR_NOT_AVAILABLE. Writes that were not confirmed cannot be from then on.
        """
        self._begin(now)
        for group in self._context.groups.values():
            rebalancing.unload_group(self._context, group)
        self._dead_groups = len(self._context.groups)
        self._context.fail_writes(ErrorCode.NOT_COORDINATOR)
        return self._end()

    # Looking

    def groups(self) -> tuple[str, ...]:
        """The ids of all groups, in the order in which they came."""
        return tuple(self._context.groups)

    def describe(self, group_id: str) -> GroupDescription:
        """A group as DescribeGroups shows it. A group that is not there is Dead."""
        group = self._context.groups.get(group_id)
        return GroupDescription(group_id, GroupState.DEAD) if group is None else describe_group(group)

    def committed(self, group_id: str) -> dict[TopicPartition, StoredOffset]:
        """The offsets that a group has committed; none for a group that is not there."""
        group = self._context.groups.get(group_id)
        return {} if group is None else dict(group.offsets)

    # Calls

    def _begin(self, now: int) -> None:
        """Do what has come due, and take the time on."""
        if type(now) is not int or now.bit_length() > _TIME_BITS:
            now = read_int(now, "now", bits=64)
        if not self._started:
            self._started = True
            self._context.now = now
            self._start_loaded()
        self._fire(now)
        self._context.now = max(self._context.now, now)

    def _end(self) -> Effects:
        """Do what is due at once, and give all effects."""
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
        """Let timers fire, each at its own time."""
        context = self._context
        while (timer := context.timers.pop(now)) is not None:
            assert timer.deadline is not None
            context.now = max(context.now, timer.deadline)
            timer.deadline = None
            self._guarded(timer.group_id, TIMER_HANDLERS[timer.kind], context, timer)

    def _guarded(self, group_id: str, handler: Callable[..., None], *arguments: object) -> None:
        """Call a handler for one group; if the group is broken, the others go on."""
        try:
            handler(*arguments)
        except BrokenGroupError as error:
            self._context.report_problem(f"group {group_id!r}: {error}")


def _with_random_uuid(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4()}"

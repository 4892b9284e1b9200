"""State that all handlers of a coordinator share, and the effects of the current call.

A coordinator performs no I/O. Each call returns `Effects`: records for the log, answers, rebalances that began, and the
time of the next call. Write the records in order before sending the answers. Then every answer that was sent is based
on records in the log, and a coordinator that loads the log continues from the same state. `Context` collects the
effects: it holds back an answer that depends on a write until the write completes, and answers each request at most
once.

Source of the settings and their defaults: GroupCoordinatorConfig, kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

from assignor.coordinator.causes import Fact, Rebalance
from assignor.coordinator.group import ClassicGroup
from assignor.coordinator.responses import Response, make
from assignor.coordinator.server_assignment import CoordinatorAssignor, CoordinatorTopics
from assignor.coordinator.state import ErrorCode
from assignor.coordinator.timers import Timer, TimerKind, Timers
from assignor.errors import IllegalArgumentError, IllegalStateError
from assignor.validation import read_int

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from assignor.coordinator.requests import PendingRequest
    from assignor.model import TopicPartition
    from assignor.partition_assignor import PartitionAssignor, PartitionsPerTopic

    WriteCallback = Callable[[ErrorCode | None], None]

__all__ = ["Answer", "Context", "CoordinatorConfig", "Effects", "LogRecord", "Write"]

_DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class CoordinatorConfig:
    """Settings of a coordinator, named after the broker's settings for classic groups. Times are in milliseconds.

    Attributes:
        min_session_timeout_ms: Smallest session timeout that a member may request (`group.min.session.timeout.ms`).
        max_session_timeout_ms: Largest session timeout that a member may request (`group.max.session.timeout.ms`).
        initial_rebalance_delay_ms: Time that an empty group waits for more members after the first join
            (`group.initial.rebalance.delay.ms`). The wait is extended by the same time if a member joins during it, up
            to the first member's rebalance timeout.
        group_max_size: Largest number of members of a group (`group.max.size`).
        new_member_join_timeout_ms: Longest time for which the join of a new member waits; then the member is removed.
        offsets_retention_ms: Time for which unused offsets are kept (`offsets.retention.minutes`); 7 days by default.
        offsets_retention_check_interval_ms: Time between searches for expired offsets
            (`offsets.retention.check.interval.ms`).
        offset_metadata_max_size: Greatest length of the metadata committed with an offset, in UTF-16 units
            (`offset.metadata.max.bytes`).

    Raises:
        WrongTypeError: A setting is not an int.
        IllegalArgumentError: A setting is negative or too large, or the smallest session timeout exceeds the largest.

    Example:
        >>> CoordinatorConfig(initial_rebalance_delay_ms=0).offsets_retention_ms // (24 * 60 * 60 * 1000)
        7
    """

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = 2**31 - 1
    new_member_join_timeout_ms: int = 300_000
    offsets_retention_ms: int = 7 * _DAY_MS
    offsets_retention_check_interval_ms: int = 600_000
    offset_metadata_max_size: int = 4_096

    def __post_init__(self) -> None:
        least = {"group_max_size": 1, "offsets_retention_check_interval_ms": 1, "offsets_retention_ms": 1}
        for field in fields(self):
            value = read_int(getattr(self, field.name), f"CoordinatorConfig: {field.name}", bits=64)
            if value < least.get(field.name, 0):
                raise IllegalArgumentError(
                    f"CoordinatorConfig: {field.name} must be >= {least.get(field.name, 0)}, not {value}"
                )
        if self.min_session_timeout_ms > self.max_session_timeout_ms:
            raise IllegalArgumentError(
                f"CoordinatorConfig: min_session_timeout_ms ({self.min_session_timeout_ms}) must be <= "
                f"max_session_timeout_ms ({self.max_session_timeout_ms})"
            )


class LogRecord(NamedTuple):
    """One record for `__consumer_offsets`, as bytes; a value of None is a tombstone.

    Attributes:
        key: Key of the record.
        value: Value of the record; None for a tombstone.
    """

    key: bytes
    value: bytes | None


class Write(NamedTuple):
    """Records to write together.

    Attributes:
        number: Argument for `Coordinator.written` or `Coordinator.write_failed`; ascending from 1.
        group_id: Group of the records, which selects the partition of the log (`offsets.coordinator_partition`).
        records: The records, in the order of the log.
    """

    number: int
    group_id: str
    records: tuple[LogRecord, ...]


class Answer(NamedTuple):
    """An answer to a request.

    Attributes:
        correlation: Object that the caller passed with the request.
        response: The answer.
    """

    correlation: object
    response: Response


class Effects(NamedTuple):
    """Effects of a call, each kind in order of occurrence.

    Attributes:
        writes: Records to write before the answers are sent.
        answers: Answers to this request and to requests that waited.
        rebalances: Rebalances that began.
        problems: Sentences about problems, such as a subscription that cannot be read.
        next_deadline: Time at which to call `expire` unless another call comes first; None if no timer is set.
    """

    writes: tuple[Write, ...] = ()
    answers: tuple[Answer, ...] = ()
    rebalances: tuple[Rebalance, ...] = ()
    problems: tuple[str, ...] = ()
    next_deadline: int | None = None

    @property
    def records(self) -> tuple[LogRecord, ...]:
        """Records of all writes, in order."""
        return tuple(record for write in self.writes for record in write.records)


class Context:
    """State of one coordinator, and the effects of its current call.

    Attributes:
        config: The settings.
        groups: Groups by id.
        timers: Timers of all groups.
        topics: Topics of the cluster.
        assignor: The coordinator's own assignor.
        make_member_id: Function that returns a new member id for a client id or instance id.
        now: Time of the current event. Within one call, each timer fires at its own deadline.
        last_write: Number of the latest write.
        commits_in_flight: Number of unconfirmed offset commits by group id.
        latest_offset_writes: Latest completed write of each partition's offset, while other writes are unconfirmed.
        advances_to: Time of the present call, up to which timers fire.
        retention_timer: Timer of the next search for expired offsets.
        answers: Answers of the current call.
    """

    def __init__(
        self,
        config: CoordinatorConfig,
        assignor: PartitionAssignor | None,
        partitions_per_topic: PartitionsPerTopic | None,
        make_member_id: Callable[[str], str],
        *,
        confirm_writes: bool,
    ) -> None:
        self.config = config
        self.groups: dict[str, ClassicGroup] = {}
        self.timers = Timers()
        self.topics = CoordinatorTopics(partitions_per_topic)
        self.assignor = CoordinatorAssignor(assignor, self.topics)
        self.make_member_id = make_member_id
        self.now = 0
        self.advances_to = 0
        self.last_write = 0
        self.commits_in_flight: Counter[str] = Counter()
        self.latest_offset_writes: dict[tuple[str, TopicPartition], int] = {}
        self.retention_timer = Timer(TimerKind.RETENTION_CHECK)
        self.answers: list[Answer] = []
        self._confirm_writes = confirm_writes
        self._unconfirmed: dict[int, WriteCallback] = {}
        self._writes: list[Write] = []
        self._rebalances: list[Rebalance] = []
        self._problems: list[str] = []

    # Groups

    def create_group(self, group_id: str) -> ClassicGroup:
        """Create an Empty group."""
        group = self.groups[group_id] = ClassicGroup(TimerKind.JOIN_PHASE, group_id, state_since=self.now)
        return group

    def discard_group(self, group: ClassicGroup) -> None:
        """Remove a group and its timers, unless another group has taken its id."""
        if self.groups.get(group.group_id) is group:
            del self.groups[group.group_id]
            self.cancel_timers(group)

    def cancel_timers(self, group: ClassicGroup) -> None:
        """Cancel all timers of a group."""
        self.timers.cancel(group)
        for timer in group.pending_joins.values():
            self.timers.cancel(timer)
        for member in group.members.values():
            self.timers.cancel(member)

    # Effects

    def answer(self, pending: PendingRequest, response: Response) -> None:
        """Answer a request, unless it already has an answer."""
        if not pending.is_answered:
            pending.is_answered = True
            self.answers.append(make(Answer, (pending.correlation, response)))

    def report_rebalance(self, group: ClassicGroup, fact: Fact) -> None:
        """Report the start of a rebalance, with its cause."""
        self._rebalances.append(Rebalance(group.group_id, group.generation, *fact.explain(), self.now))

    def report_problem(self, sentence: str) -> None:
        """Report a problem, such as a subscription that cannot be read."""
        self._problems.append(sentence)

    def write(self, group_id: str, records: Iterable[LogRecord], callback: WriteCallback) -> None:
        """Write records, and call `callback` when the write completes: with None, or with the error if it failed."""
        self.last_write += 1
        self._writes.append(Write(self.last_write, group_id, tuple(records)))
        if self._confirm_writes:
            self._unconfirmed[self.last_write] = callback
        else:
            callback(None)

    def after_write(self, number: int, callback: WriteCallback) -> None:
        """Call `callback` after the callback of a write, or immediately if the write has completed."""
        first = self._unconfirmed.get(number)
        if first is None:
            callback(None)
            return

        def both(error: ErrorCode | None) -> None:
            first(error)
            callback(error)

        self._unconfirmed[number] = both

    def complete_write(self, number: int, error: ErrorCode | None) -> None:
        """Call the callback of a write.

        Raises:
            IllegalStateError: No unconfirmed write has this number.
        """
        callback = self._unconfirmed.pop(number, None)
        if callback is None:
            raise IllegalStateError(f"write {number} is not waiting for confirmation")
        callback(error)

    def fail_writes(self, error: ErrorCode) -> None:
        """Call the callbacks of all unconfirmed writes with an error."""
        unconfirmed, self._unconfirmed = self._unconfirmed, {}
        for callback in unconfirmed.values():
            callback(error)

    @property
    def is_settled(self) -> bool:
        """True if all writes are confirmed."""
        return not self._unconfirmed

    def take_effects(self, next_deadline: int | None) -> Effects:
        """Return all effects since the previous call."""
        answers = tuple(self.answers)
        self.answers.clear()
        if not (self._writes or self._rebalances or self._problems):
            return make(Effects, ((), answers, (), (), next_deadline))
        effects = Effects(tuple(self._writes), answers, tuple(self._rebalances), tuple(self._problems), next_deadline)
        for kind in (self._writes, self._rebalances, self._problems):
            kind.clear()
        return effects

"""Replay of the vectors of the kind `subscription_state`: operations of Kafka's SubscriptionState class.

The files are `subscription_state_*.jsonl.gz` in `tests/vectors` or in the folder `ASSIGNOR_VECTORS`, with a trace per
line. A trace has a default reset strategy, the visible state at the start, and steps. A step has an operation, its
outcome, and the visible state after it. Nothing is skipped: an unknown operation or field is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from assignor import SubscriptionState, TopicPartition
from assignor.errors import (
    AssignorError,
    IllegalArgumentError,
    IllegalStateError,
    NoOffsetForPartitionError,
    NullArgumentError,
)
from assignor.matching import TopicPattern
from assignor.ordering import java_order
from assignor.subscription_state import (
    AutoOffsetResetStrategy,
    EpochEndOffset,
    FetchPosition,
    IsolationLevel,
    LeaderAndEpoch,
    Node,
    SubscriptionPattern,
)
from tests.support.vector_fields import check_fields, without_metadata
from tests.support.vector_files import of_kind

KIND = "subscription_state"

Json = dict[str, Any]

JAVA_NAMES = {
    IllegalArgumentError: "IllegalArgumentException",
    IllegalStateError: "IllegalStateException",
    NoOffsetForPartitionError: "NoOffsetForPartitionException",
    NullArgumentError: "NullPointerException",
}


@dataclass(frozen=True)
class Listener:
    """Rebalance listener with a name and without behaviour."""

    name: str

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Do nothing."""

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Do nothing."""


class Replay:
    """Subscription state, and the clock that the operation `tick` advances."""

    def __init__(self, default_strategy: str | None) -> None:
        self.now = 0
        self.state = SubscriptionState(default_strategy)

    def outcome(self, name: str, do: Json) -> Json:
        """Return the outcome of an operation in the format of the vectors."""
        operation = OPERATIONS.get(do.get("op", ""))
        if operation is None:
            raise ValueError(f"{name}: unknown operation: {do.get('op')!r}")
        check_fields(KIND, f"{name}: {do['op']}", do, {"op", *operation.needs}, operation.takes)
        try:
            return {"returns": shown(operation.apply(self, do))}
        except AssignorError as error:
            message = None if isinstance(error, NullArgumentError) else str(error)
            return {"raises": [JAVA_NAMES.get(type(error), type(error).__name__), message]}

    def visible(self) -> Json:
        """Return the visible state, and the private fields that the vectors read by reflection."""
        state = self.state
        pattern, re2j_pattern = state.subscribed_pattern, state.subscription_pattern()
        listener = state.rebalance_listener()
        try:
            consumed = {
                tp_name(tp): [found.offset, found.leader_epoch, found.metadata]
                for tp, found in state.all_consumed().items()
            }
        except IllegalArgumentError as error:
            consumed = {"raises": ["IllegalArgumentException", str(error)]}
        return {
            "now": self.now,
            "type": state.subscription_type.name,
            "auto_assigned": state.has_auto_assigned_partitions(),
            "has_pattern": state.has_pattern_subscription(),
            "nothing": state.has_no_subscription_or_user_assignment(),
            "pattern": None if pattern is None else pattern.pattern,
            "re2j_pattern": None if re2j_pattern is None else re2j_pattern.pattern,
            "listener": listener.name if isinstance(listener, Listener) else None,
            "assignment_id": state.assignment_id(),
            "subscription": sorted(state.subscription(), key=java_order),
            "metadata_topics": sorted(state.metadata_topics(), key=java_order),
            "assigned": [tp_name(tp) for tp in state.assigned_partitions_list()],
            "num_assigned": state.num_assigned_partitions(),
            "fetchable": [tp_name(tp) for tp in state.fetchable_partitions()],
            "paused": tp_names(state.paused_partitions()),
            "initializing": tp_names(state.initializing_partitions()),
            "needing_reset": tp_names(state.partitions_needing_reset(self.now)),
            "needing_validation": tp_names(state.partitions_needing_validation(self.now)),
            "all_positions": state.has_all_fetch_positions(),
            "all_consumed": consumed,
            "partitions": {tp_name(tp): self._partition(tp) for tp in state.assigned_partitions_list()},
        }

    def _partition(self, tp: TopicPartition) -> Json:
        state, hidden = self.state, self.state._assignment.partitions[tp]
        return {
            "state": hidden.fetch_state.name,
            "position": shown(state.position(tp)),
            "valid": state.has_valid_position(tp),
            "paused": state.is_paused(tp),
            "fetchable": state.is_fetchable(tp),
            "reset_needed": state.is_offset_reset_needed(tp),
            "strategy": shown(state.reset_strategy(tp)),
            "pending_revocation": hidden.pending_revocation,
            "pending_callback": hidden.pending_callback,
            "retry_at": hidden.retry_at,
            "high_watermark": hidden.high_watermark,
            "last_stable": hidden.last_stable,
            "log_start": hidden.log_start,
            "replica": hidden.replica,
            "replica_expires": hidden.replica_expires,
            "end_requested": state.partition_end_offset_requested(tp),
        }


# ---- arguments and results of operations


def tp_name(tp: TopicPartition) -> str:
    """Return the name of a partition in the vectors."""
    return f"{tp.topic}-{tp.partition}"


def tp_names(partitions: Collection[TopicPartition]) -> list[str]:
    """Return the names of unordered partitions, sorted."""
    return sorted(map(tp_name, partitions), key=java_order)


def read_tp(name: str) -> TopicPartition:
    """Return the partition with this name; topic names may contain `-`."""
    topic, _, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition))


def read_tps(names: list[str]) -> list[TopicPartition]:
    """Return distinct partitions in the order of Java's LinkedHashSet."""
    return list(dict.fromkeys(map(read_tp, names)))


def read_leader(id: int | None, epoch: int | None) -> LeaderAndEpoch:
    """Return a leader and its epoch."""
    return LeaderAndEpoch(None if id is None else Node(id, f"h{id}", 9092), epoch)


def read_position(given: list[Any]) -> FetchPosition:
    """Return the position for [offset, offset epoch, leader id, leader epoch]."""
    offset, epoch, leader, leader_epoch = given
    return FetchPosition(offset, epoch, read_leader(leader, leader_epoch))


def shown(value: Any) -> Any:
    """Return a value in the format of the vectors."""
    if isinstance(value, FetchPosition):
        node, epoch = value.current_leader
        return [value.offset, value.offset_epoch, None if node is None else node.id, epoch]
    if isinstance(value, AutoOffsetResetStrategy):
        return value.name
    return value


# ---- the operations


class Operation(NamedTuple):
    """Function of an operation, its required fields and its optional fields."""

    apply: Callable[[Replay, Json], Any]
    needs: set[str]
    takes: set[str] = set()  # noqa: RUF012 - never modified


def _tick(replay: Replay, do: Json) -> None:
    replay.now += do["ms"]


def _subscribe(read: Callable[[Any], Any], field: str, returns: bool) -> Operation:
    def apply(replay: Replay, do: Json) -> bool | None:
        name = do.get("listener")
        changed = replay.state.subscribe(read(do[field]), None if name is None else Listener(name))
        return changed if returns else None

    return Operation(apply, {field}, {"listener"})


def _on_nothing(method: str) -> Operation:
    return Operation(lambda replay, _: getattr(replay.state, method)(), set())


def _on_topics(method: str) -> Operation:
    return Operation(lambda replay, do: getattr(replay.state, method)(do["topics"]), {"topics"})


def _on_topic(method: str) -> Operation:
    return Operation(lambda replay, do: getattr(replay.state, method)(do["topic"]), {"topic"})


def _on_partitions(method: str) -> Operation:
    return Operation(lambda replay, do: getattr(replay.state, method)(read_tps(do["partitions"])), {"partitions"})


def _on_partition(method: str, **fields: Callable[[Any], Any]) -> Operation:
    def apply(replay: Replay, do: Json) -> Any:
        return getattr(replay.state, method)(read_tp(do["tp"]), *(read(do[name]) for name, read in fields.items()))

    return Operation(apply, {"tp", *fields})


def _same(value: Any) -> Any:
    return value


def _at(at: int) -> Callable[[], int]:
    return lambda: at


def _isolation(name: str) -> IsolationLevel:
    return IsolationLevel[name.upper()]


def _awaiting(replay: Replay, do: Json) -> None:
    partitions, added = read_tps(do["partitions"]), read_tps(do["added"])
    replay.state.assign_from_subscribed_awaiting_callback(partitions, added)


def _maybe_validate(replay: Replay, do: Json) -> bool:
    usable = {"new": True, "unknown": True, "old": False}[do["api"]]
    leader = read_leader(*do["leader"])
    return replay.state.maybe_validate_position_for_current_leader(usable, read_tp(do["tp"]), leader)


def _maybe_complete(replay: Replay, do: Json) -> Json | None:
    end = EpochEndOffset(do["end_epoch"], do["end_offset"])
    found = replay.state.maybe_complete_validation(read_tp(do["tp"]), read_position(do["position"]), end)
    if found is None:
        return None
    divergent = found.divergent_offset
    return {
        "tp": tp_name(found.topic_partition),
        "position": shown(found.fetch_position),
        "divergent": None if divergent is None else [divergent.offset, divergent.leader_epoch],
    }


def _request_reset(replay: Replay, do: Json) -> None:
    given = [do["strategy"]] if "strategy" in do else []
    replay.state.request_offset_reset(read_tp(do["tp"]), *given)


def _request_reset_many(replay: Replay, do: Json) -> None:
    replay.state.request_offset_reset(read_tps(do["partitions"]), do["strategy"])


def _reset_initializing(replay: Replay, do: Json) -> None:
    given = [set(read_tps(do["only"])).__contains__] if "only" in do else []
    replay.state.reset_initializing_positions(*given)


def _retry(method: str) -> Operation:
    def apply(replay: Replay, do: Json) -> None:
        getattr(replay.state, method)(read_tps(do["partitions"]), do["at"])

    return Operation(apply, {"partitions", "at"})


OPERATIONS = {
    "tick": Operation(_tick, {"ms"}),
    "subscribe_topics": _subscribe(set, "topics", returns=True),
    "subscribe_pattern": _subscribe(TopicPattern, "pattern", returns=False),
    "subscribe_re2j": _subscribe(SubscriptionPattern, "pattern", returns=False),
    "subscribe_share": _on_topics("subscribe_to_share_group"),
    "subscribe_from_pattern": _on_topics("subscribe_from_pattern"),
    "group_subscribe": _on_topics("group_subscribe"),
    "reset_group_subscription": _on_nothing("reset_group_subscription"),
    "assign_from_user": _on_partitions("assign_from_user"),
    "check_assignment": _on_partitions("check_assignment_matched_subscription"),
    "assign_from_subscribed": _on_partitions("assign_from_subscribed"),
    "assign_from_subscribed_awaiting": Operation(_awaiting, {"partitions", "added"}),
    "enable_awaiting": _on_partitions("enable_partitions_awaiting_callback"),
    "unsubscribe": _on_nothing("unsubscribe"),
    "matches_pattern": _on_topic("matches_subscribed_pattern"),
    "needs_metadata": _on_topic("needs_metadata"),
    "seek": _on_partition("seek", offset=_same),
    "seek_validated": _on_partition("seek_validated", position=read_position),
    "seek_unvalidated": _on_partition("seek_unvalidated", position=read_position),
    "maybe_seek_unvalidated": _on_partition("maybe_seek_unvalidated", position=read_position, strategy=_same),
    "set_position": _on_partition("position", position=read_position),
    "get_position": _on_partition("position"),
    "position_or_null": _on_partition("position_or_null"),
    "valid_position": _on_partition("valid_position"),
    "maybe_validate_position": Operation(_maybe_validate, {"tp", "leader", "api"}),
    "maybe_complete_validation": Operation(_maybe_complete, {"tp", "position", "end_offset", "end_epoch"}),
    "complete_validation": _on_partition("complete_validation"),
    "awaiting_validation": _on_partition("awaiting_validation"),
    "lag": _on_partition("partition_lag", isolation=_isolation),
    "end_offset": _on_partition("partition_end_offset", isolation=_isolation),
    "request_end_offset": _on_partition("request_partition_end_offset"),
    "end_offset_requested": _on_partition("partition_end_offset_requested"),
    "maybe_clear_end_offset_requested": _on_partition("maybe_clear_partition_end_offset_requested"),
    "lead": _on_partition("partition_lead"),
    "update_high_watermark": _on_partition("update_high_watermark", offset=_same),
    "update_last_stable": _on_partition("update_last_stable_offset", offset=_same),
    "try_high_watermark": _on_partition("try_updating_high_watermark", offset=_same),
    "try_last_stable": _on_partition("try_updating_last_stable_offset", offset=_same),
    "try_log_start": _on_partition("try_updating_log_start_offset", offset=_same),
    "update_replica": _on_partition("update_preferred_read_replica", replica=_same, expires=_at),
    "try_replica": _on_partition("try_updating_preferred_read_replica", replica=_same, expires=_at),
    "get_replica": Operation(
        lambda replay, do: replay.state.preferred_read_replica(read_tp(do["tp"]), replay.now), {"tp"}
    ),
    "clear_replica": _on_partition("clear_preferred_read_replica"),
    "request_reset": Operation(_request_reset, {"tp"}, {"strategy"}),
    "request_reset_many": Operation(_request_reset_many, {"partitions", "strategy"}),
    "request_reset_if_assigned": _on_partition("request_offset_reset_if_partition_assigned"),
    "set_next_retry": _retry("set_next_allowed_retry"),
    "request_failed": _retry("request_failed"),
    "is_reset_needed": _on_partition("is_offset_reset_needed"),
    "reset_strategy": _on_partition("reset_strategy"),
    "reset_initializing": Operation(_reset_initializing, set(), {"only"}),
    "pause": _on_partition("pause"),
    "resume": _on_partition("resume"),
    "is_paused": _on_partition("is_paused"),
    "is_fetchable": _on_partition("is_fetchable"),
    "is_assigned": _on_partition("is_assigned"),
    "has_valid_position": _on_partition("has_valid_position"),
    "mark_pending_revocation": _on_partitions("mark_pending_revocation"),
    "move_to_end": _on_partition("move_partition_to_end"),
    "has_default_policy": _on_nothing("has_default_offset_reset_policy"),
}
"""Operation by its name in the vectors."""


# ---- files and traces


def files(place: Path) -> list[Path]:
    """Return the files of the kind `subscription_state`; raise FileNotFoundError if there are none."""
    return of_kind(KIND, place, ".jsonl.gz")


def compare(trace: Json) -> int:
    """Compare every outcome and state of a trace with Kafka's; return the number of steps."""
    name = str(trace.get("name"))
    check_fields(KIND, name, trace, {"default_strategy", "start", "steps"})
    replay = Replay(trace["default_strategy"])
    _same_state(f"{name}, at the start", trace["start"], replay.visible())
    for number, step in enumerate(trace["steps"]):
        where = f"{name}, step {number}, {step.get('do')}"
        outcome = "raises" if "raises" in step else "returns"
        check_fields(KIND, where, step, {"do", outcome, "state"})
        found = replay.outcome(where, step["do"])
        assert without_metadata(KIND, {outcome: step[outcome]}, found) == found, where
        _same_state(where, step["state"], replay.visible())
    return len(trace["steps"])


def _same_state(where: str, expected: Json, visible: Json) -> None:
    check_fields(KIND, where, expected, visible)
    for field, value in visible.items():
        assert without_metadata(KIND, expected[field], value) == value, f"{where}: {field}"

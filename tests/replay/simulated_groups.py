"""Simulated clients of classic groups, their coordinator and its log, for the tests of replay.

`Simulation` sends the requests that Kafka's clients send: they join with real assignors, sync, send heartbeats, commit,
leave, crash, return, and change their topics; topics are created, grow and are deleted; the coordinator restarts and
reads its log. Nothing here reads a value that the coordinator wrote: a `Written` has the state of the group as the
coordinator describes it, and the other attributes have what the clients and the coordinator did.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assignor import TopicPartition, Topics
from assignor.coordinator import (
    Coordinator,
    CoordinatorConfig,
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetToCommit,
    RebalanceCause,
    SyncGroupRequest,
    SyncGroupResponse,
)
from assignor.offsets import decode_record
from assignor.wire import decode_assignment, decode_subscription
from tests.replay.simulated_client import COOPERATIVE, OFFERS, Client
from tests.replay.simulated_log import Commit, Known, Record, TopicState, Written

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    from assignor.coordinator import Effects

GROUP_METADATA = 2
TICK, SESSION, REBALANCE, RETENTION = 500, 6_000, 10_000, 40_000
CONFIG = CoordinatorConfig(
    initial_rebalance_delay_ms=TICK, offsets_retention_ms=RETENTION, offsets_retention_check_interval_ms=6_789
)
ACTIONS = [
    *(
        name
        for name, share in (("start", 3), ("close", 3), ("crash", 2), ("change topics", 2), ("wake", 2))
        for _ in range(share)
    ),
    *("cluster", "cluster", "stall", "restart", "remove", "seek", "delete", "reset", "reload"),
]
"""Changes of a group, of the cluster and of the coordinator, some of them more likely than others."""

EXPIRED = frozenset({"consumer_dead", "application_crashed"})


@dataclass
class Simulation:
    """Groups of one coordinator.

    Attributes:
        log: All records, with offsets and times.
        written: The group records of the log, as the coordinator describes the group.
        causes: First cause of the rebalance that leads to a generation, by (group, generation).
        departures: Causes of the absence of a member, by member id.
        commits: Accepted commits and deleted offsets, in order.
        snapshots: Topics of the cluster by time.
        reloads: Times at which a new coordinator read the log.
    """

    rng: random.Random
    groups: int = 1
    now: int = 1_000_000
    topics: dict[str, int] = field(default_factory=lambda: {"t": 4, "u": 3, "other": 1})
    log: list[Record] = field(default_factory=list)
    written: list[Written] = field(default_factory=list)
    causes: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)
    departures: dict[str, frozenset[str]] = field(default_factory=dict)
    commits: list[Commit] = field(default_factory=list)
    snapshots: dict[int, dict[str, TopicState]] = field(default_factory=dict)
    reloads: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clients: list[Client] = []
        self.issued = itertools.count(1)
        self.created = dict.fromkeys(self.topics, 0)
        self.names = [f"g{place}" for place in range(self.groups)]
        self.offers = {name: self.rng.choice(OFFERS) for name in self.names}
        self.coordinator = self.new_coordinator()
        self.observe()

    def new_coordinator(self) -> Coordinator:
        return Coordinator(
            CONFIG, partitions_per_topic=self.topics, member_ids=lambda name: f"{name}-{next(self.issued)}"
        )

    def observe(self) -> None:
        """Take a snapshot of the topics."""
        self.snapshots[self.now] = {name: TopicState(self.created[name], count) for name, count in self.topics.items()}

    # ---- effects

    def take(self, effects: Effects) -> None:
        """Append the records to the log, and pass the answers to the clients."""
        assert not effects.problems, effects.problems
        for rebalance in effects.rebalances:
            cause = rebalance.cause.name.lower()
            self.causes.setdefault((rebalance.group_id, rebalance.generation + 1), (cause, rebalance.reason))
            if rebalance.cause is RebalanceCause.SYNC_TIMED_OUT:
                group = rebalance.group_id
                late = [each.member_id for each in self.clients if each.group == group and each.is_unsynced]
                self.departures.update(dict.fromkeys(late, frozenset({cause})))
        for key, value in effects.records:
            record = decode_record(key, value)
            self.log.append((len(self.log), self.now, key, value))
            assert record.group is not None
            if record.type != GROUP_METADATA and value is None:
                place = record.key["topic"], record.key["partition"]
                self.commits.append(Commit(record.group, *place, self.now, None, None))
            if record.type == GROUP_METADATA:
                self.written.append(self.describe(record.group, is_tombstone=value is None))
                if value is None:
                    self.causes = {place: cause for place, cause in self.causes.items() if place[0] != record.group}
        for answer in effects.answers:
            client, number = answer.correlation if isinstance(answer.correlation, tuple) else (None, 0)
            if isinstance(client, Client) and client.requests == number:
                self.answered(client, answer.response)

    def describe(self, group: str, *, is_tombstone: bool) -> Written:
        """Return the state of a group whose record was written."""
        found = self.coordinator.describe(group)
        last = next((each for each in reversed(self.written) if each.group == group), None)
        cause = self.causes.get((group, found.generation), ("", ""))
        place, generation = (len(self.log) - 1, self.now, group), found.generation
        names: tuple[str, str | None, str | None] = "", None, None
        members = None
        if not is_tombstone and found.state not in (GroupState.STABLE, GroupState.EMPTY):
            generation, members = 0, {}  # the record of a new group
        elif not is_tombstone:
            names = found.protocol_type, found.protocol or None, found.leader
            members = {
                each.member_id: Known(
                    each.group_instance_id,
                    frozenset(decode_subscription(each.metadata).topics),
                    frozenset(decode_assignment(each.assignment).partitions),
                    each.metadata,
                )
                for each in found.members
            }
        is_first = last is None or last.members is None or last.generation != generation
        began = self.now if last is None or is_first else last.began
        return Written(*place, generation, *names, is_first, began, members, cause)

    def answered(self, client: Client, response: Any) -> None:
        """Act on the answer to the last request of a client."""
        if isinstance(response, OffsetCommitResponse):
            return
        error = response.error_code
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.ILLEGAL_GENERATION):
            client.forget()
        elif error is ErrorCode.REBALANCE_IN_PROGRESS:
            client.has_to_join, client.is_waiting = True, False
        elif error is ErrorCode.MEMBER_ID_REQUIRED:
            client.member_id = response.member_id
            self.join(client)
        elif isinstance(response, JoinGroupResponse):
            assert error is ErrorCode.NONE, error
            client.member_id, client.generation = response.member_id, response.generation_id
            client.has_to_join = False
            if client.is_unsynced:  # it sends heartbeats, but no sync
                client.is_waiting = False
            elif client.life == "alive":
                self.sync(client, response)
        elif isinstance(response, SyncGroupResponse):
            assert error is ErrorCode.NONE, error
            client.is_waiting = False
            assigned = decode_assignment(response.assignment).partitions
            for assignor in client.assignors.values():
                assignor.on_assignment(assigned, client.generation)
            # A cooperative client gives up the partitions that it does not get, and joins again.
            client.has_to_join = COOPERATIVE in client.assignors and not set(client.owned) <= set(assigned)
            client.owned = assigned

    # ---- requests

    def call(self, client: Client, verb: str, request: Any) -> None:
        client.requests += 1
        self.take(getattr(self.coordinator, verb)(request, self.now, (client, client.requests)))

    def join(self, client: Client) -> None:
        client.is_waiting, client.has_to_join, client.late_sync = True, False, None
        request = JoinGroupRequest(
            client.group,
            client.member_id,
            protocols=client.protocols(self.topics),
            session_timeout_ms=SESSION,
            rebalance_timeout_ms=REBALANCE,
            group_instance_id=client.instance,
            client_id=client.name,
            version=5,
        )
        self.call(client, "join_group", request)

    def sync(self, client: Client, joined: JoinGroupResponse) -> None:
        """Send a sync. The leader first assigns the partitions with the selected assignor, and may then be late."""
        assignments: dict[str, bytes] = {}
        client.leads = None
        if joined.members:
            members = [(each.member_id, each.group_instance_id, each.metadata) for each in joined.members]
            assignor = client.assignors[joined.protocol_name or ""]
            assignments = assignor.assign_encoded(Topics(self.topics), members, version=3)
            subscribed = {topic for *_, data in members for topic in decode_subscription(data).topics}
            client.leads = {topic: self.topics.get(topic) for topic in subscribed}
        member = client.generation, client.member_id, client.instance
        request = SyncGroupRequest(client.group, *member, assignments=tuple(assignments.items()), version=3)
        if joined.members and self.rng.random() < 0.2:
            client.late_sync = request
        else:
            self.call(client, "sync_group", request)

    def beat(self, client: Client) -> None:
        request = HeartbeatRequest(client.group, client.generation, client.member_id, client.instance, version=3)
        self.call(client, "heartbeat", request)

    def commit(self, client: Client, positions: Iterable[tuple[TopicPartition, int]]) -> None:
        entries = tuple(OffsetToCommit(topic, id, offset) for (topic, id), offset in positions)
        if entries:
            request = OffsetCommitRequest(client.group, entries, client.generation, client.member_id, client.instance)
            self.store(client.group, client.member_id, request)

    def store(self, group: str, member_id: str | None, request: OffsetCommitRequest) -> None:
        """Commit offsets, and note those that the coordinator accepts."""
        effects = self.coordinator.offset_commit(request, self.now)
        self.take(effects)
        (answer,) = effects.answers
        assert isinstance(answer.response, OffsetCommitResponse)
        offsets = {(each.topic, each.partition): each.offset for each in request.offsets}
        for topic, id, error in answer.response.partitions:
            if error is ErrorCode.NONE:
                self.commits.append(Commit(group, topic, id, self.now, member_id, offsets[topic, id]))

    def leave(self, client: Client, *, is_removed: bool = False) -> None:
        """Close a client, or remove a static member by its instance id."""
        before = {each.member_id for each in self.coordinator.describe(client.group).members}
        leaving = LeavingMember("" if is_removed else client.member_id, client.instance)
        self.take(self.coordinator.leave_group(LeaveGroupRequest(client.group, (leaving,), version=3), self.now))
        if client.member_id in before:
            cause = "member_removed" if is_removed else "consumer_closed"
            self.departures[client.member_id] = frozenset({cause})
        if not is_removed:
            client.life = "gone"

    # ---- the course of time

    def tick(self, count: int) -> None:
        """Fire the timers of a time step, and let each client do what is due."""
        end = self.now + TICK
        while (deadline := self.coordinator.next_deadline()) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self.take(self.coordinator.expire(self.now))
        self.now = end
        self.take(self.coordinator.expire(end))
        for client in self.clients:
            if client.late_sync is not None and client.life == "alive":
                request, client.late_sync = client.late_sync, None
                self.call(client, "sync_group", request)
            if client.life not in ("alive", "stalled") or client.is_waiting:
                continue
            if client.generation >= 0:
                self.beat(client)
            sizes = client.leads or {}
            if client.topics is None and client.generation >= 0:
                client.has_to_join |= any(topic not in sizes for topic in self.topics) and client.leads is not None
            client.has_to_join |= any(self.topics.get(topic) != size for topic, size in sizes.items())
            if client.life == "alive" and client.has_to_join and not client.is_waiting:
                self.join(client)
            elif count % 4 == 0 and client.life == "alive" and not client.is_unsynced and client.generation >= 0:
                self.commit(client, [(each, count // 4) for each in client.owned])

    def run(self, ticks: int, changes: float = 0.12) -> Simulation:
        """Run for a number of time steps, with this probability of a random change in each group and step."""
        for count in range(ticks):
            self.tick(count)
            for group in self.names:
                if self.rng.random() < changes:
                    self.change(group)
        return self

    def change(self, group: str) -> None:
        """Make one random change of a group or of the cluster."""
        rng = self.rng
        present = [client for client in self.clients if client.group == group and client.life != "gone"]
        alive = [client for client in present if client.life == "alive" and not client.is_waiting and client.member_id]
        action = rng.choice(ACTIONS)
        if self.coordinator.describe(group).state is GroupState.COMPLETING_REBALANCE:
            action = rng.choice([action, "restart"])  # this state is short
        if action == "start" or len(present) < 2 < rng.randrange(9):
            name = f"{group}-c{len(self.clients)}"
            topics = rng.choice([["t"], ["t", "u"], ["t", "u"], ["t", "u", "v"], None])
            offered = {kind.name: kind() for kind in self.offers[group]}
            client = Client(name, group, rng.choice([None, name]), topics, offered)
            client.is_unsynced = rng.random() < 0.15
            self.clients.append(client)
            self.join(client)
        elif action == "cluster":
            self.change_topics()
        elif action == "reload":
            self.reload()
        elif action == "delete":
            for client in present if rng.random() < 0.3 else ():
                self.leave(client)
            self.take(self.coordinator.delete_group(group, self.now))
        elif action == "reset" and self.coordinator.describe(group).state is GroupState.EMPTY:
            entries = tuple(OffsetToCommit("t", id, rng.randrange(20)) for id in range(2) if "t" in self.topics)
            if entries:
                self.store(group, None, OffsetCommitRequest(group, entries))
        elif action == "wake":
            members = {each.member_id for each in self.coordinator.describe(group).members}
            for client in present:
                client.life, client.is_unsynced = "alive", False
                if client.member_id in members:
                    self.departures.pop(client.member_id, None)
        elif action == "restart":
            for client in [each for each in present if each.instance is not None and each.life == "alive"][:1]:
                client.assignors = dict(reversed(client.assignors.items()))
                client.forget()
                self.join(client)
        elif alive:
            self.change_client(action, rng.choice(alive))

    def change_client(self, action: str, client: Client) -> None:
        if action == "crash":
            client.life = "frozen"
            if self.rng.random() < 0.5:
                self.take(self.coordinator.disconnected(client.group, client.member_id, self.now))
            self.departures.setdefault(client.member_id, EXPIRED)
        elif action == "stall":
            client.life = "stalled"
        elif action == "close" and client.instance is None:
            self.commit(client, [(each, self.now // TICK) for each in client.owned[:1]])
            self.leave(client)
        elif action == "remove" and client.instance is not None:
            client.life = "gone"
            self.leave(client, is_removed=True)
        elif action == "change topics" and client.topics is not None:
            others = [topics for topics in (["t"], ["t", "u"], ["u"], ["t", "v"]) if topics != client.topics]
            client.topics = self.rng.choice(others)
            self.join(client)
        elif action == "seek":
            self.commit(client, [(each, self.rng.randrange(9)) for each in client.owned])

    def change_topics(self) -> None:
        """Create a topic, add a partition to it, or delete it. Do nothing while the assignment of a leader is late."""
        if any(client.late_sync for client in self.clients):
            return
        self.now += 1  # so that each record has a time before or after the change
        name, now = self.rng.choice("tuv"), self.now
        if name not in self.topics:
            self.topics[name], self.created[name] = self.rng.randrange(2, 6), now
        elif name == "v" or self.rng.random() < 0.2:
            del self.topics[name]
        else:
            self.topics[name] += 1
        self.observe()
        self.take(self.coordinator.update_metadata(self.topics, now))

    def reload(self) -> None:
        """Replace the coordinator by a new one that reads the log; requests without an answer are lost."""
        self.reloads.append(self.now)
        last = {each.group: each.generation for each in self.written}
        self.causes = {place: cause for place, cause in self.causes.items() if place[1] <= last.get(place[0], 0)}
        self.coordinator = self.new_coordinator()
        self.take(self.coordinator.load([record[2:] for record in self.log], self.now))
        for client in self.clients:
            client.requests += 1
            client.has_to_join |= client.is_waiting
            client.is_waiting = False

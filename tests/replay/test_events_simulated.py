"""Causes of rebalances of simulated groups, compared with the causes that the coordinator itself reports.

The coordinator of this package writes the same records as a broker and knows why each rebalance began. Consumers with
and without instance ids join, commit, leave, crash, return and change their topics; topics grow; members are removed.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from assignor import RangeAssignor, Subscription
from assignor.coordinator import (
    Coordinator,
    CoordinatorConfig,
    Effects,
    ErrorCode,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetToCommit,
    SyncGroupRequest,
)
from assignor.wire import decode_assignment, encode_subscription
from tests.replay.event_logs import replayed
from tests.support.record_bytes import LogRecord

START, TICK, SESSION = 1_000_000, 500, 6_000


@dataclass
class Client:
    """Consumer of the group; `is_silent` is True once it crashed or left, `is_unsynced` if it never syncs."""

    name: str
    instance: str | None
    topics: list[str]
    member_id: str = ""
    generation: int = -1
    is_waiting: bool = False
    is_silent: bool = False
    is_unsynced: bool = False
    offset: int = 0


@dataclass
class Simulation:
    """One group, its clients, and the log and the causes of its rebalances."""

    rng: random.Random
    now: int = START
    clients: list[Client] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=lambda: {"t": 4, "u": 3})
    records: list[LogRecord] = field(default_factory=list)
    causes: dict[int, str] = field(default_factory=dict)
    ids: int = 0

    def __post_init__(self) -> None:
        self.coordinator = Coordinator(
            CoordinatorConfig(initial_rebalance_delay_ms=0),
            assignor=RangeAssignor(),
            partitions_per_topic=self.topics,
            member_ids=self.new_id,
        )

    def new_id(self, name: str) -> str:
        self.ids += 1
        return f"{name}-{self.ids}"

    def take(self, effects: Effects) -> Effects:
        for record in effects.records:
            self.records.append(LogRecord(len(self.records), self.now, record.key, record.value))
        for rebalance in effects.rebalances:
            self.causes.setdefault(rebalance.generation + 1, rebalance.cause.name.lower())
        for answer in effects.answers:
            client, response = answer.correlation, answer.response
            if isinstance(client, Client) and isinstance(response, JoinGroupResponse):
                client.is_waiting = False
                client.member_id = response.member_id
                client.generation = response.generation_id
                if response.error_code is ErrorCode.UNKNOWN_MEMBER_ID:
                    client.member_id = ""
                elif not client.is_silent and not client.is_unsynced:
                    request = SyncGroupRequest("g", client.generation, client.member_id, client.instance, version=3)
                    self.take(self.coordinator.sync_group(request, self.now))
        return effects

    def join(self, client: Client) -> None:
        client.is_waiting = True
        request = JoinGroupRequest(
            "g",
            client.member_id,
            protocols=(("range", encode_subscription(Subscription(tuple(client.topics)))),),
            session_timeout_ms=SESSION,
            rebalance_timeout_ms=20_000,
            group_instance_id=client.instance,
            client_id=client.name,
            version=5 if client.instance else 3,
        )
        self.take(self.coordinator.join_group(request, self.now, correlation=client))

    def beat(self, client: Client) -> None:
        request = HeartbeatRequest("g", client.generation, client.member_id, client.instance, version=3)
        (answer,) = self.take(self.coordinator.heartbeat(request, self.now)).answers
        assert isinstance(answer.response, HeartbeatResponse)
        if answer.response.error_code is not ErrorCode.NONE:
            if answer.response.error_code is not ErrorCode.REBALANCE_IN_PROGRESS:
                client.member_id = ""
            self.join(client)

    def commit(self, client: Client) -> None:
        client.offset += 1
        members = {each.member_id: each for each in self.coordinator.describe("g").members}
        if client.member_id in members:
            owned = decode_assignment(members[client.member_id].assignment).partitions
            entries = [OffsetToCommit(topic, id, client.offset) for topic, id in owned]
            request = OffsetCommitRequest("g", tuple(entries), client.generation, client.member_id, client.instance)
            self.take(self.coordinator.offset_commit(request, self.now))

    def act(self) -> None:
        """Make one random change."""
        rng, alive = self.rng, [client for client in self.clients if not client.is_silent]
        action = rng.randrange(8)
        if action <= 1 or not alive:
            name = f"c{len(self.clients)}"
            self.clients.append(Client(name, rng.choice([None, name]), rng.choice([["t"], ["t", "u"]])))
            self.clients[-1].is_unsynced = rng.random() < 0.1
            self.join(self.clients[-1])
            return
        client = rng.choice(alive)
        if action == 2:
            client.is_silent = True
        elif action == 3 and client.instance is None and not client.is_waiting:
            self.commit(client)
            client.is_silent = True
            leaving = LeaveGroupRequest("g", (LeavingMember(client.member_id),))
            self.take(self.coordinator.leave_group(leaving, self.now))
        elif action == 4 and client.instance is not None and not client.is_waiting:
            client.member_id = ""
            self.join(client)
        elif action == 5 and client.instance is not None and not client.is_waiting:
            client.is_silent = True
            leaving = LeaveGroupRequest("g", (LeavingMember("", client.instance),))
            self.take(self.coordinator.leave_group(leaving, self.now))
        elif action == 6 and not client.is_waiting:
            client.topics = ["t"] if client.topics == ["t", "u"] else ["t", "u"]
            self.join(client)
        elif action == 7:
            self.topics["t"] += 1  # all members subscribe to it
            self.take(self.coordinator.update_metadata(self.topics, self.now))

    def run(self, ticks: int) -> None:
        for tick in range(ticks):
            self.now += TICK
            self.take(self.coordinator.expire(self.now))
            for client in self.clients:
                if not client.is_silent and not client.is_waiting:
                    self.beat(client)
                    if tick % 4 == 0 and not client.is_waiting and not client.is_unsynced:
                        self.commit(client)
            if self.rng.random() < 0.12:
                self.act()


def test_the_causes_include_the_reason_of_the_coordinator() -> None:
    reasons, lengths, wrong = Counter[str](), list[int](), []
    for seed in range(6):
        simulation = Simulation(random.Random(seed))
        simulation.run(300)
        events, _ = replayed({"g": simulation.records}, is_compared=False)
        for event in events:
            if event["event"] == "rebalance":
                reason, causes = simulation.causes[event["generation"]], event["causes"]
                reasons[reason] += 1
                lengths.append(len(causes))
                wrong += [] if reason in causes else [(seed, reason, causes, event["evidence"])]

    assert wrong == []
    assert len(reasons) >= 7, reasons
    assert sum(lengths) < 3 * len(lengths)

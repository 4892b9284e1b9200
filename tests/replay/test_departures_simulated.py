"""First causes of departures in logs of a coordinator, whose members die, close and exceed timeouts at known times.

Intervals, timeouts, numbers of members and times are drawn. `ASSIGNOR_SEED` sets the first seed.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from assignor import RangeAssignor, Subscription
from assignor.coordinator import (
    Coordinator,
    CoordinatorConfig,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetToCommit,
    SyncGroupRequest,
)
from assignor.replay import Replay
from assignor.wire import encode_subscription
from tests.replay.logs import metadata

if TYPE_CHECKING:
    from assignor.coordinator import Effects

Row = dict[str, Any]

SEED = int(os.environ.get("ASSIGNOR_SEED") or 0)
RUNS = 200 if os.environ.get("ASSIGNOR_PROFILE") == "long" else 6
GROUP, TOPIC, TICK, START = "billing", "orders", 250, 1_700_000_000_000
PROTOCOLS = (("range", encode_subscription(Subscription((TOPIC,)))),)


@dataclass
class Group:
    """A group with members that commit at a steady pace. The last one departs.

    Attributes:
        every: Time between two commits of a member.
        session: Session timeout.
        poll: Rebalance timeout, which is max.poll.interval.ms.
        members: Member ids by client.
        log: Records: offset, time, key and value.
    """

    every: int
    session: int
    poll: int
    members: dict[str, str] = field(default_factory=dict)
    log: list[tuple[int, int, bytes | None, bytes | None]] = field(default_factory=list)
    now: int = START
    committed: int = 0
    synced: int = 0
    silent: set[str] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)
    busy: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.coordinator = Coordinator(
            CoordinatorConfig(initial_rebalance_delay_ms=0),
            assignor=RangeAssignor(),
            partitions_per_topic={TOPIC: 12},
            member_ids=lambda client: self.members[client],
        )

    def write(self, effects: Effects) -> None:
        for record in effects.records:
            self.log.append((len(self.log), self.now, record.key, record.value))

    def join(self, client: str) -> None:
        member = self.members.get(client, "")
        self.members[client] = member or f"{client}-{len(self.log)}"
        self.write(
            self.coordinator.join_group(
                JoinGroupRequest(
                    GROUP,
                    member,
                    protocols=PROTOCOLS,
                    client_id=client,
                    session_timeout_ms=self.session,
                    rebalance_timeout_ms=self.poll,
                    version=3,
                ),
                self.now,
            )
        )

    def leave(self, client: str) -> None:
        request = LeaveGroupRequest(GROUP, (LeavingMember(self.members.pop(client)),))
        self.write(self.coordinator.leave_group(request, self.now))

    def commit(self, client: str) -> None:
        """Commit an offset of each partition of a member."""
        self.committed += 1
        ids = sorted(self.members.values())
        rank, (share, more) = ids.index(self.members[client]), divmod(12, len(ids))
        first = rank * share + min(rank, more)
        owned = range(first, first + share + (rank < more))
        offsets = tuple(OffsetToCommit(TOPIC, partition, self.committed) for partition in owned)
        request = OffsetCommitRequest(GROUP, offsets, self.synced, self.members[client])
        self.write(self.coordinator.offset_commit(request, self.now))

    def until(self, end: int) -> None:
        """Let time pass: members send heartbeats, join again, sync and commit."""
        heartbeat = min(self.session // 3, 3_000)
        while self.now < end:
            self.now += TICK
            self.write(self.coordinator.expire(self.now))
            described = self.coordinator.describe(GROUP)
            present = {each.member_id for each in described.members}
            self.members = {client: id for client, id in self.members.items() if id in present}
            alive = {client for client in self.members if client not in self.dead}
            if self.now % heartbeat < TICK:
                for client in sorted(alive):
                    beat = HeartbeatRequest(GROUP, described.generation, self.members[client])
                    self.write(self.coordinator.heartbeat(beat, self.now))
                if described.state is GroupState.PREPARING_REBALANCE:
                    for client in sorted(alive - self.busy):
                        self.join(client)
            described = self.coordinator.describe(GROUP)
            if described.state is not GroupState.PREPARING_REBALANCE and described.generation != self.synced:
                self.synced = described.generation
                for each in described.members:
                    sync = SyncGroupRequest(GROUP, described.generation, each.member_id, version=0)
                    self.write(self.coordinator.sync_group(sync, self.now))
            if described.state is GroupState.STABLE and (self.now - START) % self.every < TICK:
                for client in sorted(alive - self.silent):
                    self.commit(client)


def started(rng: random.Random) -> Group:
    """Return a group with some members that have committed for a while."""
    session = rng.choice([6_000, 10_000, 30_000, 45_000])
    poll = rng.choice([200_000, 300_000, 600_000])
    # A member whose pauses are longer than its session shows nothing by a pause of this length.
    every = rng.choice([every for every in (1_000, 2_000, 5_000, 10_000) if 2 * every < session])
    group = Group(every=every, session=session, poll=poll)
    for client in "abcd"[: rng.randint(1, 4)]:
        group.join(client)
        group.until(group.now + 4_000)
    group.until(group.now + group.every * rng.randint(8, 30) + rng.randrange(1_000))
    return group


def rebalances(group: Group) -> list[Row]:
    replay = Replay(metadata({0: {TOPIC: 12}}))
    events = [event for record in group.log for event in replay.push(record)] + replay.finish()
    return [event for event in events if event["event"] == "rebalance"]


def departed(group: Group, member: str) -> Row:
    """Return the rebalance after which a member is missing."""
    (found,) = (each for each in rebalances(group) if member in each["left"])
    return found


@pytest.mark.parametrize("run", range(RUNS))
@pytest.mark.parametrize("ending", ["dies", "works on", "closes", "is idle and closes", "does not join again"])
def test_the_first_cause_is_what_happened(ending: str, run: int) -> None:
    rng = random.Random(f"{SEED + run} {ending}")
    group = started(rng)
    client = max(group.members)
    member, begin = group.members[client], group.now
    if ending == "dies":
        group.dead.add(client)
        group.until(begin + 3 * group.session + 20_000)
        expected = ["consumer_dead"]
    elif ending == "works on":
        group.silent.add(client)
        group.until(begin + group.poll + rng.randrange(1_000))
        group.leave(client)
        expected = ["poll_interval_exceeded"]
    elif ending == "closes":
        group.until(begin + rng.randrange(group.every))
        group.leave(client)
        expected = ["consumer_closed"]
    elif ending == "is idle and closes":
        group.silent.add(client)
        longest = group.session + 3 * group.every + group.poll // 10 + group.session // 3 + 10_000
        group.until(begin + rng.randint(longest, group.poll - group.every - 10_000))
        group.leave(client)
        expected = ["consumer_closed"]
    else:
        if len(group.members) == 1:  # another member has to wait for the one that is busy
            group.join("aa")
            group.until(group.now + 12 * group.every + 5_000)
            client = max(group.members)
            member = group.members[client]
        group.silent.add(client)
        group.busy.add(client)
        group.join("new")
        group.until(group.now + group.poll + 20_000)
        expected = ["consumer_subscribed", "rejoin_timed_out"]
    group.until(group.now + 20_000)
    found = departed(group, member)

    assert found["causes"][: len(expected)] == expected, (found["evidence"], group.every, group.session, group.poll)
    assert "consumer_dead" in found["causes"] or ending == "closes"

"""Random requests of the classic group protocol to real brokers and to our coordinator: all responses must be equal.

About half of the sequences are new in each run, which prints all seeds. In the environment, ASSIGNOR_SEED is the first
new seed, and ASSIGNOR_SEQUENCES the number of sequences; a small number may not reach every error code.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import random
import sys
import time
from typing import TYPE_CHECKING

import pytest

from assignor.coordinator import Coordinator, CoordinatorConfig
from assignor.coordinator.requests import VERSIONS
from tests.broker.admin import Admin
from tests.broker.classic_comparison import replay
from tests.broker.classic_connection import Connections
from tests.broker.classic_counts import Counts, count
from tests.broker.classic_play import Played, Player
from tests.broker.classic_programs import PROFILES, SCRIPTED, TOPICS, Program, Step, draw
from tests.broker.cluster import Cluster
from tests.broker.running import running
from tests.coordinator.timer_rules import RULES
from tests.support.shrinking import shrink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from uuid import UUID

pytestmark = pytest.mark.broker

LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"
SEED = int(os.environ.get("ASSIGNOR_SEED") or random.randrange(10**6))
SEQUENCES = 2_000 if LONG else int(os.environ.get("ASSIGNOR_SEQUENCES", "240"))
SAME_SEEDS = range(168, 168 + SEQUENCES // 2)
"""Seeds of the sequences that are the same in each run. The broker answers them with every error code of CODES, so
that no code is missing by chance: the rarest code occurs once in 60 sequences.
"""
NEW_SEEDS = range(SEED, SEED + SEQUENCES - len(SAME_SEEDS) - len(SCRIPTED))
AT_ONCE = 24

BOUNDS = {"min_session_timeout_ms": 100, "max_session_timeout_ms": 600_000}
PLAIN = CoordinatorConfig(**BOUNDS, initial_rebalance_delay_ms=0)
SMALL = CoordinatorConfig(**BOUNDS, initial_rebalance_delay_ms=400, group_max_size=3)
SMALL_SETTINGS = {
    "group.initial.rebalance.delay.ms": str(SMALL.initial_rebalance_delay_ms),
    "group.max.size": str(SMALL.group_max_size),
}

CODES = {
    "JoinGroup": {
        "NONE",
        "FENCED_INSTANCE_ID",
        "GROUP_MAX_SIZE_REACHED",
        "INCONSISTENT_GROUP_PROTOCOL",
        "INVALID_GROUP_ID",
        "INVALID_SESSION_TIMEOUT",
        "MEMBER_ID_REQUIRED",
        "UNKNOWN_MEMBER_ID",
        "UNKNOWN_SERVER_ERROR",
    },
    "SyncGroup": {
        "NONE",
        "FENCED_INSTANCE_ID",
        "ILLEGAL_GENERATION",
        "INCONSISTENT_GROUP_PROTOCOL",
        "INVALID_GROUP_ID",
        "REBALANCE_IN_PROGRESS",
        "UNKNOWN_MEMBER_ID",
    },
    "Heartbeat": {
        "NONE",
        "FENCED_INSTANCE_ID",
        "ILLEGAL_GENERATION",
        "INVALID_GROUP_ID",
        "REBALANCE_IN_PROGRESS",
        "UNKNOWN_MEMBER_ID",
    },
    "LeaveGroup": {"NONE", "FENCED_INSTANCE_ID", "INVALID_GROUP_ID", "UNKNOWN_MEMBER_ID"},
    "OffsetCommit": {
        "NONE",
        "FENCED_INSTANCE_ID",
        "GROUP_ID_NOT_FOUND",
        "ILLEGAL_GENERATION",
        "OFFSET_METADATA_TOO_LARGE",
        "REBALANCE_IN_PROGRESS",
        "UNKNOWN_MEMBER_ID",
        "UNKNOWN_TOPIC_OR_PARTITION",
    },
    "DeleteGroups": {"NONE", "GROUP_ID_NOT_FOUND", "NON_EMPTY_GROUP"},
    "DescribeGroups": {"NONE", "GROUP_ID_NOT_FOUND"},
}
"""Error codes that a run must reach: all that a broker sends to members, except while it starts or stops.

COORDINATOR_NOT_AVAILABLE and NOT_COORDINATOR need a coordinator that moves, UNSUPPORTED_VERSION an unsupported version.
"""

STATES = {"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}

FREQUENT_RULES = (
    "a heartbeat in CompletingRebalance is answered REBALANCE_IN_PROGRESS",
    "a commit in CompletingRebalance is accepted",
    "a commit in PreparingRebalance is rejected",
    "the leader's rejoin in Stable does not rebalance",
    "members are in the order of their joins",
    "alphabetical order breaks ties of votes",
    "pending ids do not delay the end of the join phase",
    "absent static members are removed when the join phase ends",
    "assignments are cleared when a group leaves Stable",
    "the generation stays the same when the group becomes Empty",
    "session timeouts are doubled",
    "the size of the group is not limited",
    "an Empty group has no protocol type",
    "a null protocol in SyncGroup v5 matches",
    "a commit to a missing group is always ILLEGAL_GENERATION",
    "a new member joins without a member id in all versions",
    "SkipAssignment exists before version 9",
)
"""Rules whose situations every run reaches."""


class Run:
    """Results of all programs, and their duration."""

    def __init__(self, played: list[Played], failure: str, seconds: float) -> None:
        self.played = played
        self.failure = failure
        self.seconds = seconds
        self.counts: Counts = count(played)


@pytest.fixture(scope="module")
def small_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a second broker with an initial rebalance delay and groups of at most three members."""
    with running(Cluster, tmp_path_factory.mktemp("small"), SMALL_SETTINGS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def run(broker: Cluster, small_broker: Cluster) -> Run:
    """Play all programs once for all tests."""
    programs = [*SCRIPTED, *map(draw, SAME_SEEDS), *map(draw, NEW_SEEDS)]
    small = [program for program in programs if is_small(program)]
    plain = [program for program in programs if not is_small(program)]
    places = [(broker, PLAIN, plain), (small_broker, SMALL, small)]
    topic_ids = [prepare(cluster) for cluster, _, _ in places]
    began = time.monotonic()

    async def play() -> tuple[list[Played], str]:
        results = await asyncio.gather(
            *(
                play_at(cluster, config, ids, chosen)
                for (cluster, config, chosen), ids in zip(places, topic_ids, strict=True)
            )
        )
        return [each for played, _ in results for each in played], "\n".join(failure for _, failure in results)

    played, failure = asyncio.run(play())
    return Run(played, failure.strip(), time.monotonic() - began)


def test_all_responses_and_descriptions_equal_those_of_the_broker(
    run: Run, record_property: Callable[[str, object], None]
) -> None:
    seeds = f"{SAME_SEEDS[0]} to {SAME_SEEDS[-1]}, {NEW_SEEDS[0]} to {NEW_SEEDS[-1]}"
    record_property("seeds", seeds)
    record_property("seconds", round(run.seconds, 1))
    record_property("counts", str(run.counts))
    sys.stdout.write(f"\nseeds {seeds}, {run.seconds:.1f} s\n{run.counts}\n")
    assert not run.failure, run.failure
    assert SEQUENCES == run.counts.programs
    assert run.counts.given_up <= SEQUENCES // 20


def test_every_version_that_the_broker_supports_was_requested(run: Run) -> None:
    offered = {(kind.__name__.removesuffix("Request"), version) for kind in VERSIONS for version in VERSIONS[kind]}
    offered |= {("DescribeGroups", version) for version in range(7)}
    offered |= {("DeleteGroups", version) for version in range(3)}
    assert offered == set(run.counts.versions)


def test_every_error_code_was_received(run: Run) -> None:
    missing = {(api, code) for api, codes in CODES.items() for code in codes} - set(run.counts.codes)
    assert not missing


def test_groups_were_seen_in_every_state(run: Run) -> None:
    assert set(run.counts.states) == STATES


@pytest.mark.parametrize("rule", FREQUENT_RULES)
def test_a_coordinator_with_a_wrong_rule_is_noticed(run: Run, monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    recordings = [played.recording for played in run.played if not played.is_spoilt]
    assert not any(replay(recording) for recording in recordings[:20]), "the unchanged coordinator must agree"
    RULES[rule].change(monkeypatch)
    assert any(replay(recording) for recording in recordings)


def test_a_seed_gives_the_same_program_each_time() -> None:
    assert [draw(seed) for seed in range(30)] == [draw(seed) for seed in range(30)]


def is_small(program: Program) -> bool:
    """Return True if a program is played on the second broker: every fourth round of the profiles."""
    return program not in SCRIPTED and program.seed // len(PROFILES) % 4 == 3


def prepare(cluster: Cluster) -> dict[str, UUID]:
    """Create the topics, and wait for the coordinators of all groups."""
    admin = Admin(cluster.connect())
    try:
        ids = admin.create_topics(dict(TOPICS))
        admin.await_coordinators()
    finally:
        admin.close()
    return ids


async def play_at(
    cluster: Cluster, config: CoordinatorConfig, topic_ids: Mapping[str, UUID], programs: list[Program]
) -> tuple[list[Played], str]:
    """Play programs with a broker; return the results, and a description of the first failure."""
    async with Connections("127.0.0.1", cluster.port) as connections:
        player = Player(connections, config, topic_ids, Coordinator, "classic")
        played = await player.play_all(programs, AT_ONCE)
        failed = [each for each in played if each.differences and not each.is_spoilt]
        if not failed:
            return played, ""

        first = shortest = failed[0]
        program = first.recording.program

        async def fails(steps: tuple[Step, ...]) -> bool:
            nonlocal shortest
            again = await player.play(dataclasses.replace(program, steps=steps))
            is_failed = bool(again.differences) and not again.is_spoilt
            if is_failed:
                shortest = again
            return is_failed

        await shrink(program.steps, fails)
        summary = (
            f"{len(failed)} of {len(played)} sequences differ; "
            f"ASSIGNOR_SEED={program.seed} plays the following one first"
        )
        return played, f"{summary}:\n{described(first)}\nshrunk:\n{described(shortest)}"


def described(played: Played) -> str:
    """Return the requests, responses and differences as text."""
    lines = [str(played.recording.program)]
    for entry in played.recording.entries:
        lines.append(f"{entry.number} at {entry.at} ms: {entry.request or 'wait'} (new id {entry.new_id})")
        lines += [f"    response to {number}: {answer}" for number, answer in entry.answers.items()]
        lines.append(f"    {entry.looked.groups[0]}")
    return "\n".join([*lines, *map(str, played.differences)])

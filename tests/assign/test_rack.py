"""Rack-aware range assignment (KIP-881): empty racks, gaps in ids, Kafka's test flag, and large groups.

The vectors of Kafka's class in `tests/conformance` prove the rules. `t1` means partition 1 of topic t.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assignor import PartitionInfo, Subscription, TopicPartition, assign, plan
from tests.support.engines import Engine


def spelled(answer: Mapping[str, list[TopicPartition]]) -> dict[str, str]:
    """Return the partitions of each member as text, in their order."""
    return {member: " ".join(f"{topic}{id}" for topic, id in found) for member, found in answer.items()}


def ask(topics: Mapping[str, Any], racks: Mapping[str, str | None], engine: Engine, **options: Any) -> dict[str, str]:
    """Return the answer for members that subscribe to all topics, given their racks."""
    members = {member: Subscription(tuple(topics), rack=rack) for member, rack in racks.items()}
    answer = assign(topics, members, engine=engine, **options)
    assert answer == plan(topics, members, engine=engine, **options)
    return spelled(answer)


def test_an_empty_rack_of_a_broker_is_a_rack(engine: Engine) -> None:
    # b, on r0, comes before a only if the partitions are on different sets of racks.
    racks: dict[str, str | None] = {"a": "rX", "b": "r0"}

    empty = ask({"t": [PartitionInfo(0, ("r0", "")), PartitionInfo(1, ("r0",))]}, racks, engine)
    none = ask({"t": [PartitionInfo(0, ("r0", None)), PartitionInfo(1, ("r0",))]}, racks, engine)

    assert {"a": "t1", "b": "t0"} == empty
    assert {"a": "t0", "b": "t1"} == none


def test_prefer_rack_aware_uses_racks_even_if_all_partitions_are_on_all_racks(engine: Engine) -> None:
    # a is on no rack of the brokers, so with the flag the other members come first.
    topics, racks = {"t": [PartitionInfo(0, ("r0",)), PartitionInfo(1, ("r0",))]}, {"a": "rX", "b": "r0", "c": "r0"}

    assert {"a": "t0", "b": "t1", "c": ""} == ask(topics, racks, engine)
    assert {"a": "", "b": "t0", "c": "t1"} == ask(topics, racks, engine, prefer_rack_aware=True)


def test_co_partitioned_topics_with_different_ids_are_assigned_by_position(engine: Engine) -> None:
    topics = {
        "t": [PartitionInfo(5, ("r1",)), PartitionInfo(8, ("r0",))],
        "u": [PartitionInfo(0, ("r1",)), PartitionInfo(30, ("r0",))],
    }

    assert {"a": "t8 u30", "b": "t5 u0"} == ask(topics, {"a": "r0", "b": "r1"}, engine)


def test_a_huge_topic_for_which_racks_do_not_matter_is_one_span() -> None:
    topics: dict[str, Any] = {"huge": 2**31 - 1, "t": [PartitionInfo(0, ("r",)), PartitionInfo(1, ("q",))]}

    found = plan(topics, {"a": Subscription(("huge", "t"), rack="r")})

    assert [2**31 + 1] == found.counts().tolist()
    assert 2 == len(found.spans().start)


def test_forty_thousand_members_on_different_racks_get_their_partitions() -> None:
    names = [f"x{number:05}" for number in range(40_000)]
    topics = {name: [PartitionInfo(0, (name,)), PartitionInfo(1, ("elsewhere",))] for name in names}

    found = plan(topics, {name: Subscription((name,), rack=name) for name in names})

    assert {2} == set(found.counts().tolist())

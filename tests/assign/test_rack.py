"""Rack-aware range assignment (KIP-881): which member is served first, and when racks have no effect.

`t1` means partition 1 of topic t.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from assignor import PartitionInfo, Subscription, TopicPartition, assign, plan
from tests.support.engines import Engine


def on(*racks: str | None) -> list[PartitionInfo]:
    """Return partitions 0, 1, ... with replicas on these racks; `"r0 r1"` means two replicas."""
    return [PartitionInfo(id, tuple(rack.split(" ")) if rack else (rack,)) for id, rack in enumerate(racks)]


def spelled(answer: Mapping[str, list[TopicPartition]]) -> dict[str, str]:
    """Return the partitions of each member as text, in their order."""
    return {member: " ".join(f"{topic}{id}" for topic, id in found) for member, found in answer.items()}


def ask(topics: Mapping[str, Any], racks: Mapping[str, str | None], engine: Engine, **options: Any) -> dict[str, str]:
    """Return the answer for members that subscribe to all topics, given their racks."""
    members = {member: Subscription(tuple(topics), rack=rack) for member, rack in racks.items()}
    answer = assign(topics, members, engine=engine, **options)
    assert answer == plan(topics, members, engine=engine, **options)
    return spelled(answer)


def test_partitions_go_to_members_on_their_rack(engine: Engine) -> None:
    assert {"a": "t0 t2", "b": "t1 t3"} == ask({"t": on("r0", "r1", "r0", "r1")}, {"a": "r0", "b": "r1"}, engine)


def test_the_racks_of_all_replicas_count(engine: Engine) -> None:
    assert {"a": "t1", "b": "t0"} == ask({"t": on("r2 r1", "r2 r0")}, {"a": "r0", "b": "r1"}, engine)


def test_the_extra_partition_goes_to_the_first_member_that_can_take_it_on_its_rack(engine: Engine) -> None:
    assert {"a": "t2", "b": "t0 t1"} == ask({"t": on("r1", "r1", "r0")}, {"a": "r0", "b": "r1"}, engine)


def test_racks_do_not_affect_balance(engine: Engine) -> None:
    assert {"a": "t0 t1", "b": "t2 t3"} == ask({"t": on("r0", "r0", "r0", "r1")}, {"a": "r0", "b": "r1"}, engine)


@pytest.mark.parametrize("rack", ["", None])
def test_an_empty_rack_of_a_member_counts_as_no_rack(rack: str | None, engine: Engine) -> None:
    assert {"a": "t0 t1", "b": "t2"} == ask({"t": on("r0", "r1", "r2")}, {"a": rack, "b": "r1"}, engine)


def test_an_empty_rack_of_a_broker_is_a_rack(engine: Engine) -> None:
    # b, on r0, comes before a only if the partitions are on different sets of racks.
    racks: dict[str, str | None] = {"a": "rX", "b": "r0"}

    empty = ask({"t": [PartitionInfo(0, ("r0", "")), PartitionInfo(1, ("r0",))]}, racks, engine)
    none = ask({"t": [PartitionInfo(0, ("r0", None)), PartitionInfo(1, ("r0",))]}, racks, engine)

    assert {"a": "t1", "b": "t0"} == empty
    assert {"a": "t0", "b": "t1"} == none


def test_a_member_without_rack_takes_its_share_in_the_first_pass(engine: Engine) -> None:
    partitions = on("r0", "r1", "r0", "r1")

    assert {"a": "t0 t1", "b": "t2 t3"} == ask({"t": partitions}, {"a": None, "b": "r0"}, engine)
    assert {"a": "t1 t3", "b": "t0 t2"} == ask({"t": partitions}, {"a": "r1", "b": None}, engine)


def test_a_member_on_a_rack_without_brokers_takes_the_remaining_partitions(engine: Engine) -> None:
    assert {"a": "t0 t2", "b": "t1 t3"} == ask({"t": on("r0", "r1", "r0", "r1")}, {"a": "rX", "b": "r1"}, engine)


def test_racks_are_ignored_if_no_member_is_on_a_rack_of_a_broker(engine: Engine) -> None:
    assert {"a": "t0 t1", "b": "t2"} == ask({"t": on("r0", "r1", "r0")}, {"a": "rX", "b": "rY"}, engine)


def test_members_on_a_rack_come_first_if_there_are_fewer_partitions(engine: Engine) -> None:
    assert {"a": "t1", "b": "t0", "c": ""} == ask({"t": on("r1", "r2")}, {"a": "r0", "b": "r1", "c": "r1"}, engine)
    assert {"a": "", "b": "t0"} == ask({"t": on("r1")}, {"a": "r0", "b": "r1"}, engine, prefer_rack_aware=True)


def test_lists_are_sorted_if_racks_matter_for_one_topic(engine: Engine) -> None:
    topics = {"zz": on("r0", "r1"), "aa": 2, "mm": 2}

    assert {"a": "aa0 aa1 mm0 mm1 zz0 zz1"} == ask(topics, {"a": "r0"}, engine)


def test_topics_for_which_racks_do_not_matter_keep_plain_ranges(engine: Engine) -> None:
    topics = {"t": on("r1", "r0"), "u": 4, "v": on("r0 r1", "r0 r1", "r0 r1")}

    assert {"a": "t1 u0 u1 v0 v1", "b": "t0 u2 u3 v2"} == ask(topics, {"a": "r0", "b": "r1"}, engine)


def test_racks_are_ignored_if_all_partitions_are_on_all_racks(engine: Engine) -> None:
    everywhere = on("r0 r1", "r1 r0", "r0 r1")

    assert {"a": "t0 t1", "b": "t2"} == ask({"t": everywhere}, {"a": "r0", "b": "r1"}, engine)


def test_racks_are_ignored_if_members_or_brokers_have_none(engine: Engine) -> None:
    plain = {"a": "t0 t1", "b": "t2"}

    assert plain == ask({"t": on("r1", "r1", "r0")}, {"a": None, "b": None}, engine)
    assert plain == ask({"t": on(None, None, None)}, {"a": "r0", "b": "r1"}, engine)
    assert plain == ask({"t": 3}, {"a": "r0", "b": "r1"}, engine)


def test_a_broker_without_a_rack_adds_no_rack(engine: Engine) -> None:
    partitions = [PartitionInfo(0, (None, "r1")), PartitionInfo(1, (None,)), PartitionInfo(2, ("r0", None))]

    assert {"a": "t2", "b": "t0", "c": "t1"} == ask({"t": partitions}, {"a": "r0", "b": "r1", "c": "r1"}, engine)


def test_prefer_rack_aware_uses_racks_even_if_all_partitions_are_on_all_racks(engine: Engine) -> None:
    # a is on no rack of the brokers, so with the flag the other members come first.
    topics, racks = {"t": on("r0", "r0")}, {"a": "rX", "b": "r0", "c": "r0"}

    assert {"a": "t0", "b": "t1", "c": ""} == ask(topics, racks, engine)
    assert {"a": "", "b": "t0", "c": "t1"} == ask(topics, racks, engine, prefer_rack_aware=True)


def test_co_partitioned_topics_stay_together_even_if_racks_do_not_match(engine: Engine) -> None:
    # t alone could follow its racks. The racks of u are reversed, so no position is on the same rack in both topics.
    alone = ask({"t": on("r1", "r0")}, {"a": "r0", "b": "r1"}, engine)
    together = ask({"t": on("r1", "r0"), "u": on("r0", "r1")}, {"a": "r0", "b": "r1"}, engine)

    assert {"a": "t1", "b": "t0"} == alone
    assert {"a": "t0 u0", "b": "t1 u1"} == together


def test_co_partitioned_topics_with_equal_racks_follow_them_together(engine: Engine) -> None:
    topics = {"t": on("r1", "r0", "r1"), "u": on("r1", "r0", "r1")}

    assert {"a": "t1 u1", "b": "t0 t2 u0 u2"} == ask(topics, {"a": "r0", "b": "r1"}, engine)


def test_topics_with_different_consumers_are_not_co_partitioned(engine: Engine) -> None:
    topics = {"t": on("r1", "r0"), "u": on("r0", "r1")}
    members = {
        "a": Subscription(("t", "u"), rack="r0"),
        "b": Subscription(("t", "u"), rack="r1"),
        "c": Subscription(("u",), rack="r9"),
    }

    assert {"a": "t1 u0", "b": "t0 u1", "c": ""} == spelled(assign(topics, members, engine=engine))


def test_static_members_are_served_first_under_racks_too(engine: Engine) -> None:
    members = {
        "a": Subscription(("t",), rack="r0"),
        "z": Subscription(("t",), rack="r0", group_instance_id="i"),
    }

    assert {"a": "t0", "z": "t1 t2"} == spelled(assign({"t": on("r1", "r0", "r0")}, members, engine=engine))


def test_gaps_in_ids_of_co_partitioned_topics_lose_no_partitions(engine: Engine) -> None:
    # Kafka takes position 0 as id 0 and gives t0 u0 to a and t1 u1 to b. The topics have the ids 1 and 2, so
    # t0 and u0 do not exist, and t2 and u2 have no owner. Here position 0 is the smallest id.
    partitions = [PartitionInfo(1, ("r0",)), PartitionInfo(2, ("r1",))]

    answer = ask({"t": partitions, "u": partitions}, {"a": None, "b": "r0"}, engine)

    assert {"a": "t1 u1", "b": "t2 u2"} == answer


def test_gaps_have_no_effect_in_a_single_topic(engine: Engine) -> None:
    partitions = [PartitionInfo(7, ("r1",)), PartitionInfo(3, ("r1",)), PartitionInfo(9, ("r0",))]

    assert {"a": "t9", "b": "t3 t7"} == ask({"t": partitions}, {"a": "r0", "b": "r1"}, engine)


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

"""Comparison of hand-written generations with the answer of range."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from assignor import assign
from assignor.model import PartitionInfo, Subscription
from tests.replay.logs import Event, Row, classic, comparisons, member, metadata, replayed
from tests.support.record_bytes import assignment, subscription

GROWING = metadata({10: {"t": 2}, 20: {"t": 3}, 30: {"t": 4}})
THREE = (member("a", ["t"], {"t": [0, 1]}), member("b", ["t"], {"t": [2]}))


def compared(*events: Event, topics: list[Row]) -> list[tuple[str | None, list[str]]]:
    return comparisons(replayed(*events, topics=topics))


def not_range(differing: int, members: int, *, same_partitions: bool) -> str:
    end = "; in total the same partitions are assigned" if same_partitions else ""
    return f"{differing} of {members} members own other partitions than Kafka's range assignor gives them{end}"


# ---- which metadata counts


@pytest.mark.parametrize(
    ("time", "outcome"),
    [
        (0, "different"),  # all snapshots are later: the first one is compared
        (9, "different"),
        (10, "equal"),  # a snapshot at the same time counts as an earlier one
        (15, "equal"),
        (19, "equal"),
        (20, "equal"),
        (29, "equal"),
        (30, "different"),
        (99, "different"),
    ],
)
def test_the_snapshot_before_or_after_explains_a_generation(time: int, outcome: str) -> None:
    ((found, _),) = compared(classic(1, *THREE).at(time), topics=GROWING)
    assert found == outcome


def test_other_snapshots_do_not_explain_a_generation() -> None:
    topics = metadata({10: {"t": 3}, 20: {"t": 2}, 30: {"t": 2}, 40: {"t": 3}})
    times = [5, 10, 19, 20, 29, 30, 39, 40]
    found = compared(*[classic(1, *THREE).at(time) for time in times], topics=topics)
    assert [outcome == "equal" for outcome, _ in found] == [True, True, True, False, False, True, True, True]


def test_the_first_snapshot_explains_earlier_generations() -> None:
    assert compared(classic(1, *THREE).at(-5), topics=metadata({0: {"t": 3}})) == [("equal", [])]


def test_without_metadata_nothing_is_compared() -> None:
    history = replayed(classic(1, *THREE))
    assert comparisons(history) == [(None, [])]
    assert [history[f"range_{outcome}"] for outcome in ("equal", "different", "unknown")] == [0, 0, 0]


def test_members_that_cannot_be_parsed_are_unknown_even_without_metadata() -> None:
    history = replayed(classic(1, *THREE), classic(2, member("a", b"\0", {})), classic(3, *THREE))
    remark = "the subscription of a cannot be read: 2 bytes are needed and 1 remain at offset 0 while reading version"
    assert comparisons(history) == [(None, []), ("unknown", [remark]), (None, [])]
    assert [history[f"range_{outcome}"] for outcome in ("equal", "different", "unknown")] == [0, 0, 1]


def test_only_range_generations_with_members_count_as_range() -> None:
    events = [classic(1, *THREE), classic(2), classic(3, *THREE, protocol="custom"), classic(3, *THREE)]
    history = replayed(*events, topics=metadata({0: {"t": 3}}))
    assert comparisons(history) == [("equal", []), (None, []), (None, []), ("equal", [])]
    assert (history["range_equal"], history["rebalances"]) == (2, 3)


# ---- members that cannot be parsed


def test_a_subscription_that_cannot_be_parsed_is_unknown() -> None:
    damaged = member("b", subscription("t")[:-1], {"t": [2]})
    remark = "the subscription of b cannot be read: 2 bytes are needed and 1 remain at offset 21 while reading rack"
    history = replayed(classic(1, THREE[0], damaged), topics=GROWING)
    assert comparisons(history) == [("unknown", [remark])]
    assert (history["range_equal"], history["range_different"], history["range_unknown"]) == (0, 0, 1)


def test_an_assignment_that_cannot_be_parsed_is_unknown() -> None:
    damaged = member("b", ["t"], assignment(("t", [2]))[:-5])
    start = "the assignment of b cannot be read: 1 elements of at least 4 bytes do not fit in the 3 that remain"
    ((outcome, (remark,)),) = compared(classic(1, THREE[0], damaged), topics=GROWING)
    assert outcome == "unknown"
    assert remark.startswith(start)


def test_remarks_name_all_blobs_that_cannot_be_parsed() -> None:
    short = "cannot be read: 2 bytes are needed and 1 remain at offset 0 while reading version"
    ((outcome, remarks),) = compared(
        classic(1, member("a", b"\0", b"\0"), THREE[1], member("c", ["t"], b"\0")), topics=GROWING
    )
    assert outcome == "unknown"
    assert remarks == [f"the {what} {short}" for what in ("subscription of a", "assignment of a", "assignment of c")]


def test_an_empty_assignment_blob_is_compared_and_an_empty_subscription_blob_is_not() -> None:
    topics = metadata({0: {"t": 2}})
    three = [member("a", ["t"], {"t": [0]}), member("b", ["t"], {"t": [1]}), member("c", ["t"], b"")]
    assert compared(classic(1, *three), topics=topics) == [("equal", [])]
    two = [member("a", ["t"], {"t": [0, 1]}), member("b", ["t"], b"")]
    assert compared(classic(1, *two), topics=topics) == [("different", [not_range(2, 2, same_partitions=True)])]
    remark = "the subscription of a cannot be read: 2 bytes are needed and 0 remain at offset 0 while reading version"
    assert compared(classic(1, member("a", b"", b"")), topics=topics) == [("unknown", [remark])]


def test_a_tolerated_subscription_is_compared_with_a_remark() -> None:
    older = subscription("t", version=1, body=0)
    reason = "4 bytes are needed and 0 remain at offset 13 while reading owned_partitions"
    remark = f"Kafka cannot parse the subscription of b: {reason}"
    topics = metadata({0: {"t": 3}})
    assert compared(classic(1, THREE[0], member("b", older, {"t": [2]})), topics=topics) == [("equal", [remark])]
    unlike_range = classic(1, member("a", ["t"], {"t": [0, 1, 2]}), member("b", older, {}))
    assert compared(unlike_range, topics=topics) == [("different", [remark, not_range(2, 2, same_partitions=True)])]


# ---- input of range


def test_a_newer_subscription_version_is_read_as_the_newest() -> None:
    newer = member("a", subscription("t", version=9), assignment(("t", [0, 1]), version=9))
    assert compared(classic(1, newer, THREE[1]), topics=metadata({0: {"t": 3}})) == [("equal", [])]


def test_topics_listed_twice_or_without_partitions_are_normalized() -> None:
    split = member("a", ["t"], assignment(("t", [1]), ("u", []), ("t", [0])))
    assert compared(classic(1, split, THREE[1]), topics=metadata({0: {"t": 3, "u": 1}})) == [("equal", [])]


def test_static_members_come_first_by_instance_id() -> None:
    topics = metadata({0: {"t": 3}})
    by_instance = [
        member("a", ["t"], {"t": [2]}),
        member("b", ["t"], {"t": [1]}, instance="y"),
        member("c", ["t"], {"t": [0]}, instance="x"),
    ]
    assert compared(classic(1, *by_instance), topics=topics) == [("equal", [])]
    by_member = [{**each, "groupInstanceId": None} for each in by_instance]
    assert compared(classic(1, *by_member), topics=topics) == [("different", [not_range(2, 3, same_partitions=True)])]


RACKED = metadata({0: {"t": [["r0", "r1"], ["r1"], ["r0"], ["r0"]]}})


def test_racks_of_members_and_replicas_count() -> None:
    members = [
        member("a", ["t"], {"t": [0, 1]}, rack="r1"),
        member("b", ["t"], {"t": [2, 3]}, rack="r0"),
    ]
    crossed = [
        member("a", ["t"], {"t": [0, 2]}, rack="r0"),
        member("b", ["t"], {"t": [1, 3]}, rack="r1"),
    ]
    assert compared(classic(1, *members), topics=RACKED) == [("equal", [])]
    assert compared(classic(1, *crossed), topics=RACKED) == [("equal", [])]
    plain = metadata({0: {"t": 4}})
    assert compared(classic(1, *crossed), topics=plain) == [("different", [not_range(2, 2, same_partitions=True)])]


@pytest.mark.parametrize("without", [{"version": 2}, {"rack": ""}, {"rack": None}, {"rack": "elsewhere"}])
def test_members_without_racks_get_plain_ranges(without: Row) -> None:
    members = [
        member("a", subscription("t", **{"rack": "r0", **without}), {"t": [0, 1]}),
        member("b", subscription("t", **{"rack": "r1", **without}), {"t": [2, 3]}),
    ]
    assert compared(classic(1, *members), topics=RACKED) == [("equal", [])]


# ---- reasons


def test_a_topic_that_the_leader_did_not_know_yet_is_named() -> None:
    members = [
        member("a", ["t", "new", "newer", "missing"], {"t": [0]}),
        member("b", ["t", "new"], {"t": [1]}),
    ]
    topics = metadata({0: {"t": 2, "new": 1, "newer": 5, "other": 1}})
    remark = "the assignor did not have the metadata of new, newer yet"
    assert compared(classic(1, *members), topics=topics) == [("different", [remark])]


def test_all_topics_are_named_if_the_leader_knew_none() -> None:
    remark = "the assignor did not have the metadata of t yet"
    nothing = [member("a", ["t"], {}), member("b", ["t"], {})]
    assert compared(classic(1, *nothing), topics=metadata({0: {"t": 2}})) == [("different", [remark])]


def test_a_topic_that_was_created_between_the_snapshots_is_named() -> None:
    topics = metadata({0: {"t": 2}, 50: {"t": 4, "new": 2}})
    members = [member("a", ["t", "new"], {"t": [0, 1]}), member("b", ["t", "new"], {"t": [2, 3]})]
    remark = "the assignor did not have the metadata of new yet"
    assert compared(classic(1, *members).at(10), topics=topics) == [("different", [remark])]


def test_topics_that_grew_or_were_deleted_before_the_first_snapshot_are_named() -> None:
    topics = metadata({50: {"t": 5, "u": 1}, 60: {"t": 5, "u": 1, "gone": 2}})
    range_of = [member("a", ["t", "u", "gone"], {"t": [0, 1], "u": [0], "gone": [0]}), member("b", ["t"], {"t": [2]})]
    later = "at that time; all topic metadata is later than the assignment"
    counts = "topic gone had 1 partition and topic t had 3 partitions"
    remark = f"the recorded assignment equals the answer of Kafka's assignor if {counts} {later}"
    assert compared(classic(1, *range_of).at(10), topics=topics) == [("different", [remark])]


def test_an_assigned_partition_above_a_gap_gives_no_number_of_partitions() -> None:
    topics = metadata({50: {"t": 5}, 60: {"t": 5, "gone": 2}})
    too_high = [member("a", ["t", "gone"], {"t": [0, 1, 2, 3, 4], "gone": [2**31 - 1]})]
    ((outcome, (remark,)),) = compared(classic(1, *too_high).at(10), topics=topics)
    assert ("different", "1 of 1 members own") == (outcome, remark[:18])


def test_an_assignment_that_range_does_not_give_is_different() -> None:
    striped = [member("a", ["t"], {"t": [0, 2]}), member("b", ["t"], {"t": [1]}), member("c", ["u"], {"u": [0]})]
    topics = metadata({0: {"t": 3, "u": 1}})
    assert compared(classic(1, *striped), topics=topics) == [("different", [not_range(2, 3, same_partitions=True)])]


@pytest.mark.parametrize("of_b", [{}, {"t": [1, 2]}, {"t": [2], "u": [0]}])
def test_missing_duplicate_and_additional_partitions_are_different(of_b: dict[str, list[int]]) -> None:
    members = [THREE[0], member("b", ["t"], of_b)]
    assert compared(classic(1, *members), topics=metadata({0: {"t": 3}})) == [
        ("different", [not_range(1, 2, same_partitions=False)])
    ]


def test_a_generation_is_compared_with_the_snapshot_before_it() -> None:
    topics = metadata({0: {"t": 2}, 50: {"t": 4}})
    lacking = classic(1, member("a", ["t"], {"t": [0, 1]}), member("b", ["t"], {}))
    for time, differing in ((10, 2), (60, 1)):
        ((_, (remark,)),) = compared(lacking.at(time), topics=topics)
        assert remark.startswith(
            f"{differing} of 2 members own other partitions than Kafka's range assignor gives them"
        )


# ---- topics that the metadata lacks


def test_an_assigned_topic_that_no_snapshot_has_is_not_compared() -> None:
    members = [member("a", ["t", "u"], {"t": [0, 1], "u": [0]}), member("b", ["t", "v"], {"t": [2], "v": [0]})]
    one, both = "the topic u", "the topics u, v"
    for topics, lacking in (({"t": 3, "v": 1}, one), ({"t": 3}, both)):
        history = replayed(classic(1, *members), topics=metadata({0: topics}))
        assert comparisons(history) == [("unknown", [f"not compared: the topic metadata lacks {lacking}"])]
        assert history["generations"][0]["class"] == "unknown_topics"
        assert (history["range_equal"], history["range_different"], history["range_unknown"]) == (0, 0, 1)


def test_a_later_snapshot_with_the_topic_makes_an_assignment_comparable() -> None:
    members = [member("a", ["t", "u"], {"t": [0], "u": [0]}), member("b", ["t", "u"], {"t": [1], "u": [1]})]
    ((outcome, _),) = compared(classic(1, *members), topics=metadata({0: {"t": 2}, 50: {"t": 2}, 90: {"u": 2}}))
    assert outcome == "different"


def test_a_topic_that_does_not_exist_does_not_prevent_the_comparison() -> None:
    topics = metadata({0: {"t": 3}})
    right = [member("a", ["t", "typo"], {"t": [0, 1]}), member("b", ["t", "typo"], {"t": [2]})]
    assert compared(classic(1, *right), topics=topics) == [("equal", [])]
    wrong = [member("a", ["t", "typo"], {"t": [2]}), member("b", ["t", "typo"], {"t": [0, 1]})]
    assert compared(classic(1, *wrong), topics=topics) == [("different", [not_range(2, 2, same_partitions=True)])]


def test_an_owned_topic_that_no_snapshot_has_can_explain_a_difference() -> None:
    owns = subscription("t", "u", owned={"u": [0]}, generation=1)
    wrong = [member("a", owns, {"t": [2]}), member("b", ["t"], {"t": [0, 1]})]
    remark = "not compared: the topic metadata lacks the topic u"
    assert compared(classic(1, *wrong), topics=metadata({0: {"t": 3}})) == [("unknown", [remark])]
    right = [member("a", owns, {"t": [0, 1]}), member("b", ["t"], {"t": [2]})]
    assert compared(classic(1, *right), topics=metadata({0: {"t": 3}})) == [("equal", [])]


def test_a_remark_names_at_most_ten_topics() -> None:
    names = [f"u{number:02}" for number in range(12)]
    everything = member("a", names, {name: [0] for name in names})
    ((_, (remark,)),) = compared(classic(1, everything), topics=metadata({0: {"t": 1}}))
    assert remark == f"not compared: the topic metadata lacks the topics {', '.join(names[:10])} and 2 more"


# ---- classes of generations that are not equal

RIGHT = (member("a", ["t"], {"t": [0, 1]}), member("b", ["t"], {"t": [2]}))
WRONG = (member("a", ["t"], {"t": [2]}), member("b", ["t"], {"t": [0, 1]}))


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ([(3, RIGHT)], "healed"),
        ([(10_000, RIGHT)], "healed"),
        ([(10_001, RIGHT)], "unexplained"),
        ([], "unexplained"),
        ([(5, WRONG)], "unexplained"),
        ([(5, WRONG), (9_000, RIGHT)], "healed"),
        ([(5, WRONG), (15_000, RIGHT)], "unexplained"),
        ([(5, ())], "unexplained"),  # the group ended, so no leader corrected the assignment
    ],
)
def test_an_equal_assignment_within_ten_seconds_heals_a_different_one(
    later: list[tuple[int, tuple[Row, ...]]], expected: str
) -> None:
    events = [classic(1, *WRONG).at(0)] + [classic(2 + n, *who).at(at) for n, (at, who) in enumerate(later)]
    history = replayed(*events, topics=metadata({0: {"t": 3}}))
    first, *_ = history["generations"]
    assert (first["outcome"], first["class"]) == ("different", expected)


def test_other_topic_metadata_is_a_class_of_its_own_even_if_an_equal_assignment_follows() -> None:
    nothing = (member("a", ["t"], {}), member("b", ["t"], {}))
    history = replayed(classic(1, *nothing).at(0), classic(2, *RIGHT).at(3), topics=metadata({0: {"t": 3}}))
    assert ["explained", None] == [row["class"] for row in history["generations"]]


# ---- random generations


def drawn(rng: random.Random) -> tuple[Event, list[Row], str]:
    """Draw a generation that range computes from one of two snapshots, or one that differs slightly from it.

    Return the generation, the metadata, and the outcome of their comparison.
    """
    racks = ["", "r0", "r1", "r2"][: rng.randint(1, 4)]

    def topics() -> dict[str, list[list[str]]]:
        names = rng.sample(["t", "u", "v", "～", "😀"], rng.randint(1, 4))
        return {
            name: [rng.sample(racks, rng.randint(0, len(racks))) for _ in range(rng.randint(1, 5))] for name in names
        }

    snapshots = {10: topics(), 20: topics()}
    wants = {
        id: Subscription(
            tuple(rng.choices(["t", "u", "v", "～", "😀", "missing"], k=rng.randint(0, 4))),
            group_instance_id=rng.choice([None, None, "", f"i{rng.randrange(9)}"]),
            rack=rng.choice([None, *racks]),
        )
        for id in rng.sample("abcdef", rng.randint(1, 5))
    }
    answers = {}
    for time, snapshot in snapshots.items():
        known = {name: [PartitionInfo(id, tuple(on)) for id, on in enumerate(ons)] for name, ons in snapshot.items()}
        answers[time] = assign(known, wants)
    given = {id: [each for each in has if rng.random() < 0.98] for id, has in answers[rng.choice([10, 20])].items()}
    members, outcome, time = [], "different", rng.choice([5, 10, 15, 20, 25])
    if given in [answers[each] for each in {5: [10], 25: [20], 20: [20]}.get(time, [10, 20])]:
        outcome = "equal"
    for id, want in wants.items():
        gets: dict[str, list[int]] = {}
        for topic, partition in given[id]:
            gets.setdefault(topic, []).append(partition)
        blob = subscription(*want.topics, rack=want.rack, version=3)
        if rng.random() < 0.025:
            blob, outcome = blob[:-1], "unknown"
        members.append(member(id, blob, gets, instance=want.group_instance_id))
    return classic(1, *members).at(time), metadata(snapshots), outcome


def test_a_generation_is_equal_if_range_gives_its_assignment_for_a_snapshot_around_it() -> None:
    rng = random.Random(31)
    outcomes = Counter[str]()
    for _ in range(1_500):
        generation, topics, outcome = drawn(rng)
        ((found, _),) = compared(generation, topics=topics)
        assert outcome == found
        outcomes[outcome] += 1
    assert min(outcomes.values()) > 50
    assert outcomes.keys() == {"equal", "different", "unknown"}

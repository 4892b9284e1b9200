"""Comparison of generations made by hand with the range rules, in both engines."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from assignor import assign
from assignor.model import PartitionInfo, Subscription
from assignor.reference.history import Metadata
from assignor.reference.history.compare import compare
from assignor.reference.replay import ParsedMember, ParsedSubscription
from tests.replay.logs import Event, Row, classic, comparisons, member, metadata, replayed
from tests.support.record_bytes import assignment, subscription

GROWING = metadata({10: {"t": 2}, 20: {"t": 3}, 30: {"t": 4}})
THREE = (member("a", ["t"], {"t": [0, 1]}), member("b", ["t"], {"t": [2]}))


def compared(engine: str, *events: Event, topics: list[Row]) -> list[tuple[str | None, list[str]]]:
    return comparisons(replayed(engine, *events, topics=topics))


def not_range(differing: int, members: int, *, same_partitions: bool) -> str:
    end = ", though every partition is handed out once" if same_partitions else ""
    return f"not the range rules: {differing} of {members} members have other partitions{end}"


# ---- which metadata counts


@pytest.mark.parametrize(
    ("time", "outcome"),
    [
        (0, "different"),  # all snapshots are later: the first one is the one after
        (9, "different"),
        (10, "equal"),  # the one at that time is the one before
        (15, "equal"),
        (19, "equal"),
        (20, "equal"),
        (29, "equal"),
        (30, "different"),
        (99, "different"),
    ],
)
def test_the_snapshot_before_or_after_explains(engine: str, time: int, outcome: str) -> None:
    ((found, _),) = compared(engine, classic(1, *THREE).at(time), topics=GROWING)
    assert found == outcome


def test_a_snapshot_further_away_does_not_explain(engine: str) -> None:
    topics = metadata({10: {"t": 3}, 20: {"t": 2}, 30: {"t": 2}, 40: {"t": 3}})
    times = [5, 10, 19, 20, 29, 30, 39, 40]
    found = compared(engine, *[classic(1, *THREE).at(time) for time in times], topics=topics)
    assert [outcome == "equal" for outcome, _ in found] == [True, True, True, False, False, True, True, True]


def test_before_the_first_snapshot_that_one_explains(engine: str) -> None:
    assert compared(engine, classic(1, *THREE).at(-5), topics=metadata({0: {"t": 3}})) == [("equal", [])]


def test_without_metadata_nothing_is_compared(engine: str) -> None:
    history = replayed(engine, classic(1, *THREE))
    assert comparisons(history) == [(None, [])]
    assert [history[f"range_{outcome}"] for outcome in ("equal", "different", "unknown")] == [0, 0, 0]


def test_without_metadata_what_cannot_be_read_is_unknown_still(engine: str) -> None:
    history = replayed(engine, classic(1, *THREE), classic(2, member("a", b"\0", {})), classic(3, *THREE))
    said = "the subscription of a cannot be read: 2 bytes are needed and 1 remain at offset 0 while reading version"
    assert comparisons(history) == [(None, []), ("unknown", [said]), (None, [])]
    assert [history[f"range_{outcome}"] for outcome in ("equal", "different", "unknown")] == [0, 0, 1]


def test_only_range_generations_with_members_count_as_range(engine: str) -> None:
    events = [classic(1, *THREE), classic(2), classic(3, *THREE, protocol="custom"), classic(3, *THREE)]
    history = replayed(engine, *events, topics=metadata({0: {"t": 3}}))
    assert comparisons(history) == [("equal", []), (None, []), (None, []), ("equal", [])]
    assert (history["range_equal"], history["rebalances"]) == (2, 3)


# ---- what cannot be read


def test_a_subscription_that_cannot_be_read_is_unknown(engine: str) -> None:
    damaged = member("b", subscription("t")[:-1], {"t": [2]})
    said = "the subscription of b cannot be read: 2 bytes are needed and 1 remain at offset 21 while reading rack"
    history = replayed(engine, classic(1, THREE[0], damaged), topics=GROWING)
    assert comparisons(history) == [("unknown", [said])]
    assert (history["range_equal"], history["range_different"], history["range_unknown"]) == (0, 0, 1)


def test_an_assignment_that_cannot_be_read_is_unknown(engine: str) -> None:
    damaged = member("b", ["t"], assignment(("t", [2]))[:-5])
    said = "the assignment of b cannot be read: 1 elements of at least 4 bytes do not fit in the 3 that remain"
    ((outcome, (remark,)),) = compared(engine, classic(1, THREE[0], damaged), topics=GROWING)
    assert outcome == "unknown"
    assert remark.startswith(said)


def test_both_blobs_and_every_member_that_cannot_be_read_are_named(engine: str) -> None:
    short = "cannot be read: 2 bytes are needed and 1 remain at offset 0 while reading version"
    ((outcome, remarks),) = compared(
        engine, classic(1, member("a", b"\0", b"\0"), THREE[1], member("c", ["t"], b"\0")), topics=GROWING
    )
    assert outcome == "unknown"
    assert remarks == [f"the {what} {short}" for what in ("subscription of a", "assignment of a", "assignment of c")]


def test_an_empty_assignment_blob_is_compared_and_an_empty_subscription_blob_is_not(engine: str) -> None:
    topics = metadata({0: {"t": 2}})
    three = [member("a", ["t"], {"t": [0]}), member("b", ["t"], {"t": [1]}), member("c", ["t"], b"")]
    assert compared(engine, classic(1, *three), topics=topics) == [("equal", [])]
    two = [member("a", ["t"], {"t": [0, 1]}), member("b", ["t"], b"")]
    assert compared(engine, classic(1, *two), topics=topics) == [("different", [not_range(2, 2, same_partitions=True)])]
    said = "the subscription of a cannot be read: 2 bytes are needed and 0 remain at offset 0 while reading version"
    assert compared(engine, classic(1, member("a", b"", b"")), topics=topics) == [("unknown", [said])]


def test_what_only_the_tolerant_reader_reads_is_compared_with_a_remark(engine: str) -> None:
    older = subscription("t", version=1, body=0)
    reason = "4 bytes are needed and 0 remain at offset 13 while reading owned_partitions"
    said = f"Kafka's own reader refuses the subscription of b: {reason}"
    topics = metadata({0: {"t": 3}})
    assert compared(engine, classic(1, THREE[0], member("b", older, {"t": [2]})), topics=topics) == [("equal", [said])]
    unlike_range = classic(1, member("a", ["t"], {"t": [0, 1, 2]}), member("b", older, {}))
    assert compared(engine, unlike_range, topics=topics) == [
        ("different", [said, not_range(2, 2, same_partitions=True)])
    ]


# ---- what the range rules look at


def test_a_newer_subscription_version_is_read_as_the_newest(engine: str) -> None:
    newer = member("a", subscription("t", version=9), assignment(("t", [0, 1]), version=9))
    assert compared(engine, classic(1, newer, THREE[1]), topics=metadata({0: {"t": 3}})) == [("equal", [])]


def test_a_topic_listed_twice_and_one_listed_empty_are_what_they_hold(engine: str) -> None:
    split = member("a", ["t"], assignment(("t", [1]), ("u", []), ("t", [0])))
    assert compared(engine, classic(1, split, THREE[1]), topics=metadata({0: {"t": 3, "u": 1}})) == [("equal", [])]


def test_static_members_come_first_by_instance_id(engine: str) -> None:
    topics = metadata({0: {"t": 3}})
    by_instance = [
        member("a", ["t"], {"t": [2]}),
        member("b", ["t"], {"t": [1]}, instance="y"),
        member("c", ["t"], {"t": [0]}, instance="x"),
    ]
    assert compared(engine, classic(1, *by_instance), topics=topics) == [("equal", [])]
    by_member = [{**each, "groupInstanceId": None} for each in by_instance]
    assert compared(engine, classic(1, *by_member), topics=topics) == [
        ("different", [not_range(2, 3, same_partitions=True)])
    ]


RACKED = metadata({0: {"t": [["r0", "r1"], ["r1"], ["r0"], ["r0"]]}})


def test_racks_of_members_and_replicas_count(engine: str) -> None:
    members = [
        member("a", ["t"], {"t": [0, 1]}, rack="r1"),
        member("b", ["t"], {"t": [2, 3]}, rack="r0"),
    ]
    crossed = [
        member("a", ["t"], {"t": [0, 2]}, rack="r0"),
        member("b", ["t"], {"t": [1, 3]}, rack="r1"),
    ]
    assert compared(engine, classic(1, *members), topics=RACKED) == [("equal", [])]
    assert compared(engine, classic(1, *crossed), topics=RACKED) == [("equal", [])]
    plain = metadata({0: {"t": 4}})
    assert compared(engine, classic(1, *crossed), topics=plain) == [
        ("different", [not_range(2, 2, same_partitions=True)])
    ]


@pytest.mark.parametrize("without", [{"version": 2}, {"rack": ""}, {"rack": None}, {"rack": "elsewhere"}])
def test_without_a_rack_of_its_own_a_member_is_given_plain_ranges(engine: str, without: Row) -> None:
    members = [
        member("a", subscription("t", **{"rack": "r0", **without}), {"t": [0, 1]}),
        member("b", subscription("t", **{"rack": "r1", **without}), {"t": [2, 3]}),
    ]
    assert compared(engine, classic(1, *members), topics=RACKED) == [("equal", [])]


# ---- why not


def test_a_topic_that_the_leader_did_not_know_yet_is_named(engine: str) -> None:
    members = [
        member("a", ["t", "new", "newer", "missing"], {"t": [0]}),
        member("b", ["t", "new"], {"t": [1]}),
    ]
    topics = metadata({0: {"t": 2, "new": 1, "newer": 5, "other": 1}})
    said = "assigned before the metadata of new, newer had arrived"
    assert compared(engine, classic(1, *members), topics=topics) == [("different", [said])]


def test_a_leader_that_knew_no_topic_at_all(engine: str) -> None:
    said = "assigned before the metadata of t had arrived"
    nothing = [member("a", ["t"], {}), member("b", ["t"], {})]
    assert compared(engine, classic(1, *nothing), topics=metadata({0: {"t": 2}})) == [("different", [said])]


def test_a_topic_that_was_created_between_the_snapshots(engine: str) -> None:
    topics = metadata({0: {"t": 2}, 50: {"t": 4, "new": 2}})
    members = [member("a", ["t", "new"], {"t": [0, 1]}), member("b", ["t", "new"], {"t": [2, 3]})]
    said = "assigned before the metadata of new had arrived"
    assert compared(engine, classic(1, *members).at(10), topics=topics) == [("different", [said])]


def test_another_assignor_under_the_name_of_range(engine: str) -> None:
    striped = [member("a", ["t"], {"t": [0, 2]}), member("b", ["t"], {"t": [1]}), member("c", ["u"], {"u": [0]})]
    topics = metadata({0: {"t": 3, "u": 1}})
    assert compared(engine, classic(1, *striped), topics=topics) == [
        ("different", [not_range(2, 3, same_partitions=True)])
    ]


@pytest.mark.parametrize("of_b", [{}, {"t": [1, 2]}, {"t": [2], "u": [0]}])
def test_partitions_left_out_doubled_or_added(engine: str, of_b: dict[str, list[int]]) -> None:
    members = [THREE[0], member("b", ["t"], of_b)]
    assert compared(engine, classic(1, *members), topics=metadata({0: {"t": 3}})) == [
        ("different", [not_range(1, 2, same_partitions=False)])
    ]


def test_where_neither_snapshot_explains_the_one_before_is_described(engine: str) -> None:
    topics = metadata({0: {"t": 2}, 50: {"t": 4}})
    lacking = classic(1, member("a", ["t"], {"t": [0, 1]}), member("b", ["t"], {}))
    for time, differing in ((10, 2), (60, 1)):
        ((_, (remark,)),) = compared(engine, lacking.at(time), topics=topics)
        assert remark.startswith(f"not the range rules: {differing} of 2 members have other partitions")


def test_the_reference_does_not_compare_without_metadata() -> None:
    wanted = ParsedMember("a", None, ParsedSubscription(["t"], None, None), {"t": [0]})
    assert compare("range", [wanted], "a", 0, Metadata()) is None


# ---- engine against engine


def drawn(rng: random.Random) -> tuple[Event, list[Row]]:
    """A generation under `range` that one of two snapshots explains, or nearly."""
    racks = ["", "r0", "r1", "r2"][: rng.randint(1, 4)]

    def topics() -> dict[str, list[list[str]]]:
        names = rng.sample(["t", "u", "v", "～", "😀"], rng.randint(1, 4))
        return {
            name: [rng.sample(racks, rng.randint(0, len(racks))) for _ in range(rng.randint(1, 5))] for name in names
        }

    snapshots = {10: topics(), 20: topics()}
    known = rng.choice(list(snapshots.values()))
    wants = {
        id: Subscription(
            tuple(rng.choices(["t", "u", "v", "～", "😀", "missing"], k=rng.randint(0, 4))),
            group_instance_id=rng.choice([None, None, "", f"i{rng.randrange(9)}"]),
            rack=rng.choice([None, *racks]),
        )
        for id in rng.sample("abcdef", rng.randint(1, 5))
    }
    infos = {name: [PartitionInfo(id, tuple(on)) for id, on in enumerate(ons)] for name, ons in known.items()}
    members = []
    for id, given in assign(infos, wants).items():
        gets: dict[str, list[int]] = {}
        for topic, partition in given:
            if rng.random() < 0.98:
                gets.setdefault(topic, []).append(partition)
        want = wants[id]
        blob = subscription(*want.topics, rack=want.rack, version=rng.choice([2, 3, 3, 3, 3]))
        members.append(member(id, blob[: rng.choice([99] * 40 + [-1])], gets, instance=want.group_instance_id))
    return classic(1, *members).at(rng.choice([5, 10, 15, 20, 25])), metadata(snapshots)


def test_engines_agree_on_any_generation() -> None:
    rng = random.Random(31)
    outcomes = Counter[str | None]()
    for _ in range(1_500):
        generation, topics = drawn(rng)
        rust, specified = (compared(engine, generation, topics=topics) for engine in ("rust", "reference"))
        assert rust == specified
        outcomes[rust[0][0]] += 1
    assert min(outcomes.values()) > 50
    assert outcomes.keys() == {"equal", "different", "unknown"}

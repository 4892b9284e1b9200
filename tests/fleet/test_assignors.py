"""`Clusters`: each group is computed by its assignor, from the partitions that its members own."""

from __future__ import annotations

from typing import Any

import pytest

from assignor import Subscription, TopicPartition, assign, plan
from tests.fleet.columns import Row, ask, cluster, clusters, group, groups, member, outcome_of

TOPICS = cluster({"t": 6, "u": 4})
ASSIGNORS = [
    ("classic", "range"),
    ("classic", "roundrobin"),
    ("classic", "sticky"),
    ("classic", "cooperative-sticky"),
    ("consumer", "uniform"),
    ("consumer", "range"),
]
CURRENT = [("a", "t", 0, 6), ("b", "u", 0, 1), ("b", "u", 3, 1)]
NOT_COMPUTED = {
    "not Kafka's": (
        [{"assignor": "stream"}] * 2,
        "assignor 'stream' of group_protocol 'classic' is not supported; "
        "supported: 'cooperative-sticky', 'range', 'roundrobin', 'sticky'",
    ),
    "of the other protocol": (
        [{"assignor": "sticky", "group_protocol": "consumer"}] * 2,
        "assignor 'sticky' of group_protocol 'consumer' is not supported; supported: 'range', 'uniform'",
    ),
    "another protocol": (
        [{"group_protocol": "share"}] * 2,
        "group_protocol 'share' is not supported; supported: 'classic', 'consumer'",
    ),
    "different assignors": (
        [{"assignor": "sticky"}, {"assignor": "range"}],
        "members of the group have different values of assignor: 'range', 'sticky'",
    ),
    "one named protocol": (
        [{"assignor": "range"}, {"assignor": "range", "group_protocol": "consumer"}],
        None,
    ),
    "two protocols": (
        [{"group_protocol": "consumer"}, {"group_protocol": "classic"}],
        "members of the group have different values of group_protocol: 'classic', 'consumer'",
    ),
}


def named(id: str, *topics: str, protocol: str = "classic", assignor: str = "sticky", **columns: Any) -> Row:
    """Return a member whose row names an assignor."""
    return member(id, *topics, assignor=assignor, group_protocol=protocol, **columns)


def answer(verb: str, asked: Row, *arguments: Any, known: Row = TOPICS) -> Any:
    """Return the answer for one group."""
    [found] = ask(verb, [known], [asked], *arguments)
    return found


def owned(rows: list[Row]) -> dict[str, list[tuple[str, int]]]:
    """Return the partitions of each member in the rows."""
    found: dict[str, list[tuple[str, int]]] = {}
    for row in rows:
        ids = range(row["start"], row["start"] + row["count"])
        found.setdefault(row["member_id"], []).extend((row["topic"], id) for id in ids)
    return found


@pytest.mark.parametrize(("protocol", "name"), ASSIGNORS)
def test_a_group_gets_the_answer_of_its_assignor(protocol: str, name: str) -> None:
    members = [named(id, "t", "u", protocol=protocol, assignor=name, generation=3) for id in ("c", "a", "b")]
    subscriptions = {
        "a": Subscription(("t", "u"), owned_partitions=tuple(TopicPartition("t", id) for id in range(6)), generation=3),
        "b": Subscription(("t", "u"), owned_partitions=tuple(TopicPartition("u", id) for id in (0, 3)), generation=3),
        "c": Subscription(("t", "u"), generation=3),
    }

    found = answer("assign", group(*members, current=CURRENT))

    expected = assign({"t": 6, "u": 4}, subscriptions, assignor=name, group_protocol=protocol)
    assert {id: list(map(tuple, has)) for id, has in expected.items() if has} == owned(found)


def test_groups_of_one_call_have_their_own_assignors() -> None:
    asked = [
        group(*(named(id, "t", "u", protocol=protocol, assignor=name) for id in ("a", "b")), id=f"g{number}")
        for number, (protocol, name) in enumerate(ASSIGNORS)
    ]

    found = ask("balance", [TOPICS], [*asked, group(member("a", "t")), group()])

    named_in_answer = [(row["group_protocol"], row["computed_as"]) for row in found]
    assert [*ASSIGNORS, ("classic", "range"), (None, None)] == named_in_answer


def test_null_assignors_and_protocols_of_members_are_ignored() -> None:
    some = [named("a", "t", protocol="consumer", assignor="range"), member("b", "t")]
    none = [member("a", "t", group_protocol="consumer"), member("b", "t")]

    found = [answer("balance", group(*members))["computed_as"] for members in (some, none)]

    assert ["range", "uniform"] == found


@pytest.mark.parametrize(("names", "reason"), NOT_COMPUTED.values(), ids=NOT_COMPUTED)
def test_a_group_that_cannot_be_computed_has_a_reason(names: list[Row], reason: str | None) -> None:
    asked = group(*(member(id, "t", **row) for id, row in zip("ab", names, strict=True)), current=CURRENT)
    step = ("s", None, [("add_members", 1)])

    balance, [outcome] = answer("balance", asked), answer("what_if", asked, [step])

    if reason is None:
        assert "range" == balance["computed_as"]
        assert [] == answer("problems", asked)
        return
    assert [reason] == answer("problems", asked)
    assert [] == answer("assign", asked)
    assert [] == answer("moves", asked)
    known = {"members": 2, "unnamed_members": 0, "unsubscribed_members": 0, "topics": 1, "unknown_topics": 0}
    assert known == {name: value for name, value in balance.items() if value is not None}
    assert known | {"members": 3, "scenario": "s"} == {k: value for k, value in outcome.items() if value is not None}


def test_members_keep_their_owned_partitions() -> None:
    members = [named(id, "t") for id in ("a", "b", "c")]
    current = [("b", "t", 0, 3), ("a", "t", 3, 3)]

    spans = answer("assign", group(*members, current=current))

    found = owned(spans)
    assert {("t", 0), ("t", 1), ("t", 2)} > set(found["b"])
    assert {("t", 3), ("t", 4), ("t", 5)} > set(found["a"])
    assert [2, 2, 2] == sorted(map(len, found.values()))
    moved = answer("moves", group(*members, current=current))
    assert {("a", "c", 1), ("b", "c", 1)} == {(row["from_member"], row["to_member"], row["count"]) for row in moved}


def test_of_two_claims_the_later_generation_wins() -> None:
    def first(generations: tuple[int | None, int | None]) -> str | None:
        members = [named(id, "t", generation=each) for id, each in zip("ab", generations, strict=True)]
        asked = group(*members, current=[("a", "t", 0, 3), ("b", "t", 0, 3)])
        return next((id for id, has in owned(answer("assign", asked)).items() if ("t", 0) in has), None)

    assert ("a", "b", "a", "b") == (first((5, 4)), first((4, 5)), first((0, -1)), first((None, 0)))


def test_invalid_claims_have_no_effect() -> None:
    members = [named(id, "t") for id in ("a", "b")]
    beyond = [("gone", "t", 0, 3), ("a", "beyond", 0, 9), ("b", "t", 6, 2**31 - 6), ("b", "t", 2**31 - 1, 1)]
    current = [("b", "t", 0, 3), ("b", "t", 1, 1), ("b", "t", 2, 1)]

    found = answer("assign", group(*members, current=[*beyond, *current]))

    assert {"a": [("t", 3), ("t", 4), ("t", 5)], "b": [("t", 0), ("t", 1), ("t", 2)]} == owned(found)


@pytest.mark.parametrize(("protocol", "name"), ASSIGNORS)
def test_the_order_of_rows_changes_nothing(protocol: str, name: str) -> None:
    members = [named(f"m{number}", "t", "u", protocol=protocol, assignor=name) for number in range(20)]
    current = [(f"m{number}", "t", number, 1) for number in range(6)]

    found = [
        answer("assign", group(*rows, current=runs))
        for rows, runs in ((members, current), (members[::-1], current[::-1]))
    ]

    assert found[0] == found[1]


# ---- cooperative-sticky


def cooperative(*ids: str) -> list[Row]:
    return [named(id, "t", assignor="cooperative-sticky") for id in ids]


def test_partitions_of_another_member_are_withheld() -> None:
    asked = group(*cooperative("a", "b"), current=[("a", "t", 0, 6)])

    found = answer("balance", asked)

    assert (3, 3, 0, 3) == tuple(found[name] for name in ("partitions", "unowned", "least_loaded", "most_loaded"))
    assert {("a", None)} == {(row["from_member"], row["to_member"]) for row in answer("moves", asked)}


def test_a_scenario_starts_after_members_have_given_up_partitions() -> None:
    asked = group(*cooperative("a", "b"), current=[("a", "t", 0, 6)])

    [found] = answer("what_if", asked, [("nothing", None, [])])

    assert (0, 0, 6, 0, 3) == tuple(
        found[name] for name in ("rebalances", "moved", "partitions", "unowned", "most_loaded")
    )


@pytest.mark.parametrize(("assignor", "rebalances"), [("sticky", 1), ("cooperative-sticky", 2)])
def test_a_partition_that_moves_in_several_rebalances_counts_once(assignor: str, rebalances: int) -> None:
    members = [named(id, "t", assignor=assignor) for id in ("a", "b")]

    [found] = answer("what_if", group(*members), [("one more", None, [("add_members", 1)])])

    assert (rebalances, 2, 0) == (found["rebalances"], found["moved"], found["unowned"])


def test_a_rebalance_in_which_no_member_gives_up_partitions_is_the_last() -> None:
    [found] = answer("what_if", group(*cooperative("a", "b")), [("one less", None, [("remove_members", 1)])])

    assert (1, 3, 6) == (found["rebalances"], found["moved"], found["partitions"])


# ---- scenarios


def test_each_rebalance_starts_from_the_plan_before() -> None:
    steps = [("add_members", 1), ("remove_members", 1), ("multiply_partitions", 2)]

    def moved(protocol: str, assignor: str) -> int:
        members = [named(id, "t", protocol=protocol, assignor=assignor) for id in ("a", "b")]
        [found] = answer("what_if", group(*members), [("s", None, steps)])
        assert (3, 12) == (found["rebalances"], found["partitions"])
        return int(found["moved"])

    # Two partitions move to the third member and back. Existing partitions keep their owners when new ones are added.
    assert (4, 4) == (moved("classic", "sticky"), moved("consumer", "uniform"))
    assert moved("classic", "range") > 4


def test_a_restarted_member_owns_no_partitions() -> None:
    members = [named(id, "t") for id in ("a", "b")]

    [found] = answer("what_if", group(*members), [("s", None, [("rolling_restart", None)])])

    # Three partitions move to the other member and back, twice.
    assert (4, 12, 3) == (found["rebalances"], found["moved"], found["most_loaded"])


# ---- topic ids


def with_ids(**ids: str | None) -> Row:
    known = cluster({"t": 5, "u": 2, "v": 5})
    return {**known, "topics": [{**row, "topic_id": ids.get(row["topic"])} for row in known["topics"]]}


def test_uniform_orders_topics_by_their_ids() -> None:
    members = [named(id, "t", "u", "v", protocol="consumer", assignor="uniform") for id in ("a", "b", "c")]
    ids = {"t": "AAAAAAAAAAAAAAAAAAAADw", "u": "AAAAAAAAAAAAAAAAAAAAAQ", "v": "AAAAAAAAAAAAAAAAAAAABw"}

    found = {
        name: owned(answer("assign", group(*members), known=with_ids(**some)))
        for name, some in {"none": {}, "all": ids}.items()
    }

    for name, some in {"none": {}, "all": ids}.items():
        topics = dict.fromkeys("abc", Subscription(("t", "u", "v")))
        expected = assign({"t": 5, "u": 2, "v": 5}, topics, group_protocol="consumer", topic_ids=some)
        assert {id: list(map(tuple, has)) for id, has in expected.items()} == found[name]
    assert found["none"] != found["all"]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ({"u": "short"}, "topic 'u': topic_id 'short' must have Kafka's form: 22 characters of URL-safe base64"),
        (
            {"t": "AAAAAAAAAAAAAAAAAAAADw", "v": "AAAAAAAAAAAAAAAAAAAADw"},
            "topic 'v': topic 't' has the same topic_id 'AAAAAAAAAAAAAAAAAAAADw'",
        ),
    ],
)
def test_an_invalid_topic_id_is_named(ids: dict[str, str], message: str) -> None:
    found = outcome_of("assign", clusters(with_ids(**ids)), groups(group(member("a", "t"))))

    assert ("IllegalArgumentError", f"cluster 'c', {message}") == found


# ---- the group's record


@pytest.mark.parametrize("name", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_record_bytes_include_the_user_data_and_owned_partitions_of_members(name: str) -> None:
    members = [named(id, "t", assignor=name, rack=rack) for id, rack in (("a", "r1"), ("b", None))]

    found = answer("balance", group(*members, current=[("a", "t", 0, 3), ("a", "t", 5, 1)]))

    has = tuple(TopicPartition("t", id) for id in (0, 1, 2, 5))
    sent: dict[str, dict[str, Any]] = {"a": {}, "b": {}}
    if name == "sticky":
        # An array of topics with their ids, then the generation. A member without partitions sends null.
        sent["a"] = {"user_data": bytes(4 + (2 + 1 + 4 + 4 * 4) + 4)}
    if name == "cooperative-sticky":
        sent = {"a": {"user_data": bytes(4), "owned_partitions": has}, "b": {"user_data": bytes(4)}}
    subscriptions = {id: Subscription(("t",), rack=rack, **sent[id]) for id, rack in (("a", "r1"), ("b", None))}
    base = plan({"t": 6}, subscriptions, assignor="range").group_metadata_size("g") + len(name) - len("range")
    # An id in the assignment of a member has four bytes.
    assert (base - 4 * found["unowned"], 0) == (found["record_bytes"], found["idle_members"])


def test_groups_of_the_consumer_protocol_have_no_record_bytes() -> None:
    found = answer("balance", group(named("a", "t", protocol="consumer", assignor="uniform")))

    assert (6, None) == (found["partitions"], found["record_bytes"])


def test_a_group_that_is_too_large_for_its_assignor_is_named() -> None:
    known = clusters(cluster({"t": 2**28, "u": 1}))

    found = outcome_of("assign", known, groups(group(named("a", "t", "u", assignor="roundrobin"))))
    by_range = outcome_of("assign", known, groups(group(named("a", "t", "u", assignor="range"))))

    limit = f"the limit of assignor 'roundrobin' of group_protocol 'classic' is {2**28}"
    message = f"group 'g' of cluster 'c': the topics have {2**28 + 1} partitions; {limit}"
    assert ("IllegalArgumentError", message) == found
    assert [[("t", 2**28), ("u", 1)]] == [[(row["topic"], row["count"]) for row in each] for each in by_range.answer]

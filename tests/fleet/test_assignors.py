"""`Clusters`: each group is computed by its assignor, from the partitions that its members own."""

from __future__ import annotations

from typing import Any

import pytest

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


@pytest.mark.parametrize(("protocol", "name"), ASSIGNORS)
def test_the_order_of_rows_changes_nothing(protocol: str, name: str) -> None:
    members = [named(f"m{number}", "t", "u", protocol=protocol, assignor=name) for number in range(20)]
    current = [(f"m{number}", "t", number, 1) for number in range(6)]

    found = [
        answer("assign", group(*rows, current=runs))
        for rows, runs in ((members, current), (members[::-1], current[::-1]))
    ]

    assert found[0] == found[1]


# ---- topic ids


def with_ids(**ids: str | None) -> Row:
    known = cluster({"t": 5, "u": 2, "v": 5})
    return {**known, "topics": [{**row, "topic_id": ids.get(row["topic"])} for row in known["topics"]]}


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


def test_a_group_that_is_too_large_for_its_assignor_is_named() -> None:
    known = clusters(cluster({"t": 2**28, "u": 1}))

    found = outcome_of("assign", known, groups(group(named("a", "t", "u", assignor="roundrobin"))))
    by_range = outcome_of("assign", known, groups(group(named("a", "t", "u", assignor="range"))))

    limit = f"the limit of assignor 'roundrobin' of group_protocol 'classic' is {2**28}"
    message = f"group 'g' of cluster 'c': the topics have {2**28 + 1} partitions; {limit}"
    assert ("IllegalArgumentError", message) == found
    assert [[("t", 2**28), ("u", 1)]] == [[(row["topic"], row["count"]) for row in each] for each in by_range.answer]

"""What-if of a page: the load of members after one leaves or joins."""

from __future__ import annotations

import pytest

from assignor import Subscription, plan
from assignor.page.data import MemberRow
from assignor.page.scales import scales
from assignor.page.what_if import LESS, MORE, NEW_MEMBER, what_ifs
from tests.page.made_events import reported

TOPICS = {"orders": 6, "returns": 2}
MEMBERS = [
    MemberRow("g", "a", topics=("orders", "returns"), spans=(("orders", 0, 3), ("returns", 0, 2))),
    MemberRow("g", "b", topics=("orders",), spans=(("orders", 3, 3),)),
]


def test_the_busiest_member_leaves_and_a_copy_of_it_joins() -> None:
    rows, members = what_ifs(reported("g"), MEMBERS, TOPICS)

    assert {(row["what_if"], row["members"], row["fewest"], row["most"], row["moved"]) for row in rows} == {
        ("now", 2, 3, 5, 0),
        (LESS, 1, 6, 6, 5),  # no member subscribes to `returns`: its two partitions lose their owner
        (MORE, 3, 2, 3, 4),
    }
    joined = plan(TOPICS, {each.member_id: each.topics for each in MEMBERS} | {NEW_MEMBER: ["orders", "returns"]})
    counts = dict(zip(joined.members, joined.counts().tolist(), strict=True))
    assert {row["member_id"]: row["more"] for row in members} == counts
    assert {row["member_id"]: (row["now"], row["less"]) for row in members} == {
        "a": (5, None),
        "b": (3, 6),
        NEW_MEMBER: (None, None),
    }


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_sticky_assignors_start_from_what_members_own(assignor: str) -> None:
    members = [
        MemberRow("g", "a", topics=("orders",), spans=(("orders", 3, 3),)),
        MemberRow("g", "b", topics=("orders",), spans=(("orders", 0, 3),)),
    ]

    rows, _ = what_ifs(reported("g", protocol=assignor), members, TOPICS)

    assert {row["what_if"]: row["moved"] for row in rows} == {"now": 0, LESS: 3, MORE: 2}


def test_a_pattern_of_the_broker_is_resolved() -> None:
    members = [MemberRow("g", "a", pattern="ord.*", spans=(("orders", 0, 6),))]

    rows, found = what_ifs(reported("g", kind="consumer", protocol="uniform"), members, TOPICS)

    assert [row["what_if"] for row in rows] == ["now", MORE]
    assert [(row["member_id"], row["more"]) for row in found] == [("a", 3), (NEW_MEMBER, 3)]
    assert Subscription(pattern="ord.*", dialect="re2j").pattern == "ord.*"


@pytest.mark.parametrize(
    ("fields", "members", "topics"),
    [
        ({"protocol": "stream"}, MEMBERS, TOPICS),
        ({"kind": "share", "protocol": "simple"}, MEMBERS, TOPICS),
        ({"protocol": None}, MEMBERS, TOPICS),
        ({}, [], TOPICS),
        ({}, MEMBERS, None),
        ({"kind": "consumer"}, [MemberRow("g", "a", pattern="(", spans=(("orders", 0, 6),))], TOPICS),
    ],
)
def test_a_group_that_cannot_be_computed_has_no_rows(
    fields: dict[str, str], members: list[MemberRow], topics: dict[str, int] | None
) -> None:
    assert what_ifs(reported("g", **fields), members, topics) == ([], [])


def test_a_group_is_computed_for_more_members_than_today() -> None:
    rows = scales(reported("g"), [*MEMBERS[:1], MemberRow("g", "b", topics=("orders", "returns"))], TOPICS)

    assert [1, 2, 3, 4] == [row["members"] for row in rows]
    assert [False, True, False, False] == [row["is_today"] for row in rows]
    assert ["yes", "yes", "yes", "no"] == [row["good"] for row in rows]
    assert [8, 4, 3, 3] == [row["most_loaded"] for row in rows]
    assert [] == scales(reported("g", protocol="stream"), MEMBERS, TOPICS)

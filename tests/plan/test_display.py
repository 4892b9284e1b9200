"""Text and HTML of large values: short, with counts and first entries; names are escaped."""

from __future__ import annotations

import functools
import html.parser
from typing import Any

import numpy as np

from assignor import Balance, Diff, Findings, Plan, Spans, TopicPartition, check, plan, server
from assignor import partition_assignor as assignors
from assignor.coordinator import Coordinator, CoordinatorConfig, JoinGroupRequest
from assignor.display import MOST_CHARACTERS, MOST_ROWS

LONG = "a-name-of-more-than-a-hundred-characters-" * 6
MEMBERS = {f"{LONG}{number}": [LONG] for number in range(1_000)}


def plans(partitions: int = 100_000) -> tuple[Plan, Plan]:
    """Return two different large plans."""
    return plan({LONG: partitions}, MEMBERS), plan({LONG: partitions}, MEMBERS, assignor="roundrobin")


@functools.cache
def large_values() -> dict[str, Any]:
    """Return a large value of each class."""
    before, after = plans()
    found = check({}, {LONG: 100_000}, MEMBERS)
    pairs = tuple((member, TopicPartition(LONG, 0)) for member in MEMBERS)
    return {
        "Plan": after,
        "Spans": after.spans(),
        "Diff": before.diff(after),
        "Balance": plan(dict.fromkeys([LONG, *map(str, range(1_000))], 1), MEMBERS).balance(),
        "Findings": found,
        "Findings of pairs": Findings(found.unowned, found.unowned, pairs, pairs),
    }


def test_the_text_of_a_large_value_is_short() -> None:
    for name, value in large_values().items():
        assert MOST_CHARACTERS >= len(repr(value)), name
        assert repr(value).lstrip("<").startswith(type(value).__name__)


def test_a_short_text_has_first_entries_and_counts() -> None:
    members = tuple(f"member-{number}" for number in range(1_000))

    assert (
        "Balance(min=0, max=1, mean=0.5, idle=('member-0', 'member-1', 'member-2', 'member-3', 'member-4', 'member-5', "
        "'member-6', 'member-7', 'member-8', 'member-9', 'member-10', 'member-11', 'member-12', 'member-13', "
        "'member-14', 'member-15', 'member-16', 'member-17', 'member-18', 'member-19', … 980 more), spread={})"
    ) == repr(Balance(0, 1, 0.5, members, {}))
    partitions = [TopicPartition("orders", id) for id in range(1_000)]
    assert (
        "Diff(added={'a': [TopicPartition(topic='orders', partition=0), TopicPartition(topic='orders', partition=1), "
        "TopicPartition(topic='orders', partition=2), TopicPartition(topic='orders', partition=3), "
        "TopicPartition(topic='orders', partition=4), TopicPartition(topic='orders', partition=5), … 994 more]}, "
        "revoked={}, moved=7)"
    ) == repr(Diff({"a": partitions}, {}, 7))


def test_a_small_value_is_shown_as_a_whole() -> None:
    partition = TopicPartition("t", 1)
    for value in (
        Diff({"a": [partition]}, {}, 1),
        Balance(0, 3, 1.5, ("c",), {"t": 1}),
        Findings((partition,), (), (("a", partition),), ()),
    ):
        assert value == eval(repr(value))
    columns = [np.array([number], np.int32) for number in range(4)]
    assert (
        "Spans(member=array([0], dtype=int32), topic=array([1], dtype=int32), start=array([2], dtype=int32), "
        "count=array([3], dtype=int32))"
    ) == repr(Spans(*columns))


def test_a_coordinator_and_assignors_have_short_texts() -> None:
    coordinator = Coordinator(CoordinatorConfig(initial_rebalance_delay_ms=0))
    for number in range(300):
        coordinator.join_group(JoinGroupRequest(f"group-{number}", version=3, protocols=[("range", b"")]), now=0)

    assert "<Coordinator: 300 groups, 300 members, next deadline 45000>" == repr(coordinator)
    assert "assignor.StickyAssignor(engine='rust')" == repr(assignors.StickyAssignor())
    assert "assignor.server.RangeAssignor(engine='reference')" == repr(server.RangeAssignor(engine="reference"))
    assert "assignor.server.StreamsStickyAssignor(engine='rust')" == repr(server.StreamsStickyAssignor())


class Table(html.parser.HTMLParser):
    """Parser that collects the rows of a table, and fails if a tag is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.feed(text)
        assert [] == self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - the interface's signature
        """Open a tag."""
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        """Close a tag."""
        assert tag == self.open.pop()

    def handle_data(self, data: str) -> None:
        """Add text to a cell."""
        if self.open[-1:] in (["td"], ["th"]):
            self.rows[-1][-1] += data


def test_tables_of_large_values_have_some_rows_and_say_how_many_are_left_out() -> None:
    values = large_values()
    for name, left_out in {
        "Plan": "and 980 more members",
        "Diff": "and 980 more members",
        "Findings": "and 99,980 more problems",
        "Findings of pairs": "and 201,980 more problems",
    }.items():
        text = values[name]._repr_html_()
        rows = Table(text).rows

        assert 1 + MOST_ROWS + 1 == len(rows), name
        assert [left_out] == rows[-1]
        assert len(text) < 60_000


def test_tables_of_small_values() -> None:
    before, after = (plan({"t": 4}, {member: ["t"] for member in members}) for members in ("ab", "abc"))

    assert [
        ["member", "count", "partitions"],
        ["a", "2", "t[0–1]"],
        ["b", "1", "t[2]"],
        ["c", "1", "t[3]"],
    ] == Table(after._repr_html_()).rows
    assert [
        ["member", "count", "added", "count", "revoked"],
        ["c", "1", "t[3]", "0", ""],
        ["b", "0", "", "1", "t[3]"],
    ] == Table(before.diff(after)._repr_html_()).rows
    found = check({"a": [("t", 0), ("x", 1)]}, {"t": 2, "u": 1}, {"a": ["t"]})
    assert [
        ["partition", "problem", "member"],
        ["t[1]", "without an owner", ""],
        ["x[1]", "assigned to a member that does not subscribe to the topic", "a"],
        ["x[1]", "assigned, but does not exist", "a"],
    ] == Table(found._repr_html_()).rows


def test_names_in_tables_are_escaped() -> None:
    name = "<script>&\u202e"
    found = plan({name: 1}, {name: [name]})
    for value in (found, plan({name: 1}, {}).diff(found), check(found, {}, {name: []})):
        text = value._repr_html_()

        assert "<script>" not in text
        assert "\u202e" not in text
        assert r"&lt;script&gt;&amp;\u202e" in text

"""Data structures of the coordinator: timers, groups, and members in the order of a hash map."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import _core, ordering
from assignor.coordinator.group import ClassicGroup, StoredOffset, _shared_values, shared
from assignor.coordinator.members import GroupMember, MemberTable
from assignor.coordinator.timers import Timer, TimerKind, Timers
from assignor.model import TopicPartition
from assignor.ordering import string_hash, text_order
from tests.member.simulation.hash_tables import HashTable

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, 7), st.integers(0, 40)),
        st.tuples(st.just("cancel"), st.integers(0, 7), st.just(0)),
        st.tuples(st.just("until"), st.just(0), st.integers(0, 40)),
    ),
    max_size=200,
)


@given(st.text(st.characters(codec="utf-8")))
def test_the_core_hashes_texts_like_the_ordering_module(text: str) -> None:
    assert ordering.folded_hash(text) == _core.folded_hash(text)


@given(STEPS)
def test_timers_fire_by_time_then_in_order_of_setting(steps: list[tuple[str, int, int]]) -> None:
    timers, all_timers = Timers(), [Timer(TimerKind.SESSION, "g", str(number)) for number in range(8)]
    expected: dict[int, tuple[int, int]] = {}
    for order, (verb, number, time) in enumerate(steps):
        if verb == "set":
            timers.set(all_timers[number], time)
            expected[number] = (time, order)
        elif verb == "cancel":
            timers.cancel(all_timers[number])
            expected.pop(number, None)
        else:
            due = sorted((when, number) for number, when in expected.items() if when[0] <= time)
            for _, each in due:
                assert all_timers[each] is timers.pop(time)
                del expected[each]
            assert timers.pop(time) is None
        assert min((when for when, _ in expected.values()), default=None) == timers.next_deadline()


def test_a_timer_that_is_moved_later_leaves_few_deadlines() -> None:
    timers, timer = Timers(), Timer(TimerKind.JOIN_PHASE, "g")
    for time in range(10_000):
        timers.set(timer, time)

    assert [9_999] == list(timers._by_time)
    assert len(timers._heap) <= 66
    assert 9_999 == timers.next_deadline()


def test_cancelled_timers_leave_few_deadlines() -> None:
    timers = Timers()
    for number in range(10_000):
        timer = Timer(TimerKind.JOIN_PHASE, "g")
        timers.set(timer, number)
        if number % 100:
            timers.cancel(timer)

    assert 100 == len(timers._by_time)
    assert len(timers._heap) <= 2 * 100 + 64


def test_a_timer_that_is_moved_earlier_leaves_few_deadlines() -> None:
    timers, timer = Timers(), Timer(TimerKind.JOIN_PHASE, "g")
    for time in range(10_000, 0, -1):
        timers.set(timer, time)

    assert len(timers._heap) <= 66
    assert 1 == timers.next_deadline()


def test_timers_that_are_set_to_the_same_times_again_and_again_leave_few_entries() -> None:
    timers, (first, second) = Timers(), [Timer(TimerKind.SESSION, "g", name) for name in "ab"]
    timers.set(first, 7)
    for number in range(10_000):
        timers.set(second, 7 + number % 2)

    assert [7, 8] == sorted(timers._by_time)
    assert sum(len(entries) for _, entries in timers._by_time.values()) <= 2 * 66
    assert [first, second, None] == [timers.pop(8) for _ in range(3)]


def test_timers_that_are_set_while_others_fire_at_that_time_fire_last() -> None:
    timers, (first, second, third, fourth) = Timers(), [Timer(TimerKind.JOIN_PHASE, name) for name in "abcd"]
    for timer in (first, second, third, fourth):
        timers.set(timer, 5)

    assert first is timers.pop(5)
    timers.cancel(second)
    timers.set(third, 5)
    timers.set(first, 5)
    assert fourth is timers.pop(5)
    timers.set(second, 4)
    assert [second, third, first, None] == [timers.pop(5) for _ in range(4)]


def test_a_timer_that_is_set_to_an_earlier_time_while_others_fire_is_next() -> None:
    timers, (first, second, third) = Timers(), [Timer(TimerKind.JOIN_PHASE, name) for name in "abc"]
    for timer in (first, second, third):
        timers.set(timer, 5)

    assert first is timers.pop(5)
    timers.set(first, 4)
    assert 4 == timers.next_deadline()
    assert [first, second, third, None] == [timers.pop(5) for _ in range(4)]


def test_groups_share_no_entries() -> None:
    first, second = [ClassicGroup(TimerKind.JOIN_PHASE, name, state_since=0) for name in "ab"]
    first.store_offset(TopicPartition("t", 0), StoredOffset(1, "", -1, 0))
    first.await_member("m-1")
    first.add(replace(member("m-2"), group_instance_id="i"), "consumer")
    first.await_syncs()

    for entries in (second.offsets, second.pending_joins, second.static_members, second.pending_syncs):
        assert not entries
        with pytest.raises(TypeError, match=r"^the shared empty dict cannot store 'x'$"):
            entries["x"] = None  # type: ignore[index, assignment]  # any entry


def test_members_with_equal_values_share_one_object() -> None:
    group = ClassicGroup(TimerKind.JOIN_PHASE, "g", state_since=0)
    for number in range(3):
        values: dict[str, Any] = {"client_id": "-".join(["client"] * 2), "session_timeout_ms": int("30000")}
        group.add(replace(member(f"m-{number}"), **values), "consumer")

    first, *others = group.members.values()
    assert all(each.client_id is first.client_id for each in others)
    assert all(each.session_timeout_ms is first.session_timeout_ms for each in others)


def test_few_values_are_kept_for_sharing() -> None:
    for number in range(3_000):
        assert f"c-{number}" == shared(f"c-{number}")
    long = "x" * 300

    assert long is shared(long)
    assert long not in _shared_values
    assert len(_shared_values) <= 1_024


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 3)), max_size=60))
def test_the_rebalance_timeout_is_the_longest_of_the_members(steps: list[tuple[int, int]]) -> None:
    group = ClassicGroup(TimerKind.JOIN_PHASE, "g", state_since=0)
    for number, timeout_ms in steps:
        name = f"m-{number}"
        if name not in group.members:
            group.add(replace(member(name), rebalance_timeout_ms=timeout_ms), "consumer")
        elif timeout_ms < 0:
            group.remove(name)
        else:
            group.update(group.members[name], replace(member(name), rebalance_timeout_ms=timeout_ms), None)
        longest = max((each.rebalance_timeout_ms for each in group.members.values()), default=0)
        assert max(longest, 0) == group.rebalance_timeout_ms


def member(member_id: str) -> GroupMember:
    """Return a member with this id and arbitrary other fields."""
    fields: dict[str, Any] = {
        "group_instance_id": None,
        "client_id": "c",
        "client_host": "",
        "protocols": (),
        "session_timeout_ms": 1,
        "rebalance_timeout_ms": 1,
    }
    return GroupMember(TimerKind.SESSION, "g", member_id, **fields)


@given(st.lists(st.sampled_from([f"c-{number}" for number in range(40)] + ["Aa", "BB", "AaBB", "BBAa"]), max_size=120))
def test_the_table_lists_members_as_a_hash_map_does(names: list[str]) -> None:
    table, model = MemberTable(), HashTable(string_hash)
    for name in names:
        if name in table:
            model.remove(name)
            assert (removed := table.take(name)) is not None
            assert name == removed.member_id
        else:
            model.add(name)
            table.put(member(name))
        expected, first = list(model), table.first()
        assert expected == [each.member_id for each in table.in_order()]
        assert (expected[0] if expected else None) == (None if first is None else first.member_id)


def test_a_large_table_lists_members_as_a_hash_map_does() -> None:
    names = [f"consumer-{number}-{number * 7919}" for number in range(3_000)]
    table = MemberTable()
    for name in names:
        table.put(member(name))

    assert text_order(names) == [each.member_id for each in table.in_order()]

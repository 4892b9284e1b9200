"""Data structures of the coordinator: timers, and members in the order of a hash map."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assignor.coordinator.members import GroupMember, MemberTable
from assignor.coordinator.timers import Timer, TimerKind, Timers
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


@given(STEPS)
def test_timers_fire_by_deadline_then_in_order_of_setting(steps: list[tuple[str, int, int]]) -> None:
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

    assert [9_999] == list(timers._by_deadline)
    assert len(timers._heap) <= 66
    assert 9_999 == timers.next_deadline()


def test_cancelled_timers_leave_few_deadlines() -> None:
    timers = Timers()
    for number in range(10_000):
        timer = Timer(TimerKind.JOIN_PHASE, "g")
        timers.set(timer, number)
        if number % 100:
            timers.cancel(timer)

    assert 100 == len(timers._by_deadline)
    assert len(timers._heap) <= 2 * 100 + 64


def test_a_timer_that_is_moved_earlier_leaves_few_deadlines() -> None:
    timers, timer = Timers(), Timer(TimerKind.JOIN_PHASE, "g")
    for time in range(10_000, 0, -1):
        timers.set(timer, time)

    assert len(timers._heap) <= 66
    assert 1 == timers.next_deadline()


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

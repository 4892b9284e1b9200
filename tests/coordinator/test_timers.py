"""Data structures of the coordinator: timers, `Largest`, and members in the order of a hash map."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assignor.coordinator.members import GroupMember, Largest, MemberTable
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


def test_a_timer_that_is_moved_later_has_one_entry() -> None:
    timers, timer = Timers(), Timer(TimerKind.JOIN_PHASE, "g")
    for time in range(10_000):
        timers.set(timer, time)

    assert 1 == len(timers._heap)
    assert 9_999 == timers.next_deadline()


def test_at_most_half_of_the_entries_are_cancelled() -> None:
    timers = Timers()
    for number in range(10_000):
        timer = Timer(TimerKind.JOIN_PHASE, "g")
        timers.set(timer, number)
        if number % 100:
            timers.cancel(timer)

    assert len(timers._heap) <= 2 * 100 + 1


def test_a_timer_that_is_moved_earlier_leaves_few_entries() -> None:
    timers, timer = Timers(), Timer(TimerKind.JOIN_PHASE, "g")
    for time in range(10_000, 0, -1):
        timers.set(timer, time)

    assert len(timers._heap) <= 65
    assert 1 == timers.next_deadline()


@given(st.lists(st.integers(0, 30), max_size=300))
def test_largest_returns_the_largest_number(numbers: list[int]) -> None:
    largest, kept = Largest(), list[int]()
    for number in numbers:
        if number in kept:
            kept.remove(number)
            largest.remove(number)
        else:
            kept.append(number)
            largest.add(number)
        assert max(kept, default=0) == largest.get()


def test_removed_numbers_do_not_accumulate() -> None:
    largest = Largest()
    largest.add(10**9)
    for number in range(10_000):
        largest.add(number)
        largest.remove(number)

    assert 10**9 == largest.get()
    assert len(largest._heap) <= 65


def member(member_id: str) -> GroupMember:
    """Return a member with this id and arbitrary other fields."""
    fields: dict[str, Any] = {
        "group_instance_id": None,
        "client_id": "c",
        "client_host": "",
        "protocol_type": "consumer",
        "protocols": (),
        "session_timeout_ms": 1,
        "rebalance_timeout_ms": 1,
    }
    return GroupMember(member_id, Timer(TimerKind.SESSION, "g", member_id), **fields)


@given(st.lists(st.sampled_from([f"c-{number}" for number in range(40)] + ["Aa", "BB", "AaBB", "BBAa"]), max_size=120))
def test_the_table_lists_members_as_a_hash_map_does(names: list[str]) -> None:
    table, model = MemberTable(), HashTable(string_hash)
    for name in names:
        if name in table:
            model.remove(name)
            assert (removed := table.pop(name)) is not None
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

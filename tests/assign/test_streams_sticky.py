"""Behaviour of the broker's assignor of streams groups, rule by rule, on both engines.

The expected answers follow from Kafka's `StickyTaskAssignor` 4.3.1, which has answered the larger ones.
"""

from __future__ import annotations

import dataclasses

import pytest

from assignor.server import StreamsMember, StreamsStickyAssignor
from tests.assign.streams_groups import StreamsGroup, group, tasks
from tests.support.engines import ENGINES, Engine

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def texts(asked: StreamsGroup, engine: Engine) -> dict[str, tuple[str, str]]:
    """Return active and standby tasks of each member as text; no member has warm-up tasks."""
    answer = asked.assign(engine)
    assert all(each.warmup == [] for each in answer.values())
    return {
        member: tuple(" ".join(f"{id}_{number}" for id, number in each) for each in (active, standby))  # type: ignore[misc]  # two texts
        for member, (active, standby, _) in answer.items()
    }


def active(asked: StreamsGroup, engine: Engine) -> dict[str, str]:
    """Return the active tasks of each member as text, in a group without standby tasks."""
    found = texts(asked, engine)
    assert all(standby == "" for _, standby in found.values())
    return {member: each for member, (each, _) in found.items()}


def test_members_keep_active_tasks_up_to_the_quota_by_number_then_subtopology(engine: Engine) -> None:
    before = {"a": ("p", tasks("0_0 0_1 1_0 1_1"), ()), "b": ("q", (), ())}

    assert {"a": "0_0 1_0", "b": "0_1 1_1"} == active(group({"0": (2, False), "1": (2, False)}, before), engine)


def test_the_quota_falls_once_a_member_has_reached_it(engine: Engine) -> None:
    before = {
        "a": ("p", tasks("0_0 0_1"), ()),
        "b": ("q", tasks("0_2 0_3"), ()),
        "c": ("r", tasks("0_4"), ()),
    }

    assert {"a": "0_0 0_1", "b": "0_2 0_3", "c": "0_4"} == active(group({"0": (5, False)}, before), engine)
    before["b"], before["c"] = ("q", tasks("0_2"), ()), ("r", tasks("0_4 0_3"), ())
    assert {"a": "0_0 0_1", "b": "0_2", "c": "0_3 0_4"} == active(group({"0": (5, False)}, before), engine)


def test_a_member_that_reaches_the_quota_first_lowers_that_of_the_others(engine: Engine) -> None:
    before = {"a": ("p", tasks("0_0 0_1 0_2"), ()), "b": ("q", tasks("0_3 0_4 0_5"), ()), "c": ("r", (), ())}

    assert {"a": "0_0 0_1 0_2", "b": "0_3 0_4", "c": "0_5 0_6"} == active(group({"0": (7, False)}, before), engine)


def test_a_task_without_owner_goes_to_a_member_with_its_state(engine: Engine) -> None:
    before = {"a": ("p", (), tasks("0_1")), "b": ("q", (), tasks("0_0"))}

    assert {"a": "0_1", "b": "0_0"} == active(group({"0": (2, True)}, before), engine)


def test_the_least_loaded_member_with_the_state_gets_the_task(engine: Engine) -> None:
    before = {
        "a": ("p", tasks("0_0"), tasks("0_3")),
        "b": ("q", (), tasks("0_3")),
        "c": ("r", tasks("0_1 0_2"), tasks("0_3")),
    }

    assert {"a": "0_0", "b": "0_3", "c": "0_1 0_2"} == active(group({"0": (4, True)}, before), engine)


def test_a_less_loaded_member_of_an_equally_loaded_process_is_not_preferred(engine: Engine) -> None:
    before = {
        "a": ("p", tasks("0_0"), tasks("0_3")),
        "b": ("p", (), tasks("0_3")),
        "c": ("q", tasks("0_1 0_2"), ()),
    }

    assert {"a": "0_0 0_3", "b": "0_4", "c": "0_1 0_2"} == active(group({"0": (5, True)}, before), engine)


def test_new_tasks_go_to_the_process_with_the_fewest_tasks_per_member(engine: Engine) -> None:
    members = {"a": ("p", (), ()), "b": ("p", (), ()), "c": ("q", (), ())}

    found = active(group({"0": (6, False)}, members), engine)
    assert {"a": 2, "b": 2, "c": 2} == {member: len(each.split()) for member, each in found.items()}
    assert {"a": "0_0 0_4", "b": "0_2 0_5", "c": "0_1 0_3"} == found


def test_new_tasks_are_assigned_by_subtopology_id_in_javas_order(engine: Engine) -> None:
    members = {"a": ("p", (), ()), "b": ("q", (), ()), "c": ("r", (), ())}
    topology = {"2": (1, False), "10": (1, False), "～": (1, False), "\U00010000": (1, False)}

    assert {"a": "10_0", "b": "\U00010000_0", "c": "2_0 ～_0"} == active(group(topology, members), engine)


def test_queues_return_equal_elements_in_the_order_of_javas_heap(engine: Engine) -> None:
    members = {name: (name, (), ()) for name in "abcdefg"}

    found = active(group({"0": (7, False)}, members), engine)
    assert {"a": "0_0", "b": "0_2", "c": "0_5", "d": "0_3", "e": "0_4", "f": "0_6", "g": "0_1"} == found


def test_only_tasks_with_state_get_standby_copies(engine: Engine) -> None:
    members = {"a": ("p", (), ()), "b": ("q", (), ())}

    found = texts(group({"0": (1, False), "1": (1, True)}, members, 1), engine)
    assert {"a": ("0_0", "1_0"), "b": ("1_0", "")} == found


def test_a_process_has_at_most_one_copy_of_a_task(engine: Engine) -> None:
    members = {"a": ("p", (), ()), "b": ("p", (), ()), "c": ("q", (), ())}

    found = texts(group({"0": (2, True)}, members, 5), engine)
    assert {"a": ("0_0", ""), "b": ("", "0_1"), "c": ("0_1", "0_0")} == found


def test_a_new_process_takes_active_and_standby_tasks(engine: Engine) -> None:
    before = {
        "a": ("P", tasks("0_0 0_1"), tasks("0_2 0_3")),
        "b": ("Q", tasks("0_2 0_3"), tasks("0_0 0_1")),
        "c": ("R", (), ()),
    }

    found = texts(group({"0": (4, True)}, before, 1), engine)
    assert {"a": ("0_0 0_1", "0_2"), "b": ("0_2", "0_1 0_3"), "c": ("0_3", "0_0")} == found


def test_a_kept_standby_copy_is_lost_if_the_first_members_process_has_a_copy(engine: Engine) -> None:
    copy = tasks("0_0")
    before = {"a": ("P", (), ()), "b": ("Q", copy, ()), "c": ("R", (), copy), "d": ("S", (), copy)}

    found = texts(group({"0": (1, True)}, before, 2), engine)
    assert {"a": ("", "0_0"), "b": ("0_0", ""), "c": ("", "0_0"), "d": ("", "")} == found


def test_the_member_that_had_a_task_active_keeps_its_state(engine: Engine) -> None:
    before = {"a": ("P", tasks("0_0 0_1 0_2"), ()), "b": ("Q", (), ()), "c": ("R", (), ())}

    found = texts(group({"0": (3, True)}, before, 1), engine)
    assert {"a": ("0_0", "0_2"), "b": ("0_1", "0_0"), "c": ("0_2", "0_1")} == found


def test_the_last_of_several_members_with_an_active_task_keeps_it(engine: Engine) -> None:
    before = {"b": ("q", tasks("0_0"), ()), "a": ("p", tasks("0_0"), ())}

    assert {"b": "0_0", "a": "0_1"} == active(group({"0": (2, False)}, before), engine)


def test_the_order_of_members_counts_where_their_ids_share_a_bucket(engine: Engine) -> None:
    members = {"a": ("p", (), ()), "q": ("r", (), ())}
    swapped = dict(reversed(members.items()))
    same_bucket = {"a": ("1", (), ()), "q": ("A", (), ())}

    assert active(group({"0": (1, False)}, members), engine) == active(group({"0": (1, False)}, swapped), engine)
    first = active(group({"0": (1, False)}, same_bucket), engine)
    second = active(group({"0": (1, False)}, dict(reversed(same_bucket.items()))), engine)
    assert ({"a": "0_0", "q": ""}, {"q": "0_0", "a": ""}) == (first, second)


def test_what_the_class_does_not_read_has_no_effect(engine: Engine) -> None:
    first, second = tasks("0_0 0_1"), tasks("1_0")
    before = {"a": ("P", first, second), "b": ("Q", second, first), "c": ("R", (), ())}
    asked = group({"1": (2, True), "0": (3, True)}, before, 1)
    more = {
        id: dataclasses.replace(
            member,
            warmup=tasks("0_2 1_1"),
            instance_id=id,
            client_tags={"zone": id},
            active=(*member.active, ("gone", 0), ("0", 3)),
            standby=(("1", 99), *reversed(member.standby)),
        )
        for id, member in asked.members.items()
    }
    other = StreamsGroup(dict(reversed(asked.topology.items())), more, 1)

    assert list(asked.assign(engine).items()) == list(other.assign(engine).items())


def test_groups_without_tasks_or_members(engine: Engine) -> None:
    assert {} == StreamsStickyAssignor(engine=engine).assign({}, {})
    assert {} == StreamsStickyAssignor(engine=engine).assign({"0": (0, True)}, {}, standby_replicas=1)
    found = StreamsStickyAssignor(engine=engine).assign({}, {"a": StreamsMember("p", active=[("0", 0)])})
    assert {"a": ([], [], [])} == found

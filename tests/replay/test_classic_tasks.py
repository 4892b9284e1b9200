"""Tasks of groups of Kafka Streams on the classic protocol and of Kafka Connect, in the events of their generations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignor import Subscription
from assignor.wire import encode_assignment, encode_subscription
from tests.replay.event_logs import replayed
from tests.replay.logs import Event, classic, log, member, metadata
from tests.wire.application_bytes import (
    LATEST_OFFSET,
    connect_assignment,
    connect_subscription,
    process_id,
    streams_assignment,
    streams_subscription,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.replay.logs import Row

TOPICS = metadata({0: {"t": 4}, 90_000: {"t": 4}})
REASON = "the log does not determine the assignment: it depends on the memory of the leader"
P, Q = str(process_id("P")), str(process_id("Q"))


def generations(*events: Event) -> list[Row]:
    """Return the events of generations."""
    found, _ = replayed({"g": log(events)}, TOPICS)
    return [each for each in found if each["event"] == "generation"]


def problems(*events: Event) -> list[list[str]]:
    """Return the sentences about each generation."""
    return [each["task_problems"] for each in generations(*events)]


def moved(*events: Event, field: str = "moved_tasks") -> list[list[tuple[str, str]] | None]:
    """Return tasks and their new processes of each generation."""
    lists = [each[field] for each in generations(*events)]
    return [found and [(each["task"], each["process"]) for each in found] for found in lists]


# ---- Kafka Streams


def streams_member(
    name: str,
    process: str,
    active: str = "",
    standby: str = "",
    sums: Mapping[str, int] | None = None,
    partitions: Iterable[tuple[str, int]] | None = None,
    **fields: Any,
) -> Row:
    """Return a member; `active` and `standby` are names of tasks, and `process` is a letter."""
    tasks = active.split()
    owned = [("t", number) for number in range(len(tasks))] if partitions is None else partitions
    joined = encode_subscription(Subscription(("t",), user_data=streams_subscription(process, sums)))
    gets = encode_assignment(owned, user_data=streams_assignment(tasks, standby.split(), **fields))
    return member(name, joined, gets)


def streams(generation: int, *members: Row) -> Event:
    return classic(generation, *members, protocol="stream")


def test_the_tasks_of_each_member_and_the_moves_are_in_the_generation() -> None:
    stateful = {"1_0": LATEST_OFFSET}
    first = streams(1, streams_member("a", "P", "0_0 1_0 1_0"), streams_member("b", "Q", "0_1", "1_0"))
    second = streams(
        2,
        streams_member("a", "P", "0_1", sums=stateful),
        streams_member("b", "Q", "0_0 1_0"),
        streams_member("c", "R", "", "1_0"),
    )
    found = generations(first, second)
    assert found[0]["tasks"] == [
        {"member": "a", "process": P, "active": ["0_0", "1_0"], "standby": [], "warmup": []},
        {"member": "b", "process": Q, "active": ["0_1"], "standby": ["1_0"], "warmup": []},
    ]
    assert [each["task_problems"] for each in found] == [[], []]
    assert moved(first, second)[1] == [("0_0", Q), ("0_1", P), ("1_0", Q)]
    assert moved(first, second, field="moved_state")[1] == [("1_0", str(process_id("R")))]


def test_the_assignment_is_not_compared() -> None:
    (found,) = generations(streams(1, streams_member("a", "P", "0_0")))
    assert found["comparison"] == {
        "assignor": None,
        "outcome": "unknown",
        "class": "not_determined",
        "remarks": [REASON],
    }
    (found,) = generations(classic(1, member("a", ["t"], {"t": [0, 1, 2, 3]})))
    assert found["comparison"]["outcome"] == "equal"
    assert found["tasks"] is None


def test_a_task_that_moves_has_no_owner_in_one_generation() -> None:
    events = [
        streams(1, streams_member("a", "P", "0_0 0_1"), streams_member("b", "Q")),
        streams(2, streams_member("a", "P", "0_0"), streams_member("b", "Q")),
        streams(3, streams_member("a", "P", "0_0"), streams_member("b", "Q", "0_1")),
    ]
    assert problems(*events) == [[], [], []]
    assert moved(*events)[1:] == [[], [("0_1", Q)]]
    # The record that a returning static member causes repeats the generation.
    assert problems(events[0], events[1], events[1], events[2]) == [[], [], [], []]


def test_a_task_without_owner_in_two_generations_is_a_problem() -> None:
    events = [streams(1, streams_member("a", "P", "0_0 0_1 1_0"))]
    events += [streams(number, streams_member("a", "P", "0_0")) for number in (2, 3)]
    assert problems(*events) == [[], [], ["task 0_1 has no owner"]], "the subtopology 1 may be gone"


def test_tasks_with_several_owners_and_copies_are_a_problem() -> None:
    twice = streams(1, streams_member("a", "P", "0_0"), streams_member("b", "P", "0_0", "0_1"))
    assert problems(twice) == [["task 0_0 has 2 owners: a, b", f"process {P} has 2 copies of task 0_0: a, b"]]


def test_state_on_the_disk_of_a_process_does_not_move() -> None:
    first = streams(1, streams_member("a", "P", "1_0", sums={}), streams_member("b", "Q", "", "1_0"))
    for sums, expected in (({"1_0": 500}, []), ({}, [("1_0", str(process_id("R")))])):
        second = streams(2, streams_member("a", "P", "", "1_0"), streams_member("c", "R", "1_0", sums=sums))
        assert moved(first, second, field="moved_state")[1] == expected


@pytest.mark.parametrize("version", [0, 12, 99])
def test_user_data_of_an_unknown_version_has_a_reason(version: int) -> None:
    data = version.to_bytes(4, "big") + bytes(40)
    joined = encode_subscription(Subscription(("t",), user_data=data))
    other = member("x", joined, encode_assignment([("t", 1)], user_data=data))
    (found,) = generations(streams(1, streams_member("a", "P", "0_0"), other))
    what = f"cannot be read: user data version {version} is not known at offset 0 while reading version"
    assert found["task_problems"] == [
        f"the user data of the subscription of x {what}",
        f"the user data of the assignment of x {what}",
    ]
    assert [each["process"] for each in found["tasks"]] == [None, P]


def test_missing_user_data_errors_and_wrong_counts_have_a_reason() -> None:
    bare = member("x", ["t"], {"t": [1]})
    failed = streams_member("a", "P", error=1)
    short = streams_member("b", "Q", "0_0", partitions=[("t", 0), ("t", 2)])
    assert problems(streams(1, bare, failed, short)) == [
        [
            "the subscription of x has no user data",
            "the assignment of x has no user data",
            "the leader gave error 1 to a: a source topic is missing",
            "b has 2 partitions, but 1 of its partitions have a task",
        ]
    ]


def test_a_group_that_ends_has_no_tasks() -> None:
    first, last = generations(streams(1, streams_member("a", "P", "0_0")), classic(2))
    assert (len(first["tasks"]), last["tasks"], last["task_problems"]) == (1, [], [])
    assert last["comparison"] is None


# ---- Kafka Connect

URL = "http://{}/"


def worker(
    name: str,
    owned: str | None = None,
    assigned: str = "",
    revoked: str = "",
    *,
    url: str | None = None,
    version: int = 2,
    **fields: Any,
) -> Row:
    """Return a worker that had `owned` when it joined."""
    had = None if owned is None else connect_assignment(owned.split(), version=version)
    gets = connect_assignment(assigned.split(), revoked.split(), version=version, **fields)
    return member(name, connect_subscription(url or URL.format(name), had, version=version), gets)


def connect(generation: int, *members: Row, protocol: str = "sessioned") -> Event:
    return classic(generation, *members, protocol=protocol, protocol_type="connect")


def test_a_worker_runs_what_it_keeps_and_what_it_gets() -> None:
    events = [
        connect(1, worker("a", None, "orders orders-0 orders-1")),
        connect(2, worker("a", "orders orders-0 orders-1", "", "orders-1"), worker("b")),
        connect(3, worker("a", "orders orders-0"), worker("b", None, "orders-1")),
    ]
    found = generations(*events)
    assert [[each["active"] for each in one["tasks"]] for one in found] == [
        [["orders", "orders-0", "orders-1"]],
        [["orders", "orders-0"], []],
        [["orders", "orders-0"], ["orders-1"]],
    ]
    assert problems(*events) == [[], [], []], "a revoked task is given up on purpose"
    assert moved(*events) == [[], [], [("orders-1", "http://b/")]]
    assert [each["comparison"]["remarks"] for each in found] == [[REASON]] * 3
    assert {each["comparison"]["assignor"] for each in found} == {None}


def test_tasks_of_a_worker_that_left_wait_for_the_delay() -> None:
    events = [
        connect(1, worker("a", None, "orders orders-0"), worker("b", None, "orders-1")),
        connect(2, worker("a", "orders orders-0", delay=300_000)),
        connect(3, worker("a", "orders orders-0", delay=120_000)),
        connect(4, worker("a", "orders orders-0", "orders-1")),
    ]
    waits = "the leader delays the next rebalance by {} ms"
    assert problems(*events) == [
        [],
        [waits.format(300_000), "task orders-1 has no owner"],
        [waits.format(120_000), "task orders-1 has no owner"],
        [],
    ]
    assert moved(*events)[3] == [("orders-1", "http://a/")]


def test_a_worker_that_returns_to_its_address_moves_nothing() -> None:
    events = [
        connect(1, worker("a", None, "orders"), worker("b", None, "orders-0")),
        connect(2, worker("a", "orders", delay=1_000)),
        connect(3, worker("a", "orders"), worker("b2", None, "orders-0", url="http://b/")),
    ]
    assert moved(*events) == [[], [], []]


def test_a_task_that_the_leader_no_longer_assigns_was_deleted() -> None:
    """Without a delay the leader assigns all configured tasks, and it revokes deleted ones."""
    owned = "orders orders-0 orders-1"
    left = [
        connect(1, worker("a", None, owned), worker("b", None, "bills bills-0")),
        connect(2, worker("a", owned)),
    ]
    assert problems(*left) == [[], []]
    revoked = [
        connect(1, worker("a", None, owned), worker("b", None, "bills bills-0")),
        connect(2, worker("a", owned, "", "orders-1"), worker("b", "bills bills-0")),
        connect(3, worker("a", "orders orders-0", delay=500)),
    ]
    assert problems(*revoked)[2] == [
        "the leader delays the next rebalance by 500 ms",
        "2 tasks have no owner: bills, bills-0",
    ]


def test_a_task_of_two_workers_is_a_problem() -> None:
    found = problems(connect(1, worker("a", "orders"), worker("b", "orders", "orders-0")))
    assert found == [["task orders has 2 owners: a, b"]]


def test_an_eager_worker_runs_what_it_gets_only() -> None:
    events = [
        connect(1, worker("a", None, "orders orders-0", version=0), protocol="default"),
        connect(
            2, worker("a", None, "orders", version=0), worker("b", None, "orders-0", version=0), protocol="default"
        ),
        connect(3, worker("a", error=1, version=0), worker("b", error=1, version=0), protocol="default"),
    ]
    found = generations(*events)
    assert [each["active"] for each in found[1]["tasks"]] == [["orders"], ["orders-0"]]
    assert [each["task_problems"] for each in found] == [
        [],
        [],
        ["the leader assigned nothing, with error 1: workers know different configurations"],
    ]


def test_a_connector_is_not_confused_with_a_task_of_the_same_name() -> None:
    gets = connect_assignment(["sink-1"])  # a task
    name = b"\0\6sink-1"
    assert gets.count(b"\0\4sink") == 1
    also = connect_assignment(["xsink1"]).replace(b"\0\6xsink1", name)
    (found,) = generations(
        connect(1, member("a", connect_subscription("u"), gets), member("b", connect_subscription("v"), also))
    )
    assert [each["active"] for each in found["tasks"]] == [["sink-1"], ["connector sink-1"]]
    assert found["task_problems"] == []


def test_messages_that_no_worker_wrote_have_a_reason() -> None:
    data = b'{"url": "http://connect-0:8083/", "offset": 1}'
    (found,) = generations(connect(1, member("a", data, b'{"tasks": []}'), worker("b", None, "orders")))
    assert found["task_problems"] == [
        "the subscription of a cannot be read: 30066 bytes are needed and 42 remain at offset 2 while reading url",
        "the assignment of a cannot be read: 29547 bytes are needed and 7 remain at offset 4 while reading leader",
    ]
    assert [each["active"] for each in found["tasks"]] == [[], ["orders"]]

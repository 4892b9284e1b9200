"""Readable history of events: entries, storms, loops, members without commits, and untrusted text."""

from __future__ import annotations

from typing import Any

from assignor.replay.history import write_history
from assignor.replay.series import find_series
from tests.replay import looping_groups as groups
from tests.replay.looping_groups import HOUR, SECOND, Group

Event = dict[str, Any]


def generation(number: int, at: int, **given: Any) -> Event:
    usual = {"event": "generation", "group": "g", "kind": "classic", "at": at, "offset": number, "generation": number}
    usual |= {"protocol": "range", "members": 2, "duration_ms": 1500, "comparison": None}
    return {**usual, **given}


def rebalance(number: int, at: int, **given: Any) -> Event:
    usual = {"event": "rebalance", "group": "g", "kind": "classic", "at": at, "offset": number, "generation": number}
    usual |= {"causes": ["leader_rejoined"], "evidence": "Facts.", "joined": [], "left": [], "replaced": []}
    return {**usual, "cluster": "", "moved": [], "unowned": [], **given}


def joined(member: str, **given: Any) -> Event:
    usual = {"event": "member", "cluster": "", "group": "g", "at": 0, "offset": 0, "action": "joined"}
    usual |= {"member": member, "instance_id": None, "previous": None}
    return {**usual, "client_id": "app", "client_host": "/10.0.0.1", **given}


def storm(since: int, until: int | None, at: int) -> Event:
    usual = {
        "event": "storm",
        "kind": "classic",
        "cluster": "",
        "group": "g",
        "at": at,
        "offset": 0,
        "since": since,
        "until": until,
        "rebalances": 25,
    }
    return {**usual, "topic_partitions": [["t", 0], ["t", 1]], "unowned": [["t", 1]]}


def text(*events: Event, **options: Any) -> str:
    end = max(each["at"] for each in events)
    return "\n".join(write_history(events, find_series(events, end), **options))


def test_an_entry_says_when_why_who_and_what() -> None:
    found = text(
        joined("app-0123456789"),
        generation(1, 0),
        rebalance(
            1,
            1_700_000_000_123,
            causes=["consumer_subscribed", "topic_created"],
            joined=["app-0123456789", "unknown-1"],
            moved=[["t", 0], ["t", 1], ["t", 2], ["u", 5]],
            unowned=[["t", 9]],
        ),
    )

    expected = (
        "g\n"
        "  2023-11-14 22:13:20.123  generation 1, range, 2 members, 1.5 s after the previous one: "
        "consumer_subscribed, topic_created\n"
        "      evidence: Facts.\n"
        "      joined: app 01234567 on 10.0.0.1, unknown-1\n"
        "      moved: 4 partitions: t[0–2] u[5]\n"
        "      no owner: t[9]"
    )
    assert expected == found


def test_groups_are_separated_by_an_empty_line() -> None:
    bad = {"event": "bad_record", "group": None, "at": -1, "offset": 3, "record_type": 99, "error": "unknown type"}

    found = text(bad, generation(1, 0), rebalance(1, 0)).split("\n\n")

    assert (
        "records without a readable group\n  -1  record of type 99 at offset 3 cannot be used: unknown type" == found[0]
    )
    assert found[1].startswith("g\n  1970-01-01 00:00:00.000  generation 1")


def test_generations_without_rebalance_say_why() -> None:
    replaced = joined("s-2", action="replaced", instance_id="static")

    found = text(generation(0, 0, members=0), replaced, generation(3, 5), generation(3, 6), generation(4, 9, members=0))

    assert found.splitlines()[1].endswith("the group is created")
    assert found.splitlines()[2].endswith("generation 3 is written again, because a static member returned: static")
    assert found.splitlines()[3].endswith("generation 3 is written again")
    assert found.splitlines()[4].endswith("the group has no members")


def run(first: int, last: int, gap: int) -> list[Event]:
    """Return rebalances with unchanged membership."""
    return [
        each
        for number in range(first, last + 1)
        for each in (generation(number, gap * number), rebalance(number, gap * number, moved=[["t", number % 3]]))
    ]


def test_a_loop_is_one_entry() -> None:
    group = groups.leader_joins_again(Group(), 2, 100, 8.5 * SECOND).wait(HOUR).change(joins=1)

    lines = text(*group.events()).splitlines()

    expected = [
        "  2023-11-14 22:13:20.000  rebalance loop: 100 rebalances, usually every 8.5 s, generations 1 to 100: "
        "the leader joins again",
        "      until: 2023-11-14 22:27:21.500",
        "      client: app on 10.0.0.1",
        "      most likely causes: leader_rejoined 99",
    ]
    assert lines[1].startswith("  2023-11-14 22:13:20.000  generation 1, range, 2 members: consumer_subscribed")
    assert expected == lines[5:9]
    assert lines[-5].startswith("  2023-11-14 23:27:21.500  generation 101, range, 3 members")
    assert len(lines) < 18


def test_a_loop_in_which_members_change_is_one_entry() -> None:
    group = groups.one_joins_and_leaves(Group(), 3, 100, 10 * SECOND)

    found = text(*group.events())

    assert (
        "rebalance loop: 200 rebalances, usually every 5.0 s, generations 2 to 201: members join and leave, " in found
    )
    assert "      until: not ended at the end of the recording" in found
    assert "      most likely causes: consumer_subscribed 100, consumer_closed 100" in found
    assert 1 == found.count("  generation ")


def test_a_member_that_joins_while_the_same_members_join_again_has_an_entry_of_its_own() -> None:
    group = groups.leader_joins_again(Group(), 3, 50, 8.5 * SECOND)
    group.wait(SECOND).change(joins=1)
    for _ in range(50):
        group.wait(8.5 * SECOND).again()

    found = text(*group.events())

    assert 1 == found.count("rebalance loop: 101 rebalances")
    assert found.index("rebalance loop") < found.index("generation 51, range, 4 members")


def test_a_few_rebalances_with_unchanged_members_are_entries_of_their_own() -> None:
    few = text(rebalance(1, 0, joined=["a"]), *run(2, 10, 10))

    assert 10 == few.count("evidence:")
    assert "loop" not in few


def test_a_storm_is_one_entry() -> None:
    events = [rebalance(1, 0, joined=["a"]), *run(2, 21, 10), storm(20, None, 210), *run(22, 26, 10)]

    ended = text(*events, storm(20, 260, 60_210))
    lasting = text(*events, storm(20, None, 260))

    for found in (ended, lasting):
        assert 1 == found.count("REBALANCE STORM: 25 rebalances within 240 ms with unchanged membership, generations 2")
        assert 1 == found.count("REBALANCE STORM")
    assert "      until: 1970-01-01 00:00:00.260" in ended
    assert "      until: not ended at the end of the recording" in lasting
    assert "    partitions that changed owners or had no owner: 2 partitions: t[0–1]" in ended
    assert "\x1b[1;31mREBALANCE STORM\x1b[0m" in text(*events, colour=True)
    assert "\x1b" not in ended


def offsets(at: int, problem: str = "never_committed") -> Event:
    usual = {"event": "offsets", "group": "g", "at": at, "offset": 1, "evidence": "Facts."}
    return {**usual, "problem": problem, "topic_partitions": [["t", 3]]}


def test_other_events_during_a_storm_are_listed_after_the_entry_of_its_rebalances() -> None:
    first, *later = run(2, 21, 10)[1::2]
    events = [rebalance(1, 0, joined=["a"]), first, offsets(25), *later, storm(20, None, 210), offsets(220)]

    found = text(*events, *run(23, 40, 10), offsets(405, "went_back"), storm(20, 400, 60_400))

    entries = [line[27:].partition(":")[0] for line in found.splitlines() if line.startswith("  1970")]
    odd = ["no committed offset", "no committed offset", "committed offset went back"]
    assert ["generation 1", "REBALANCE STORM", *odd] == entries
    assert "REBALANCE STORM: 25 rebalances within 380 ms with unchanged membership, generations 2 to 40" in found


def test_members_without_commits_are_named() -> None:
    usual = {"event": "stuck", "group": "g", "offset": 1, "member": "app-0123456789", "usual_interval_ms": 5000}
    usual |= {"since": 0, "topic_partitions": [["t", 0]]}

    found = text(
        joined("app-0123456789"), {**usual, "at": 50_000, "until": None}, {**usual, "at": 90_000, "until": 90_000}
    )

    name = "app 01234567 on 10.0.0.1"
    assert f"no commits: {name} has committed nothing since 1970-01-01 00:00:00.000; usually it commits ev" in found
    assert f"commits again, or has lost its partitions: {name}, after 90.0 s without commits" in found


def test_a_difference_from_kafka_is_explained_once() -> None:
    different = {"assignor": "sticky", "outcome": "different", "class": "unexplained", "remarks": ["other partitions"]}
    found = text(
        *(
            each
            for number in (1, 2)
            for each in (generation(number, 0, comparison=different), rebalance(number, 0, joined=["a"]))
        )
    )

    assert 1 == found.count("first assignment that differs from Kafka's sticky: other partitions")


def test_control_characters_are_escaped_and_long_lines_wrapped() -> None:
    evil = "evil\x1b[2J\r"
    events = [
        joined("m", client_id=evil, group=evil),
        rebalance(1, 0, group=evil, joined=["m"], evidence="\x07 " + "word " * 40),
    ]

    found = text(*events, width=60)

    assert "\x1b" not in found
    assert "\r" not in found
    assert r"evil\u001b[2J\r" in found
    assert max(map(len, found.splitlines())) <= 60


def test_the_evidence_of_many_members_is_shortened() -> None:
    left = "".join(f"Member app-{number} left or its session expired. " for number in range(200))
    found = text(rebalance(1, 0, left=["a"], evidence=f"{left}Member b-1 joined."))

    assert (
        "      evidence: Member app-0 left or its session expired. Member app-1 left or its session expired. "
        "Member app-2 left or its session expired. The same is true of 197 more. Member b-1 joined."
    ) in found.splitlines()
    assert "…" in text(rebalance(1, 0, left=["a"], evidence="x" * 5_000))


def test_an_empty_group_id_is_shown() -> None:
    assert '""' == text(rebalance(1, 0, group="")).splitlines()[0]

"""Readable history of events: entries, folded rebalances, storms, and untrusted text."""

from __future__ import annotations

from typing import Any

from assignor.replay.history import write_history

Event = dict[str, Any]


def generation(number: int, at: int, **given: Any) -> Event:
    usual = {"event": "generation", "group": "g", "kind": "classic", "at": at, "offset": number, "generation": number}
    usual |= {"protocol": "range", "members": 2, "duration_ms": 1500, "comparison": None}
    return {**usual, **given}


def rebalance(number: int, at: int, **given: Any) -> Event:
    usual = {"event": "rebalance", "group": "g", "kind": "classic", "at": at, "offset": number, "generation": number}
    usual |= {"causes": ["leader_rejoined"], "evidence": "Facts.", "joined": [], "left": [], "replaced": []}
    return {**usual, "moved": [], "unowned": [], **given}


def joined(member: str, **given: Any) -> Event:
    usual = {"event": "member", "group": "g", "at": 0, "action": "joined", "member": member, "instance_id": None}
    return {**usual, "client_id": "app", "client_host": "/10.0.0.1", **given}


def storm(since: int, until: int | None, at: int) -> Event:
    usual = {"event": "storm", "group": "g", "at": at, "since": since, "until": until, "rebalances": 25}
    return {**usual, "topic_partitions": [["t", 0], ["t", 1]], "unowned": [["t", 1]]}


def text(*events: Event, **options: Any) -> str:
    return "\n".join(write_history(events, **options))


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


def test_repeated_rebalances_with_unchanged_members_are_one_entry() -> None:
    start = rebalance(1, 0, joined=["a"])

    found = text(start, *run(2, 2001, 10), rebalance(2002, 30_000, left=["a"]))

    lines = found.splitlines()
    assert len(lines) < 20
    assert "2,000 rebalances within 20.0 s with unchanged membership, generations 2 to 2,001" in found
    assert "      most likely causes: leader_rejoined 2,000" in lines
    assert "      moved: 3 partitions: t[0–2]" in lines
    assert "      left: a" in lines


def test_a_few_rebalances_and_those_far_apart_are_entries_of_their_own() -> None:
    few = text(rebalance(1, 0, joined=["a"]), *run(2, 4, 10))
    slow = text(rebalance(1, 0, joined=["a"]), *run(2, 20, 70_000))

    assert "rebalances within" not in few
    assert 4 == few.count("evidence:")
    assert 20 == slow.count("evidence:")


def test_a_storm_has_one_entry_for_its_rebalances_and_one_for_its_end() -> None:
    events = [rebalance(1, 0, joined=["a"]), *run(2, 21, 10), storm(20, None, 210), *run(22, 26, 10)]

    ended = text(*events, storm(20, 260, 60_210))
    lasting = text(*events, storm(20, None, 260))

    for found in (ended, lasting):
        assert 1 == found.count("REBALANCE STORM: 25 rebalances within 240 ms with unchanged membership")
    assert "REBALANCE STORM ended at 1970-01-01 00:00:00.260: 25 rebalances" in ended
    assert "REBALANCE STORM has not ended at the end of the recording: 25 rebalances" in lasting
    assert "    partitions that changed owners or had no owner: 2 partitions: t[0–1]" in ended
    assert "    no owner in the last generation: t[1]" in ended
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
    assert ["generation 1", "REBALANCE STORM", *odd, "REBALANCE STORM ended at 1970-01-01 00"] == entries
    assert "REBALANCE STORM: 38 rebalances within 380 ms with unchanged membership, generations 2 to 40" in found


def test_other_events_between_a_few_rebalances_are_listed_by_time() -> None:
    start, few = rebalance(1, 0, joined=["a"]), run(2, 4, 10)[1::2]

    found = text(start, few[0], offsets(25), *few[1:], offsets(45, "went_back"), offsets(60_041), rebalance(5, 60_042))

    entries = [line[27:].partition(":")[0] for line in found.splitlines() if line.startswith("  1970")]
    odd = ["no committed offset", "committed offset went back"]
    assert [f"generation {number}" for number in (1, 2)] == entries[:2]
    assert [odd[0], "generation 3", "generation 4", odd[1], odd[0], "generation 5"] == entries[2:]


def test_stuck_members_are_named() -> None:
    usual = {"event": "stuck", "group": "g", "offset": 1, "member": "app-0123456789", "usual_interval_ms": 5000}
    usual |= {"since": 0, "topic_partitions": [["t", 0]]}

    found = text(
        joined("app-0123456789"), {**usual, "at": 50_000, "until": None}, {**usual, "at": 90_000, "until": 90_000}
    )

    assert "stuck: app 01234567 on 10.0.0.1 has not committed offsets since 1970-01-01 00:00:00.000; usually" in found
    assert "no longer stuck: app 01234567 on 10.0.0.1, after 90.0 s without commits" in found


def test_a_difference_from_kafka_is_explained_once() -> None:
    different = {"assignor": "sticky", "outcome": "different", "remarks": ["other partitions"]}
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
    assert r"evil\x1b[2J\r" in found
    assert max(map(len, found.splitlines())) <= 60

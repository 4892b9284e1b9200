"""Log files of brokers: the wordings of Kafka 1.0 to 4.3, time zones, and compressed and damaged files."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor.cluster import Recording
from assignor.errors import IllegalArgumentError
from assignor.sources.broker_log import BrokerLog, read_broker_log
from assignor.sources.log_zones import Zone
from assignor.sources.logged_reasons import read_event, reason_fact
from tests.replay.logs import classic, log, member

if TYPE_CHECKING:
    from pathlib import Path

START = 1_795_611_600_000
"""2026-11-25 13:00:00 UTC in milliseconds."""

SCALA = "[2026-11-25 13:00:00,000] INFO [GroupCoordinator 0]: {} (kafka.coordinator.group.GroupCoordinator)"
JAVA = (
    "[2026-11-25 13:00:00,000] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=3] {} "
    "(org.apache.kafka.coordinator.group.GroupMetadataManager)"
)
BEGINS = "Preparing to rebalance group g in state PreparingRebalance with old generation 4 (reason: {})."
CLOSED = "the consumer is being closed"


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """Return a recording whose group g has generations 1 to 9, one per minute since `START`."""
    folder = tmp_path / "recording"
    folder.mkdir()
    rows = log([classic(number, member("a")).at(START + number * 60_000) for number in range(1, 10)])
    columns = list(zip(*rows, strict=True))
    table = pa.table(
        {
            "partition": pa.array([3] * len(rows), pa.int32()),
            "offset": pa.array(columns[0], pa.int64()),
            "timestamp": pa.array(columns[1], pa.int64()),
            "key": pa.array(columns[2], pa.binary()),
            "value": pa.array(columns[3], pa.binary()),
        }
    )
    pq.write_table(table, folder / "records.parquet")
    return Recording.open(folder)


def read(folder: Path, recording: Recording, *files: str | bytes, zone: str | None = "UTC") -> BrokerLog:
    """Read files with these contents."""
    paths = []
    for place, content in enumerate(files):
        paths.append(folder / f"server.log.{place}")
        paths[-1].write_bytes(content.encode() if isinstance(content, str) else content)
    return read_broker_log(paths, recording, None if zone is None else Zone(zone))


def lines(*texts: str, layout: str = JAVA) -> str:
    """Return lines of a broker with these messages, a millisecond apart."""
    return "".join(f"{layout.format(text)}\n".replace("00,000]", f"00,{place:03}]") for place, text in enumerate(texts))


# ---- wordings


@pytest.mark.parametrize(
    ("reason", "cause", "members"),
    [
        # 2.2, 2.4, 2.8 and later, with the reason of the client since 3.2
        ("Adding new member c-1", "consumer_subscribed", ("c-1",)),
        ("Adding new member my app-1 with group instanceid None", "consumer_subscribed", ("my app-1",)),
        (
            "Adding new member c-1 with group instance id Some(i); client reason: rebalance enforced by user",
            "consumer_subscribed",
            ("c-1",),
        ),
        ("removing member c-1 on LeaveGroup", "consumer_closed", ("c-1",)),
        ("Removing member c-1 on LeaveGroup; client reason: not provided", "consumer_closed", ("c-1",)),
        (
            "Removing member c-1 on LeaveGroup; client reason: the consumer unsubscribed from all topics",
            "consumer_closed",
            ("c-1",),
        ),
        (
            "Removing member c-1 on LeaveGroup; client reason: consumer poll timeout has expired.",
            "poll_interval_exceeded",
            ("c-1",),
        ),
        (
            "Removing member c-1 on LeaveGroup; client reason: member was removed by an admin: old",
            "member_removed",
            ("c-1",),
        ),
        ("explicit `LeaveGroup` request for (c-1, c-2) members.", "consumer_closed", ("c-1", "c-2")),
        ("explicit `LeaveGroup` request for () members.", "member_removed", ()),
        ("removing member c-1 on heartbeat expiration", "consumer_dead", ("c-1",)),
        ("removing member c-1 on heartbeat expiration.", "consumer_dead", ("c-1",)),
        ("leader c-1 re-joining group during Stable", "leader_rejoined", ("c-1",)),
        (
            "Leader c-1 re-joining group during Stable; client reason: cached metadata has changed",
            "leader_rejoined",
            ("c-1",),
        ),
        (
            "Leader c-1 re-joining group during Stable; client reason: subscription has changed",
            "subscription_changed",
            ("c-1",),
        ),
        ("Updating metadata for member c-1", "owned_partitions_changed", ("c-1",)),
        (
            "Updating metadata for member c-1 during Stable; client reason: not provided",
            "owned_partitions_changed",
            ("c-1",),
        ),
        (
            "Updating metadata for static member c-1 with instance id i; client reason: not provided",
            "static_member_returned",
            ("c-1",),
        ),
        (
            "Group's selectedProtocol will change because static member c-1 with instance id i joined with change of "
            "protocol; client reason: not provided",
            "protocol_changed",
            ("c-1",),
        ),
        ("Removing HashSet(c-1, c-2) on pending sync request expiration", "sync_timed_out", ("c-1", "c-2")),
        ("Removing [c-1] on pending sync request expiration", "sync_timed_out", ("c-1",)),
        ("error when storing group assignment during SyncGroup (member: c-1)", "assignment_not_stored", ()),
        (
            "Error UNKNOWN_SERVER_ERROR when storing group assignment during SyncGroup (member: c-1).",
            "assignment_not_stored",
            (),
        ),
        ("Freshly-loaded group is over capacity (GroupConfig(6)). Rebalacing in order to give", "over_capacity", ()),
        ("Freshly-loaded group g (size 9) is over capacity 6. Rebalancing in order to give", "over_capacity", ()),
        ("Downgrade group g from consumer to classic.", "protocol_downgraded", ()),
    ],
)
def test_a_reason_has_a_cause_and_names_its_members(reason: str, cause: str, members: tuple[str, ...]) -> None:
    fact = reason_fact(reason)

    assert (cause, members, reason) == (fact.causes[0], fact.members, fact.text)
    event = read_event(BEGINS.format(reason))
    assert event is not None
    assert ("prepare", "g", 4, fact) == (event.what, event.group, event.generation, event.fact)


def test_a_reason_that_is_not_known_has_no_cause() -> None:
    assert () == reason_fact("the moon is full").causes


@pytest.mark.parametrize(
    "text",
    [
        "Preparing to restabilize group g with old generation 4",
        "Preparing to rebalance group g with old generation 4 (__consumer_offsets-43)",
        "Preparing to rebalance group g in state PreparingRebalance with old generation 4 (__consumer_offsets-43) "
        "(reason: Adding new member c-1)",
        "Preparing to rebalance group g in state Stable with old generation 4 (reason: Adding new member c-1).",
    ],
)
@pytest.mark.parametrize("layout", [SCALA, JAVA])
def test_the_beginning_of_a_rebalance_has_the_next_generation(
    text: str, layout: str, tmp_path: Path, recording: Recording
) -> None:
    (found,) = read(tmp_path, recording, lines(text, layout=layout)).rebalances

    assert ("g", "classic", 5, START) == (found.group, found.kind, found.generation, found.at)
    assert ("Adding new member c-1" if "reason" in text else None) == found.reason


def test_a_line_without_a_reason_has_that_of_the_line_before_it(tmp_path: Path, recording: Recording) -> None:
    """Kafka 2.0 logs that a member has failed, and then that a rebalance begins."""
    failed = "Member c-1 in group g has failed, removing it from the group"
    begins = "Preparing to rebalance group g with old generation 4 (__consumer_offsets-43)"
    (found,) = read(tmp_path, recording, lines(failed, begins, layout=SCALA)).rebalances
    (other,) = read(tmp_path, recording, lines(failed.replace("group g", "group h"), begins)).rebalances

    assert failed == found.reason
    assert ("consumer_dead", ("c-1",)) == (found.facts[0].fact.causes[0], found.facts[0].fact.members)
    assert other.reason is None


@pytest.mark.parametrize(
    ("client", "cause"),
    [(CLOSED, "consumer_closed"), ("consumer poll timeout has expired.", "poll_interval_exceeded")],
)
def test_a_leave_has_the_reason_of_its_client(client: str, cause: str, tmp_path: Path, recording: Recording) -> None:
    left = f"[Group g] Member c-1 has left group through explicit `LeaveGroup` request; client reason: {client}"
    begins = BEGINS.format("explicit `LeaveGroup` request for (c-1) members.")
    (found,) = read(tmp_path, recording, lines(left, begins)).rebalances

    assert cause == found.facts[0].fact.causes[0]
    assert f"explicit `LeaveGroup` request for (c-1) members; client reason: {client}" == found.reason


@pytest.mark.parametrize(("instance", "removed"), [("Some(i)", True), ("None", False)])
def test_a_static_member_that_leaves_may_have_been_removed(
    instance: str, removed: bool, tmp_path: Path, recording: Recording
) -> None:
    """Kafka 2.4 to 2.8 log the instance id before the reason."""
    left = f"Member[group.instance.id {instance}, member.id c-1] in group g has left, removing it from the group"
    begins = BEGINS.format("removing member c-1 on LeaveGroup")
    (found,) = read(tmp_path, recording, lines(left, begins, layout=SCALA)).rebalances

    assert removed == ("member_removed" in found.facts[0].fact.causes)


@pytest.mark.parametrize(
    "token", [" with old generation 1", " has left group", "] Member ", " in group ", " (reason: "]
)
def test_a_line_that_repeats_a_phrase_is_read_in_time(token: str) -> None:
    for start in ("Preparing to rebalance group ", "[Group g] Member c", "Member ", "[GroupId g] Member "):
        assert (read_event(start + token * 3_000) is None) or start.startswith("Preparing")


def test_what_happens_during_a_join_phase_comes_after_its_reason(tmp_path: Path, recording: Recording) -> None:
    content = lines(
        BEGINS.format("Adding new member c-3 with group instance id null; client reason: not provided"),
        "Member c-1 in group g has failed, removing it from the group.",
        "Member c-1 in group g has failed, removing it from the group.",
        "Group g removed dynamic members who haven't joined: [c-2]",
        "Stabilized group g generation 5 with 1 members.",
        "Member c-3 in group g has failed, removing it from the group.",
        BEGINS.replace("4", "5").format("removing member c-3 on heartbeat expiration."),
        "Group g with generation 6 is now empty.",
    )
    first, second = read(tmp_path, recording, content).rebalances

    assert ["consumer_subscribed", "consumer_dead", "rejoin_timed_out"] == [fact.causes[0] for _, fact in first.facts]
    assert [("c-3",), ("c-1",), ("c-2",)] == [fact.members for _, fact in first.facts]
    assert [("c-3",)] == [fact.members for _, fact in second.facts]
    assert (5, 6) == (first.generation, second.generation)


def test_a_session_that_expires_after_the_group_was_loaded_ended_because_of_it(
    tmp_path: Path, recording: Recording
) -> None:
    expired = BEGINS.format("removing member c-1 on heartbeat expiration.")
    for loaded in ("Loaded classic group g with 2 members.", "Loading group metadata for g with generation 4"):
        (found,) = read(tmp_path, recording, lines(loaded, expired)).rebalances
        assert "coordinator_moved" == found.facts[0].fact.causes[0]
    stable = "Stabilized group g generation 4 with 2 members."
    for before in (
        ("Loaded classic group h with 2 members.",),
        ("Loaded classic group g with 2 members.", BEGINS, stable),
    ):
        found = read(tmp_path, recording, lines(*before, expired)).rebalances[-1]
        assert "consumer_dead" == found.facts[0].fact.causes[0]


def test_a_group_with_an_epoch_has_the_facts_of_the_same_time(tmp_path: Path, recording: Recording) -> None:
    content = lines(
        "[GroupId g] Member c-1 joins the consumer group using the consumer protocol.",
        "[GroupId g] Member c-1 updated its subscribed topics to: [t].",
        "[GroupId g] Bumped group epoch to 2 with metadata hash 7.",
        "[GroupId s] Member c-9 left the share group.",
        "[GroupId g][MemberId c-2] Member joins the streams group.",
        "[GroupId g][MemberId c-2] Bumped streams group epoch to 3 with metadata hash 7 and validated topic epoch 0.",
    )
    later = lines(
        "[GroupId g] Static Member c-1 with instance id i temporarily left the consumer group.",
        "[GroupId g] Member c-1 fenced from the group because the member session expired..",
        "[GroupId g] Bumped group epoch to 4.",
    ).replace("13:00:00", "13:00:30")
    last = lines("[GroupId g] Computed new metadata hash: 9.", "[GroupId g] Bumped group epoch to 5.").replace(
        "0:00", "1:00"
    )
    found = read(tmp_path, recording, content, later, last).rebalances

    assert [("g", 2), ("s", None), ("g", 3), ("g", 4), ("g", 5)] == [(each.group, each.generation) for each in found]
    causes = [[(fact.causes[:1], fact.members) for _, fact in each.facts] for each in found]
    assert [
        [(("consumer_subscribed",), ("c-1",))],
        [(("consumer_closed",), ("c-9",))],
        [(("consumer_subscribed",), ("c-2",))],
        [(("consumer_dead",), ("c-1",))],
        [((), ())],
    ] == causes
    assert found[-1].reason is None
    assert "share" == found[1].kind


@pytest.mark.parametrize(
    "text",
    [
        "Assignment received from leader c-1 for group g for generation 4. The group has 1 members, 0 of them static.",
        "Dynamic member with unknown member id joins group g in Stable state. Created a new member id c-1 and",
        "Static member which joins during Stable stage and doesn't affect the selected protocol will not trigger",
        "[GroupId g] Member c-1 new assignment state: epoch=3, previousEpoch=2, state=STABLE, assignedPartitions=[].",
        "[GroupId g] Creating a simple consumer group via manual offset commit.",
        "Preparing to rebalance group g",
        "",
    ],
)
def test_other_messages_of_a_coordinator_begin_no_rebalance(text: str) -> None:
    assert read_event(text) is None


# ---- files

HOUR = 3_600_000


def generation(number: int, hour: int, second: int = 59) -> str:
    """Return the line with which generation `number` of the recording begins, in a time zone in which it is `hour`."""
    at = f"2026-11-25 {hour:02}:{number - 1:02}:{second:02},500"
    reason = f"Adding new member c-{number}"
    return f"[{at}] INFO [GroupCoordinator 0]: {BEGINS.replace('4', str(number - 1)).format(reason)} (k.X)\n"


@pytest.mark.parametrize(("hour", "zone"), [(14, "UTC+01:00"), (13, "UTC"), (9, "UTC-04:00")])
def test_the_offset_is_that_with_which_the_lines_precede_the_records(
    hour: int, zone: str, tmp_path: Path, recording: Recording
) -> None:
    content = "".join(generation(number, hour) for number in (2, 3, 5))
    found = read(tmp_path, recording, content, zone=None)

    assert [START + (number - 1) * 60_000 + 59_500 for number in (2, 3, 5)] == [each.at for each in found.rebalances]
    (note,) = found.notes
    assert note.endswith(f"server.log.0: the times are in {zone}, with which they match the records.")


def test_times_that_match_no_record_are_taken_as_utc(tmp_path: Path, recording: Recording) -> None:
    found = read(tmp_path, recording, generation(2, 14).replace("group g ", "group h "), zone=None)

    assert [START + HOUR + 119_500] == [each.at for each in found.rebalances]
    assert "taken as UTC" in found.notes[0]


def test_a_given_time_zone_has_daylight_saving_time(tmp_path: Path, recording: Recording) -> None:
    content = lines(
        BEGINS.format("x"), BEGINS.replace("2", "3").format("x").replace("old generation 4", "old generation 5")
    )
    summer = content.replace("2026-11-25", "2026-07-25")
    (first, *_), (winter, *_) = (
        read(tmp_path, recording, text, zone="Europe/Berlin").rebalances for text in (summer, content)
    )

    assert START - HOUR == winter.at
    assert 0 == (first.at - 1_784_977_200_000) % 86_400_000  # 11:00 UTC
    with pytest.raises(IllegalArgumentError, match="time zone 'Mars/Base' is not known: expected an offset"):
        Zone("Mars/Base")


def test_files_are_sorted_by_time_and_lines_count_once(tmp_path: Path, recording: Recording) -> None:
    first, second = generation(2, 13), generation(3, 13)
    both = gzip.compress((first + second).encode())
    found = read(tmp_path, recording, second, both, first)

    assert [2, 3] == [each.generation for each in found.rebalances]


def test_what_can_be_read_of_a_damaged_file_is_read(tmp_path: Path, recording: Recording) -> None:
    rows = "".join(generation(number, 13) for number in range(2, 10))
    packed = gzip.compress((rows * 300).encode(), mtime=0)
    found = read(tmp_path, recording, packed[: len(packed) // 2])

    assert 8 == len(found.rebalances)
    assert "is damaged" in found.notes[0]


def test_a_file_without_such_lines_is_a_note_unless_all_are(tmp_path: Path, recording: Recording) -> None:
    other = "[2026-11-25 13:00:00,000] INFO [Log partition=t-0] Rolled (kafka.log.Log)\n"
    found = read(tmp_path, recording, generation(2, 13), other)

    assert [f"{tmp_path / 'server.log.1'} has no line about a group."] == list(found.notes)
    with pytest.raises(
        IllegalArgumentError, match=r"server\.log\.0 has no line about a group; expected lines of a Kafka"
    ):
        read(tmp_path, recording, other)
    with pytest.raises(IllegalArgumentError, match="and none of level INFO, at which group coordinators log"):
        read(tmp_path, recording, other.replace("INFO", "WARN"))
    with pytest.raises(IllegalArgumentError, match="1 line about groups have no date"):
        read(tmp_path, recording, generation(2, 13).replace("2026-11-25 ", ""))
    with pytest.raises(IllegalArgumentError, match=r"cannot read the broker log .*missing: No such file"):
        read_broker_log([tmp_path / "missing"], recording)
    with pytest.raises(IllegalArgumentError, match="has no line about a group"):
        read(tmp_path, recording, bytes(range(256)) * 9_000)

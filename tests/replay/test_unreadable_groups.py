"""Groups whose last group record cannot be decoded, among them those that Redpanda wrote."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from assignor.cluster import Recording
from assignor.errors import WireError
from assignor.offsets import decode_record
from assignor.replay import Replay
from assignor.report import local
from assignor.report.summary import summarize
from tests.replay.logs import CONSUMER, Event, classic, classic_gone, commit, log, member, replayed
from tests.replay.test_event_findings import logged, recording
from tests.support.record_bytes import assignment, subscription, text

if TYPE_CHECKING:
    from pathlib import Path

    from tests.replay.logs import Row

GOOD = classic(1, member("a", ["t"], {"t": [0, 1]}))
KEY = GOOD.key
ID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
NAMED = "Redpanda's layout of a group record, in which each member begins with a version, cannot be decoded"


def blob(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def redpanda(*members: str, version: int = 3, of_member: int = 3, end: bytes = b"") -> Event:
    """Return a group record as Redpanda writes it: a version precedes the fields of each member."""
    value = struct.pack(">h", version) + text("consumer") + struct.pack(">i", 4) + text("range") + text("a")
    value += struct.pack(">qi", 1_000, len(members))
    for id in members:
        value += struct.pack(">h", of_member) + text(id) + struct.pack(">h", -1) + text("client") + text("/10.0.0.1")
        value += struct.pack(">ii", 300_000, 45_000) + blob(subscription("t")) + blob(assignment(("t", [0])))
    return Event(KEY, value + end)


def broken(*, key: bytes | None = KEY) -> Event:
    return Event(key, b"\0\x03\0")


@pytest.mark.parametrize("ids", [(ID,), (ID, "rdkafka-" + ID, "sarama-" + ID)])
def test_the_error_of_a_group_record_of_redpanda_names_its_layout(ids: tuple[str, ...]) -> None:
    record = redpanda(*ids)
    with pytest.raises(WireError, match=NAMED):
        decode_record(record.key, record.value)


@pytest.mark.parametrize(
    "record",
    [
        redpanda(ID, of_member=2),
        redpanda(ID, version=2),
        redpanda(ID, end=b"\0"),
        Event(KEY, (redpanda(ID).value or b"")[:-1]),
        broken(),
    ],
)
def test_other_records_that_cannot_be_decoded_are_not_said_to_be_of_redpanda(record: Event) -> None:
    with pytest.raises(WireError) as caught:
        decode_record(record.key, record.value)
    assert "Redpanda" not in str(caught.value)


def test_records_that_both_brokers_write_alike_are_decoded() -> None:
    assert 4 == decode_record(*pair(redpanda())).value["generation"]  # type: ignore[index]  # it has a value
    assert GOOD.value is not None
    assert 1 == decode_record(*pair(GOOD)).value["generation"]  # type: ignore[index]  # it has a value


def pair(record: Event) -> tuple[bytes | None, bytes | None]:
    return record.key, record.value


@pytest.mark.parametrize(("record", "reason"), [(redpanda(ID, "b"), NAMED), (broken(), "2 bytes are needed")])
@pytest.mark.parametrize("before", [[], [GOOD], [GOOD, classic_gone()], [commit("t", 0)]])
def test_the_state_of_a_group_without_a_readable_group_record_is_unknown(
    record: Event, reason: str, before: list[Event]
) -> None:
    history = replayed(*before, record.at(7_000), commit("t", 1).at(8_000))
    assert ("Unknown", "classic", None) == tuple(history[name] for name in ("state", "kind", "protocol"))
    assert [] == history["members"]
    assert history["unreadable"].startswith(reason)
    assert 7_000 == history["unreadable_since"]


@pytest.mark.parametrize("after", [[GOOD], [classic(2)], [classic_gone()]])
def test_a_readable_group_record_makes_the_state_known(after: list[Event]) -> None:
    history = replayed(broken(), *after)
    assert history["state"] == replayed(*after)["state"]
    assert (None, None) == (history["unreadable"], history["unreadable_since"])


def test_the_first_of_the_last_unreadable_records_counts() -> None:
    history = replayed(broken().at(1), GOOD.at(2), redpanda(ID).at(3), broken().at(4))
    assert 3 == history["unreadable_since"]
    assert "Redpanda" not in history["unreadable"]


def test_another_record_that_cannot_be_decoded_leaves_the_state_known() -> None:
    damaged = [Event(commit("t", 0).key, b"\0"), Event(CONSUMER.joins("a").key, b"\0")]
    history = replayed(GOOD, *damaged)
    assert ("Stable", None) == (history["state"], history["unreadable"])
    assert 2 == history["bad_records"]


def test_a_consumer_group_whose_epoch_cannot_be_decoded_is_unknown() -> None:
    history = replayed(CONSUMER.joins("a"), CONSUMER.epoch(1), broken(key=CONSUMER.epoch(2).key))
    assert ("Unknown", "consumer") == (history["state"], history["kind"])


def test_commits_are_not_judged_while_the_members_are_not_known() -> None:
    replay = Replay()
    records = [GOOD, commit("t", 0), broken(), commit("t", 7), commit("t", 8)]
    events = [each for record in log(records) for each in replay.push(record)]
    assert [] == [each for each in events if each["event"] == "offsets"]
    copy = Replay()
    copy.restore(replay.snapshot())
    assert "Unknown" == copy.states()[0]["state"] == replay.states()[0]["state"]


def test_an_unreadable_group_is_a_finding_with_its_reason(tmp_path: Path) -> None:
    rows = logged((0, GOOD), (5_000, redpanda(ID)), (6_000, redpanda(ID, "b")))
    given: Recording = recording(tmp_path / "in", rows)
    part = tmp_path / "out"
    part.mkdir()
    local.write_tables(given, part)
    found = summarize(given, part)

    (group,) = found.groups
    (finding,) = [each for each in found.findings() if each.kind == "unreadable_group"]
    assert "Unknown" == group.state
    assert ("warning", 5_000, None) == (finding.severity, finding.since, finding.until)
    assert finding.evidence.startswith(NAMED)
    assert [] == [each.kind for each in found.findings() if each.kind in {"idle", "unowned", "not_owned", "stuck"}]


def test_a_readable_group_has_no_such_finding(tmp_path: Path) -> None:
    rows: list[Row] = logged((0, broken()), (5_000, GOOD))
    part = tmp_path / "out"
    part.mkdir()
    given = recording(tmp_path / "in", rows)
    local.write_tables(given, part)

    assert ["bad_records"] == [each.kind for each in summarize(given, part).findings()]

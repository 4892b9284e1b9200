"""History from logs of controllers that are written byte by byte: what real brokers do not write on demand."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from assignor.sources.topic_history import TopicHistory, topic_history
from tests.sources import metadata_bytes as made

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

T0 = 1_700_000_000_000
BROKERS = [(T0, made.broker(id, rack)) for id, rack in ((1, "a"), (2, "b"), (3, None))]


def history(folder: Path, *values: tuple[int, bytes], **options: Any) -> TopicHistory:
    return topic_history([made.write(folder, values=[*BROKERS, *values])], **options)


def topics_at(found: TopicHistory) -> list[tuple[int, dict[str, list[list[str | None]]]]]:
    """Return for each snapshot its time since `T0`, and the racks of the partitions of each topic."""
    snapshots: dict[int, dict[str, list[list[str | None]]]] = {}
    for row in found.topics.to_pylist():
        topics = snapshots.setdefault(row["t"] - T0, {})
        assert row["partition"] == len(topics.setdefault(row["topic"], []))
        topics[row["topic"]].append(row["racks"])
    return list(snapshots.items())


def test_changes_at_one_time_are_one_snapshot(tmp_path: Path) -> None:
    found = history(
        tmp_path,
        (T0 + 100, made.topic(1, "t")),
        (T0 + 100, made.partition(1, 0, [1, 2])),
        (T0 + 100, made.partition(1, 1, [3])),
        (T0 + 200, made.partition(1, 2, [9])),  # a broker that never registered
    )

    assert topics_at(found) == [
        (100, {"t": [["a", "b"], [None]]}),
        (200, {"t": [["a", "b"], [None], [None]]}),
    ]
    assert found.topics["topic_id"][0].as_py() == "AAAAAAAAAAAAAAAAAAAAAQ"


def test_a_snapshot_shortly_before_a_change_shows_that_nothing_changed_until_then(tmp_path: Path) -> None:
    found = history(
        tmp_path,
        (T0, made.topic(1, "t")),
        (T0, made.partition(1, 0, [1])),
        (T0 + 60_000, made.partition(1, 1, [1])),
        (T0 + 60_900, made.partition(1, 2, [1])),
    )

    assert [(at, len(topics["t"])) for at, topics in topics_at(found)] == [
        (0, 1),
        (59_000, 1),
        (60_000, 2),
        (60_900, 3),
    ]


def test_changes_that_topics_do_not_show_are_no_snapshots(tmp_path: Path) -> None:
    found = history(
        tmp_path,
        (T0, made.topic(1, "t")),
        (T0, made.partition(1, 0, [1, 2])),
        (T0 + 10_000, made.partition_changed(1, 0, isr=[1])),
        (T0 + 20_000, made.partition_changed(1, 0, leader=2)),
        (T0 + 30_000, made.fencing(3, is_fenced=True)),  # a broker without a rack
        (T0 + 40_000, made.partition_changed(1, 0, replicas=[1, 2])),
        (T0 + 50_000, made.partition_changed(2, 0, replicas=[2])),  # a topic that does not exist
        (T0 + 60_000, made.topic_removed(2)),
    )

    assert [at for at, _ in topics_at(found)] == [0]


def test_a_fenced_broker_hides_its_rack_and_a_broker_can_return_with_another_one(tmp_path: Path) -> None:
    found = history(
        tmp_path,
        (T0, made.topic(1, "t")),
        (T0, made.partition(1, 0, [1, 2])),
        (T0 + 1, made.fencing(2, is_fenced=True)),
        (T0 + 2, made.broker(2, "c", is_fenced=True, epoch=7)),
        (T0 + 3, made.fencing(2, is_fenced=False, epoch=7)),
        (T0 + 4, made.broker_removed(1)),
    )

    racks = [(at, topics["t"][0]) for at, topics in topics_at(found)]
    assert racks == [(0, ["a", "b"]), (1, ["a", None]), (2, ["a", None]), (3, ["a", "c"]), (4, [None, "c"])]
    assert [tuple(row.values()) for row in found.brokers.to_pylist()][3:] == [
        (T0 + 1, 2, "b", False),
        (T0 + 2, 2, "c", False),
        (T0 + 3, 2, "c", True),
        (T0 + 4, 1, "a", False),
    ]


def test_while_no_broker_is_available_clients_see_no_change(tmp_path: Path) -> None:
    found = history(
        tmp_path,
        (T0, made.topic(1, "t")),
        (T0, made.partition(1, 0, [1, 2])),
        (T0 + 1, made.fencing(3, is_fenced=True)),
        (T0 + 2, made.fencing(2, is_fenced=True)),
        (T0 + 3, made.fencing(1, is_fenced=True)),
        (T0 + 4, made.partition(1, 1, [1])),
        (T0 + 5, made.fencing(1, is_fenced=False)),
        (T0 + 6, made.fencing(1, is_fenced=True)),
    )

    assert topics_at(found) == [
        (0, {"t": [["a", "b"]]}),
        (2, {"t": [["a", None]]}),
        (5, {"t": [["a", None], ["a"]]}),
    ]


def test_topics_are_known_also_if_no_broker_was_ever_available(tmp_path: Path) -> None:
    state = [made.broker(1, "a", is_fenced=True), made.topic(1, "t"), made.partition(1, 0, [1])]
    (tmp_path / f"{5:020}-0000000001.checkpoint").write_bytes(made.snapshot(state, at=T0))

    assert topics_at(topic_history([tmp_path])) == [(0, {"t": [[None]]})]


def test_leaders_of_the_log_of_the_groups_are_kept_and_those_of_other_topics_are_not(tmp_path: Path) -> None:
    found = history(
        tmp_path,
        (T0, made.topic(1, "__consumer_offsets")),
        (T0, made.partition(1, 0, [1, 2])),
        (T0, made.partition(1, 1, [2, 1], leader=-1)),
        (T0, made.topic(2, "t")),
        (T0, made.partition(2, 0, [1])),
        (T0 + 1, made.partition_changed(1, 0, leader=-1)),
        (T0 + 2, made.partition_changed(2, 0, leader=-1)),
        (T0 + 3, made.partition_changed(1, 0, leader=2, isr=[2])),
        (T0 + 4, made.partition_changed(1, 0, leader=2)),
        (T0 + 5, made.topic_removed(1)),
    )

    assert [tuple(row.values()) for row in found.coordinators.to_pylist()] == [
        (T0, 0, 1),
        (T0, 1, None),
        (T0 + 1, 0, None),
        (T0 + 3, 0, 2),
        (T0 + 5, 0, None),
        (T0 + 5, 1, None),
    ]


# ---- transactions of metadata (KIP-868)

CREATED = [made.topic(1, "t"), made.partition(1, 0, [1])]


@pytest.mark.parametrize(
    ("end", "expected"),
    [(made.END, [(50, {"t": [["a"]]})]), (made.ABORT, []), (None, [])],
    ids=["end", "abort", "open"],
)
def test_a_transaction_counts_when_it_ends(tmp_path: Path, end: bytes | None, expected: list[object]) -> None:
    values = [(T0 + 10, made.BEGIN), *((T0 + 20, value) for value in CREATED)]
    found = history(tmp_path, *values, *([] if end is None else [(T0 + 50, end)]))

    assert topics_at(found) == expected
    assert found.notes == (
        () if end else ("__cluster_metadata ends within a transaction: its 2 changes were left out",)
    )


def test_changes_around_an_aborted_transaction_count(tmp_path: Path) -> None:
    found = history(
        tmp_path,
        *((T0 + 1, value) for value in CREATED),
        (T0 + 2, made.BEGIN),
        (T0 + 3, made.topic_removed(1)),
        (T0 + 4, made.ABORT),
        (T0 + 5, made.partition(1, 1, [2])),
    )

    assert topics_at(found) == [(1, {"t": [["a"]]}), (5, {"t": [["a"], ["b"]]})]


# ---- too many rows


def many(changes: int) -> Sequence[tuple[int, bytes]]:
    """Return a topic that grows each second, and a broker that is fenced and comes back in between."""
    values = [(T0, value) for value in CREATED]
    for number in range(1, changes + 1):
        at = T0 + 5_000 * number
        values.append((at, made.partition(1, number, [1])))
        values += [(at + 10, made.fencing(1, is_fenced=True)), (at + 11, made.fencing(1, is_fenced=False))]
    return values


@pytest.mark.parametrize(
    ("most_rows", "snapshots", "note"),
    [
        (10_000, 3 * 20 + 1 + 20, None),
        (700, 3 * 20 + 1, None),
        (600, 20 + 1, "topics.parquet ignores that brokers were not available for a time: it would have 691 rows"),
        (
            131,
            11,
            "topics.parquet has 11 snapshots for 21 changes of topics: changes within 5.6 s are merged, because it ",
        ),
        (1, 1, "topics.parquet has 1 snapshot for 21 changes"),
    ],
)
def test_a_large_history_is_shortened_and_its_end_is_right(
    tmp_path: Path, most_rows: int, snapshots: int, note: str | None
) -> None:
    found = history(tmp_path, *many(20), most_rows=most_rows)

    at = topics_at(found)
    assert len(at) == snapshots
    assert len(at[-1][1]["t"]) == 21
    assert [each[: len(note or "")] for each in found.notes] == ([] if note is None else [note])
    full = dict(topics_at(history(tmp_path, *many(20))))
    assert all(len(full[time]["t"]) == len(topics["t"]) for time, topics in at)


# ---- folders


def test_two_controllers_are_merged_and_the_later_leader_counts(tmp_path: Path) -> None:
    values = [*BROKERS, *((T0, value) for value in CREATED)]
    one = made.write(tmp_path / "1", values=values)
    two = made.write(tmp_path / "2", values=[*values, (T0 + 5, made.partition(1, 1, [2]))])

    assert topics_at(topic_history([one, two])) == topics_at(topic_history([two]))
    assert len(topics_at(topic_history([one]))) == 1


def test_one_of_several_controllers_may_have_changes_that_the_others_do_not(tmp_path: Path) -> None:
    values = [*BROKERS, *((T0, value) for value in CREATED)]
    folders = [made.write(tmp_path / name, values=values) for name in "12"]
    for folder in folders:
        state = {"currentVoters": [{"voterId": id} for id in (1, 2, 3)]}
        (folder / "quorum-state").write_text(json.dumps(state))

    (note,) = topic_history(folders[:1]).notes
    assert note.startswith("__cluster_metadata was read from one of 3 controllers,")
    assert topic_history(folders).notes == ()
    (folders[0] / "quorum-state").write_text("damaged")
    assert topic_history(folders[:1]).notes == ()


def test_the_oldest_snapshot_that_the_log_continues_counts(tmp_path: Path) -> None:
    state = [made.broker(1, "a"), *CREATED]
    made.write(tmp_path, base=10, values=[(T0 + 50 + place, made.partition(1, 1 + place, [1])) for place in range(4)])
    (tmp_path / f"{12:020}-0000000001.checkpoint").write_bytes(
        made.snapshot([*state, made.partition(1, 1, [1]), made.partition(1, 2, [1])], at=T0 + 51)
    )
    (tmp_path / f"{5:020}-0000000001.checkpoint").write_bytes(made.snapshot(state, at=T0))
    (tmp_path / f"{14:020}-0000000001.checkpoint.part").write_bytes(b"")

    found = topic_history([tmp_path])
    assert [(at, len(topics["t"])) for at, topics in topics_at(found)] == [(51, 3), (52, 4), (53, 5)]
    assert found.notes == ()
    (tmp_path / f"{12:020}-0000000001.checkpoint").unlink()
    found = topic_history([tmp_path])
    assert next((at, len(topics["t"])) for at, topics in topics_at(found)) == (0, 1)
    assert found.notes == (
        "__cluster_metadata lacks 5 offsets in the middle: changes of topics and brokers are missing",
    )


def test_records_that_cannot_be_read_are_counted_and_the_others_count(tmp_path: Path) -> None:
    found = history(tmp_path, (T0, b"\1\2\7"), (T0, b"\1\2\0"), (T0, b"\1\2\0"), *((T0, value) for value in CREATED))

    assert topics_at(found) == [(0, {"t": [["a"]]})]
    assert found.notes == (
        "1 record of __cluster_metadata is of a newer Kafka and left out (frame version 1, type 2, version 7)",
        "2 records of __cluster_metadata cannot be read and are left out (1 bytes are needed and 0 remain at offset 3 "
        "while reading TopicRecord.name)",
    )


@pytest.mark.parametrize("files", [{}, {"00000000000000000000.log": b""}, {"00000000000000000000.log": bytes(4096)}])
def test_a_log_without_records_has_no_history(tmp_path: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    found = topic_history([tmp_path])

    assert (found.topics.num_rows, found.coordinators.num_rows, found.brokers.num_rows, found.notes) == (0, 0, 0, ())


def test_files_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").write_bytes(b"PAR1" * 20)
    assert topic_history([tmp_path]).notes == (f"{tmp_path}/00000000000000000000.log is left out: a Parquet file",)
    missing = tmp_path / "missing"
    assert topic_history([missing]).notes == (f"{missing} cannot be read: {os.strerror(2)}",)


def test_a_damaged_batch_is_left_out_and_said(tmp_path: Path) -> None:
    data = made.segment([*BROKERS, *((T0, value) for value in CREATED), (T0 + 9, made.topic(2, "u"))])
    damaged = bytearray(data)
    damaged[damaged.index(b"\2t") + 1] ^= 1
    (tmp_path / "00000000000000000000.log").write_bytes(damaged)
    notes = topic_history([tmp_path]).notes

    assert any("is damaged at byte " in note for note in notes)
    assert any("lacks 1 offset in the middle" in note for note in notes)


def test_a_clock_that_goes_back_does_not_change_the_order(tmp_path: Path) -> None:
    found = history(
        tmp_path,
        (T0 + 100, made.topic(1, "t")),
        (T0 + 90, made.partition(1, 0, [1])),
        (T0 + 200, made.topic_removed(1)),
    )

    assert topics_at(found) == [(100, {"t": [["a"]]})]

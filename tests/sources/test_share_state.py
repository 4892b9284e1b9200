"""Start offsets of share groups: records of `__share_group_state`, data directories, and the lag in a report."""

from __future__ import annotations

import json
import random
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from assignor.cli import main
from assignor.errors import WireError
from assignor.lag import SHARE_OFFSETS
from assignor.sources.share_state import ShareState, read_share_state
from tests.sources.folders import commits, write_directory
from tests.sources.segment_bytes import Entry, batch, write_segment
from tests.sources.test_conversion import notes, table
from tests.support.recorded_applications import folder

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

TOPIC_ID = "AAECAwQFBgcICQoLDA0ODw"
PLACE = "000367c3a9000102030405060708090a0b0c0d0e0f00000004"
SNAPSHOT = (
    f"0000{PLACE}",
    "00000000ffff00000003000000070000011f71fb04cb00000000000000050000000000000006"
    "02000000000000000100000000000000020200010001000400000009",
)
UNCHANGED = f"0001{PLACE}", "00000000000100000002ffffffffffffffff0101000400000009"
UPDATE = f"0001{PLACE}", "00000000000100000002000000000000004d0100"
"""Keys and values that Kafka 4.3.1 wrote with ShareSnapshotKey, ShareUpdateKey and the classes of their values."""

OLD = "00000002000000000000004d"
DELIVERIES = (
    "0100",
    "02000000000000005000000000000000500200010000",
    "030000000000000050000000000000005002000100000000000000005100000000000000510200010000",
)
"""What Kafka 4.0 wrote after the epochs of a snapshot or update, for three numbers of delivery states."""

EXPECTED = {SNAPSHOT: (1_234_567_890_123, False), UNCHANGED: (-1, True), UPDATE: (77, True)}


def entry(record: tuple[str, str]) -> Entry:
    return Entry(bytes.fromhex(record[0]), bytes.fromhex(record[1]))


@pytest.mark.parametrize("record", EXPECTED)
def test_records_of_kafka_are_read(record: tuple[str, str]) -> None:
    key, value = map(bytes.fromhex, record)
    assert read_share_state(key, value) == ShareState("gé", TOPIC_ID, 4, *EXPECTED[record])
    assert read_share_state(key, None).start_offset == -1


@pytest.mark.parametrize("record", EXPECTED)
def test_cut_and_changed_bytes_have_one_error(record: tuple[str, str]) -> None:
    key, value = map(bytes.fromhex, record)
    for end in range(len(key)):
        with pytest.raises(WireError):
            read_share_state(key[:end], value)
    for end in range(len(value)):
        with pytest.raises(WireError):
            read_share_state(key, value[:end])
    draw = random.Random(7)
    for _ in range(500):
        changed = [bytearray(key), bytearray(value)]
        for part in changed:
            part[draw.randrange(len(part))] = draw.randrange(256)
        try:
            assert read_share_state(*map(bytes, changed)).start_offset >= -1
        except WireError:
            continue


@pytest.mark.parametrize("deliveries", DELIVERIES)
def test_records_of_kafka_4_0_are_not_read(deliveries: str) -> None:
    for key, value in ((SNAPSHOT[0], "0000000100000004" + OLD), (UPDATE[0], "00000001" + OLD)):
        with pytest.raises(WireError):
            read_share_state(bytes.fromhex(key), bytes.fromhex(value + deliveries))


def share_folder(directory: Path, partition: int = 0) -> Path:
    return directory / f"__share_group_state-{partition}"


def write_topic(directory: Path) -> Path:
    """Write a data directory with partition 4 of the topic `jobs`, and return it."""
    data = write_directory(directory, 0)
    (write_segment(data / "jobs-4", 0, commits(0, 0, 3)).parent / "partition.metadata").write_text(
        f"version: 0\ntopic_id: {TOPIC_ID}\n"
    )
    return data


def test_a_directory_has_the_last_start_offsets_and_their_end_offsets(tmp_path: Path) -> None:
    data = write_topic(tmp_path)
    write_segment(share_folder(data), 0, batch(0, entry(SNAPSHOT)), batch(1, entry(UPDATE)), batch(2, entry(UNCHANGED)))

    assert table(data, "share_offsets") == [{"group_id": "gé", "topic": "jobs", "partition": 4, "start_offset": 77}]
    assert [(row["topic"], row["end_offset"]) for row in table(data, "end_offsets") if row["partition"] == 4] == [
        ("jobs", 3)
    ]


def test_a_tombstone_removes_a_start_offset(tmp_path: Path) -> None:
    data = write_topic(tmp_path)
    removed = Entry(bytes.fromhex(SNAPSHOT[0]), None)
    write_segment(share_folder(data), 0, batch(0, entry(SNAPSHOT)), batch(1, removed))

    assert table(data, "share_offsets") == []


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    data = write_directory(tmp_path, 0)
    bad = Entry(b"\0\0", b"")
    write_segment(share_folder(data, 1), 0, batch(0, bad, entry(UPDATE)))

    found = [note for note in notes(data) if "share" in note]
    assert found == [
        "start offsets of share groups in __share_group_state[0] are missing: there is no folder of them",
        "1 record of __share_group_state cannot be decoded",
        "share groups have start offsets of 1 topic whose name is not known, such as the id AAECAwQFBgcICQoLDA0ODw: "
        "they are left out",
    ]
    assert table(data, "share_offsets") == []


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Return a copy of a recording with share groups."""
    copy: Path = shutil.copytree(folder("streams_connect_share"), tmp_path / "in")
    return copy


def report(recording: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    out = recording.parent / "out"
    shutil.rmtree(out, ignore_errors=True)
    assert main(["report", str(recording), "--engine", "local", "--json", "--out", str(out)]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def lag(found: dict[str, Any], group: str) -> dict[str, int] | None:
    sums: dict[str, int] | None
    (sums,) = (each["lag"] for each in found["groups"] if each["group"] == group)
    return sums


def test_a_report_without_start_offsets_says_that_the_lag_of_share_groups_is_unknown(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report(recorded, capsys)
    assert "share_offsets.parquet" in found["share_lag_unknown"]
    assert lag(found, "mailers") is None
    assert main(["report", str(recorded), "--engine", "local", "--out", str(recorded.parent / "text")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.count(found["share_lag_unknown"]) == 1


def test_a_report_has_the_lag_of_share_groups_by_their_start_offsets(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: pa.Table = pq.read_table(recorded / "end_offsets.parquet")
    last = max(rows["at"].to_pylist())
    ends = {(row["topic"], row["partition"]): row["end_offset"] for row in rows.to_pylist() if row["at"] == last}
    columns = zip(*(("mailers", "mail-outbox", id, ends["mail-outbox", id] - id) for id in range(6)), strict=True)
    starts = dict(zip(SHARE_OFFSETS.names, map(list, columns), strict=True))
    pq.write_table(SHARE_OFFSETS.empty_table().from_pydict(starts, SHARE_OFFSETS), recorded / "share_offsets.parquet")

    found = report(recorded, capsys)
    assert found["share_lag_unknown"] is None
    sums = lag(found, "mailers")
    assert sums is not None
    assert (sums["lag"], sums["partitions"], sums["never_committed"]) == (15, 7, 1)
    assert main(["report", str(recorded), "--engine", "local", "--out", str(recorded.parent / "text")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "records from the start offset of the share group on; acknowledged ones after it count, too" in text


def test_start_offsets_that_are_no_table_are_named(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (recorded / "share_offsets.parquet").write_bytes(b"PAR1")
    assert main(["report", str(recorded), "--engine", "local"]) != 0
    assert "share_offsets.parquet cannot be read as Parquet" in capsys.readouterr().err

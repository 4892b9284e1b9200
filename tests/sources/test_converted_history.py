"""Recordings of data directories with the log of the controllers: topics, coordinators and brokers over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.cluster.broker_history import read_brokers, read_coordinators
from assignor.replay.coordinator_moves import coordinator_events
from assignor.sources.metadata_log import FOLDER
from assignor.sources.source import open_source
from tests.sources import metadata_bytes as made
from tests.sources.folders import write_directory
from tests.sources.test_conversion import FOLDERS_NOTE, notes, write_topic

if TYPE_CHECKING:
    from pathlib import Path

T0 = 1_700_000_000_000

VALUES = [
    (T0, made.broker(1, "a")),
    (T0, made.broker(2, "b")),
    (T0, made.topic(1, "orders")),
    (T0, made.partition(1, 0, [1, 2])),
    (T0, made.topic(2, "__consumer_offsets")),
    (T0, made.partition(2, 0, [2, 1])),
    (T0 + 60_000, made.partition(1, 1, [2])),
    (T0 + 90_000, made.fencing(2, is_fenced=True)),
    (T0 + 90_000, made.partition_changed(2, 0, leader=1)),
]


def test_the_topics_are_those_of_the_controllers_over_time(tmp_path: Path) -> None:
    data = write_directory(tmp_path, *range(50), count=2)
    write_topic(data, "orders", 0)  # the other partition is on another broker
    made.write(data / FOLDER, values=VALUES)

    with open_source([data]) as recording:
        topics = recording.topics().to_pylist()
        assert {row["t"] - T0 for row in topics if row["topic"] == "orders" and row["partition"] == 1} == {
            60_000,
            89_000,
            90_000,
        }
        assert [row["racks"] for row in topics if row["topic"] == "orders"][:1] == [["a", "b"]]
        assert read_coordinators(recording)["leader"].to_pylist() == [2, 1]
        assert read_brokers(recording)["broker"].to_pylist() == [1, 2, 2]
        (event,) = coordinator_events(recording)
        assert (event["previous"], event["leader"], event["log_partitions"]) == ("2", "1", ["0"])
    assert notes(data) == []


def test_without_that_log_the_folders_are_the_topics(tmp_path: Path) -> None:
    data = write_directory(tmp_path, *range(50), count=2)
    write_topic(data, "orders", 0)
    (data / FOLDER).mkdir()

    assert notes(data) == [FOLDERS_NOTE]
    made.write(data / FOLDER, values=[(T0, b"\1\2\7")])
    first, last = notes(data)
    assert first.startswith("1 record of __cluster_metadata is of a newer Kafka and left out")
    assert last == FOLDERS_NOTE

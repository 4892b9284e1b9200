"""What is found below paths: partition folders, segments, identities of brokers, and what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assignor.errors import IllegalArgumentError
from assignor.sources.data_directory import find_directories
from assignor.sources.meta_properties import Identity, read_checkpoint, read_identity, read_topic_id
from assignor.sources.segment_names import Partition
from tests.sources.folders import CLUSTER, log_folder, write_directory
from tests.sources.segment_bytes import meta_properties, write_segment

if TYPE_CHECKING:
    from pathlib import Path


def ids(*paths: Path) -> list[int]:
    """Return the partitions of the log that are found below paths."""
    return sorted(each.partition.id for each in find_directories(paths).offsets if each.partition)


def error_of(*paths: Path) -> str:
    with pytest.raises(IllegalArgumentError) as raised:
        find_directories(paths)
    (line,) = str(raised.value).splitlines()
    return line


def test_a_directory_its_parents_a_partition_folder_and_a_segment_are_found(tmp_path: Path) -> None:
    data = write_directory(tmp_path / "volumes" / "kafka" / "data", 3, 7)

    assert ids(data) == ids(tmp_path) == ids(tmp_path / "volumes") == [3, 7]
    assert ids(log_folder(data, 3)) == [3]
    assert ids(log_folder(data, 7) / f"{0:020}.log") == [7]
    assert ids(log_folder(data, 3), log_folder(data, 7) / f"{0:020}.log") == [3, 7]
    assert find_directories([log_folder(data, 3)]).cluster_id == CLUSTER, "meta.properties is in the folder above"


def test_a_folder_is_found_once_however_it_is_given(tmp_path: Path) -> None:
    data = write_directory(tmp_path / "data", 3)
    (tmp_path / "link").symlink_to(data)
    (data / "loop").symlink_to(tmp_path)
    (data / "itself").symlink_to(data / "itself")

    found = find_directories([tmp_path, data, tmp_path / "link"])

    assert [each.path for each in found.offsets] == [log_folder(data, 3)]
    assert [] == [problem for problem in found.problems if "itself" not in problem]


def test_brokers_whose_names_look_like_partitions_are_no_partitions(tmp_path: Path) -> None:
    for number in (1, 2):
        write_directory(tmp_path / f"broker-{number}", number, broker=number)
    found = find_directories([tmp_path])

    assert ids(tmp_path) == [1, 2]
    assert sorted(each.broker_id or 0 for each in found.identities.values()) == [1, 2]


def test_segments_are_in_the_order_of_their_offsets_and_leftovers_are_counted(tmp_path: Path) -> None:
    data = write_directory(tmp_path, 3)
    folder = log_folder(data, 3)
    for base, ending in ((900, "log"), (20, "log"), (0, "log.swap"), (5, "log.deleted"), (6, "log.cleaned")):
        write_segment(folder, base, ending=ending)
    for name in ("index", "timeindex", "snapshot"):
        write_segment(folder, 20, b"", ending=name)
    for ending in ("delete", "future", "stray"):
        write_segment(data / f"__consumer_offsets-4.0a1b2c3d4e5f-{ending}", 0)
    found = find_directories([data])

    (only,) = found.offsets
    assert [path.name for path in only.segments] == [f"{base:020}.log" for base in (0, 20, 900)]
    assert [path.name for path in only.swaps] == [f"{0:020}.log.swap"]
    assert found.left_out == {
        "folder that ends in -delete, -future or -stray": 3,
        ".deleted file": 1,
        ".cleaned file": 1,
    }


def test_directories_of_two_clusters_are_refused_by_name(tmp_path: Path) -> None:
    one, other = write_directory(tmp_path / "a", 1), write_directory(tmp_path / "b", 2, cluster="another")
    backup = write_directory(tmp_path / "c", 3, cluster=None)

    assert error_of(one, other) == (
        f"{other} is of the cluster another, but {one} is of the cluster {CLUSTER}: give the directories of one cluster"
    )
    assert ids(one, backup) == [1, 3], "a backup without meta.properties is no other cluster"


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_meta_properties_of_both_versions(tmp_path: Path, version: int, line_end: str) -> None:
    path = tmp_path / "meta.properties"
    path.write_bytes(meta_properties("abc", 5, version=version, line_end=line_end).encode())
    assert read_identity(path) == Identity("abc", 5)

    path.write_text("broker.id = 7\nversion: 0\n!comment=1\n")
    assert read_identity(path) == Identity(None, 7)
    path.write_text(f"node.id={'9' * 5000}\ncluster.id=\n")
    assert read_identity(path) == Identity(None, None)


def test_an_unreadable_meta_properties_is_a_problem_and_no_error(tmp_path: Path) -> None:
    data = write_directory(tmp_path, 1)
    (data / "meta.properties").write_bytes(b"\xff\xfe\0")

    found = find_directories([data])
    assert found.cluster_id is None
    assert found.problems[0].startswith(f"{data / 'meta.properties'} cannot be read: ")


def test_small_files_of_a_directory_are_read_liberally(tmp_path: Path) -> None:
    path = tmp_path / "log-start-offset-checkpoint"
    path.write_bytes(
        b"0\r\n2\r\norders 1 100\r\n__consumer_offsets 0 5\r\nbad line\norders x 1\norders 2 " + b"9" * 5000
    )
    assert read_checkpoint(path) == {Partition("orders", 1): 100, Partition("__consumer_offsets", 0): 5}
    assert read_checkpoint(tmp_path / "missing") == {}

    (tmp_path / "partition.metadata").write_text("version: 0\ntopic_id: cEf4tqR1S0mRz4zXbA1v6A")
    assert read_topic_id(tmp_path) == "cEf4tqR1S0mRz4zXbA1v6A"
    assert read_topic_id(tmp_path / "missing") == ""


def test_what_is_no_log_is_named_with_what_was_expected(tmp_path: Path) -> None:
    expected = "; expected a recording (records.parquet), a broker's data directory, "
    orders = tmp_path / "data" / "orders-4"
    segment = write_segment(orders, 0)
    write_segment(tmp_path / "data" / "payments-0", 0)
    (tmp_path / "empty").mkdir()
    write_directory(tmp_path / "new")

    for path, problem in (
        (orders, f"{orders} is of partition 4 of the topic orders"),
        (segment, f"{segment} is of partition 4 of the topic orders"),
        (orders.parent, f"{orders.parent} has partitions of the topics orders, payments, none of __consumer_offsets"),
        (tmp_path / "empty", f"{tmp_path / 'empty'} has no files of a log"),
        (tmp_path / "new", f"{tmp_path / 'new'} is the data directory of a broker without partitions"),
    ):
        assert error_of(path).startswith(f"{problem}{expected}")
    assert error_of(tmp_path / "nowhere") == f"{tmp_path / 'nowhere'} cannot be read: No such file or directory"


def test_a_folder_that_only_has_leftovers_says_so(tmp_path: Path) -> None:
    write_segment(tmp_path / "__consumer_offsets-4.0a1b2c-delete", 0)

    assert "(left out: 1 folder that ends in -delete, -future or -stray)" in error_of(tmp_path)

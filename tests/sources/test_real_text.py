"""Text that Kafka's own tools print of a real broker, compared with what its log and its coordinator have."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka.record import MemoryRecords

from assignor import check
from assignor.cli import main
from assignor.offsets import decode_record
from assignor.sources.dump_text import read_dump
from assignor.sources.group_text import read_description, read_group_text
from tests.broker.admin import Admin
from tests.broker.cluster import JARS, OLD, Cluster, archive_options, find_java
from tests.broker.groups import TOPICS, Groups
from tests.broker.running import running
from tests.live.watching import until

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from assignor.sources.group_text import DescribedGroup

pytestmark = pytest.mark.broker

TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
OLD_TOOL = "kafka.admin.ConsumerGroupCommand"
DUMP = "org.apache.kafka.tools.DumpLogSegments"
OLD_DUMP = "kafka.tools.DumpLogSegments"
SETTLED = ("apart", "next-generation", "of-kafka-python", "of-librdkafka")
EVENTS = ("generation", "rebalance", "offsets", "group_deleted", "offsets_deleted")
EVENT_FIELDS = ("event", "group", "kind", "at", "offset", "generation", "joined", "left", "replaced")
"""Fields of events that need no topics, which a dump does not have."""

LISTED = {"orders": 6, "payments": 3}


def run(program: str, *options: str, jars: Path = JARS) -> str:
    """Return the output and the errors of a program of Kafka, in their order, as a terminal shows them."""
    java = [str(find_java()), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dlog4j2.level=OFF"]
    command = [*java, *archive_options(jars), "-cp", str(jars / "*"), program, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True, timeout=120)
    return done.stdout


def describe(address: str, *options: str, tool: str = TOOL, jars: Path = JARS) -> str:
    given = ("--bootstrap-server", address, "--describe", "--all-groups", *options)
    return run(tool, *given, jars=jars)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kafka")


@pytest.fixture(scope="module")
def groups(folder: Path) -> Iterator[Groups]:
    """Start a broker with groups of every kind; a transaction of each outcome commits offsets."""
    with running(Cluster, folder) as cluster:
        with cluster.connect() as connection:
            Admin(connection).await_coordinators()
        found = Groups(cluster)
        try:
            found.start()
            for is_committed in (True, False):
                commit_in_transaction(cluster.address, is_committed=is_committed)
            yield found
        finally:
            found.end()


def commit_in_transaction(address: str, *, is_committed: bool) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": address, "transactional.id": f"text-{is_committed}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    consumer = confluent_kafka.Consumer({"bootstrap.servers": address, "group.id": "in-transactions"})
    places = [confluent_kafka.TopicPartition("orders", 0, 5)]
    producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata())
    if is_committed:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)
    consumer.close()


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("data/__consumer_offsets-*/*.log"))


def stored(files: list[Path]) -> dict[tuple[int, int], tuple[int, bytes, bytes | None]]:
    """Return time, key and value of the records in segments, by partition and offset."""
    found = {}
    for file in files:
        records = MemoryRecords(file.read_bytes())
        while (batch := records.next_batch()) is not None:
            for record in () if batch.is_control_batch else batch:
                found[int(file.parent.name.rpartition("-")[2]), record.offset] = (
                    record.timestamp,
                    record.key,
                    record.value,
                )
    return found


def comparable(members: Iterable[Any]) -> list[Any]:
    """Return what a dump shows of members: not the version of an assignment, nor the order of subscribed topics."""
    found = []
    for each in members:
        shown = {**each, "assignmentVersion": 0}
        if each.get("subscription") is not None:
            shown["subscription"] = {**each["subscription"], "topics": sorted(each["subscription"]["topics"])}
        found.append(shown)
    return found


@pytest.mark.usefixtures("groups")
def test_a_dump_has_the_records_of_the_log(folder: Path, tmp_path: Path) -> None:
    files = segments(folder)
    expected = stored(files)
    text = tmp_path / "dump.txt"
    text.write_text(run(DUMP, "--offsets-decoder", "--print-data-log", "--files", ",".join(map(str, files))))

    dump = read_dump(text)
    found = {
        (row["partition"], row["offset"]): (row["timestamp"], row["key"], row["value"])
        for batch in dump
        for row in batch.to_pylist()
    }

    assert expected.keys() <= found.keys(), "a member may have written since"
    assert {1, 2, 3, 5, 6, 7, 8} <= {decode_record(key, value).type for _, key, value in found.values()}
    for place, (time, key, value) in expected.items():
        record = decode_record(key, value)
        if record.consumer_protocol is None:
            assert (time, key, value) == found[place]
        else:
            other = decode_record(key, found[place][2])
            assert comparable(record.consumer_protocol) == comparable(other.consumer_protocol or ())
    assert () == dump.notes
    (rows,) = dump.transactions.values()
    assert {-1: 2, 0: 1, 1: 1} == dict(Counter(row.control for row in rows))


@pytest.mark.usefixtures("groups")
def test_decode_prints_the_records_of_a_dump(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "dump.txt"
    text.write_text(run(DUMP, "--offsets-decoder", "--files", ",".join(map(str, segments(folder)))))

    assert 0 == main(["decode", str(text), "--group", "in-transactions"])

    printed = capsys.readouterr()
    assert "" == printed.err
    assert [5, 5] == [json.loads(line)["value"]["offset"] for line in printed.out.splitlines()]


@pytest.mark.usefixtures("groups")
def test_a_dump_gives_the_events_of_the_data_directory(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "data"
    shutil.copytree(folder / "data", copy)
    text = tmp_path / "dump.txt"
    text.write_text(
        run(DUMP, "--offsets-decoder", "--files", ",".join(map(str, copy.glob("__consumer_offsets-*/*.log"))))
    )

    def events(path: Path) -> list[dict[str, Any]]:
        assert 0 == main(["replay", str(path), "--json"])
        found = map(json.loads, capsys.readouterr().out.splitlines())
        return [{name: event.get(name) for name in EVENT_FIELDS} for event in found if event["event"] in EVENTS]

    expected = events(copy)
    assert expected == events(text)
    assert {"classic", "consumer"} <= {event["kind"] for event in expected}


def by_name(groups: list[DescribedGroup]) -> dict[str, DescribedGroup]:
    return {group.name: group for group in groups}


def test_each_mode_of_the_tool_gives_the_owners_that_the_members_have(groups: Groups) -> None:
    texts = {
        option: describe(groups.address, *option.split()) for option in ("--offsets", "--members --verbose", "--state")
    }

    for parts in (("--offsets",), ("--members --verbose",), ("--members --verbose", "--state", "--offsets")):
        found = by_name(read_group_text("\n".join(texts[part] for part in parts), "text"))
        for name in SETTLED:
            group = found[name]
            group.check("text")
            owned = {member: partitions for member, partitions in group.assignment().items() if partitions}
            assert {member: parts for member, parts in groups.owned[name].items() if parts} == owned
            assert group.counts.items() <= TOPICS.items()
            assert not check(group.assignment(), group.counts, group.subscriptions())
    assert ("consumer", "uniform", "Stable") == (group_of(found, "apart"))
    assert ("classic", "range", "Stable") == (group_of(found, "of-librdkafka"))
    assert 4 == len(found["next-generation"].members)
    assert {"a-static-one", None} == {each.instance_id for each in found["of-librdkafka"].members.values()}


def group_of(found: dict[str, DescribedGroup], name: str) -> tuple[str | None, str | None, str]:
    return found[name].protocol, found[name].assignor, found[name].state


def test_the_json_of_describe_has_the_subscriptions_and_all_partitions(
    groups: Groups, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["describe", "--bootstrap-server", groups.address, "--json"])
    data: dict[str, Any] = json.loads(capsys.readouterr().out)

    found = by_name(read_description(data, "text"))
    for name in SETTLED:
        group = found[name]
        assert group.has_counts
        assert group.counts.items() <= TOPICS.items()
        assert not check(group.assignment(), group.counts, group.subscriptions()), name
    topics = sorted(member.topics or () for member in found["of-librdkafka"].members.values())
    assert [("orders",), ("orders", "payments"), ("orders", "quiet")] == topics
    assert {None, "r1"} == {member.rack for member in found["of-librdkafka"].members.values()}
    hand_made = found["newer-header"]
    findings = check(hand_made.assignment(), hand_made.counts, hand_made.subscriptions())
    assert 8 == len(findings.unowned), "the member subscribes to orders and quiet, and owns a partition of payments"
    assert [("payments", 2)] == [partition for _, partition in findings.not_subscribed]


def test_describe_is_the_input_of_check(groups: Groups, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["describe", "--bootstrap-server", groups.address, "--json"])
    path = tmp_path / "described.json"
    path.write_text(capsys.readouterr().out)

    for name in SETTLED:
        assert 0 == main(["check", str(path), "--group", name, "--text"])
        printed = capsys.readouterr()
        assert "no problem found\n" == printed.out
        (line,) = printed.err.splitlines()
        assert line.startswith(f"assignor: {path} describes group '{name}': ")
        assert line.endswith("it has no racks of partitions")
    assert 1 == main(["check", str(path), "--group", "newer-header", "--text"])
    assert "orders[0] without an owner\n" in capsys.readouterr().out


@pytest.mark.long
def test_the_tools_of_an_older_broker_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(Cluster, tmp_path, release=OLD) as cluster:
        client = AdminClient({"bootstrap.servers": cluster.address})
        for future in client.create_topics([NewTopic(name, count) for name, count in LISTED.items()]).values():
            future.result(30)
        found = Groups(cluster)
        try:
            for topics in (["orders", "payments"], ["orders"]):
                found.join("old", topics)
            until(lambda: found.look() == {"old": (9, 2)})
            commit_in_transaction(cluster.address, is_committed=False)
            texts = [
                describe(cluster.address, *options, tool=OLD_TOOL, jars=OLD.jars)
                for options in (("--offsets",), ("--members", "--verbose"), ("--state",))
            ]
        finally:
            found.end()
        for text in (texts[0], texts[1], "\n".join(texts)):
            group = by_name(read_group_text(text, "text"))["old"]
            assert found.owned["old"] == group.assignment()
            assert LISTED == group.counts
        assert ("range", "Stable") == (group.assignor, group.state)
        files = segments(tmp_path)
        expected = stored(files)
        output = run(OLD_DUMP, "--offsets-decoder", "--files", ",".join(map(str, files)), jars=OLD.jars)
    (tmp_path / "dump.txt").write_text(output)
    dump = read_dump(tmp_path / "dump.txt")
    rows = [row for batch in dump for row in batch.to_pylist()]
    assert expected.keys() == {(row["partition"], row["offset"]) for row in rows}
    for row in rows:
        record = decode_record(row["key"], row["value"])
        other = decode_record(*expected[row["partition"], row["offset"]][1:])
        assert other.key == record.key
        if record.consumer_protocol is not None:
            assert other.consumer_protocol is not None
            assert [(each["memberId"], owned(each)) for each in other.consumer_protocol] == [
                (each["memberId"], owned(each)) for each in record.consumer_protocol
            ]
    assert any("versions before 3.8 print no subscriptions" in note for note in dump.notes)
    assert 0 == main(["decode", str(tmp_path / "dump.txt"), "--group", "old"])
    printed = capsys.readouterr()
    assert printed.out.count("\n") == sum(decode_record(row["key"], row["value"]).group == "old" for row in rows)
    assert all(line.startswith("assignor: versions before 3.8") for line in printed.err.splitlines())


def owned(member: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the partitions of a member of a group record, as one list for each."""
    return sorted(
        (entry["topic"], partition)
        for entry in member["assignment"]["assignedPartitions"]
        for partition in entry["partitions"]
    )

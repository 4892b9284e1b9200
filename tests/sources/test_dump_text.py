"""Text of `kafka-dump-log.sh`, as each version of the tool printed it of one segment, read as records.

The files of `tests/data/dump_text` are the output of the tool of each version for the same segment of
`__consumer_offsets`, with its records in the oldest versions that they have: `RECORDS`.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from assignor import Subscription
from assignor.cluster.records import SCHEMA
from assignor.errors import IllegalArgumentError
from assignor.offsets import Record, coordinator_partition, decode_record, encode_record
from assignor.sources.dump_text import Dump, Transactional, is_dump, read_dump
from assignor.wire import encode_assignment, encode_subscription

DUMPS = Path(__file__).parents[1] / "data/dump_text"
VERSIONS = ("0.11.0.3", "1.1.1", "2.4.1", "2.8.2", "3.7.2", "3.9.1", "4.3.1")
JSON_VERSIONS = ("3.9.1", "4.3.1")
KEYLESS_TOMBSTONES = ("0.11.0.3", "1.1.1")
START = 1_500_000_000_000


def offset_record(group: str, partition: int, offset: int | None, metadata: str = "") -> Record:
    value = {"offset": offset, "metadata": metadata, "commitTimestamp": START, "expireTimestamp": START + 86_400_000}
    key = {"group": group, "topic": "orders", "partition": partition}
    return Record(1, None, key) if offset is None else Record(1, None, key, 1, value)


def group_record(
    group: str, generation: int, protocol: str | None, members: list[dict[str, Any]], kind: str = "consumer"
) -> Record:
    leader = members[0]["memberId"] if members else None
    value = {"protocolType": kind, "generation": generation, "protocol": protocol, "leader": leader, "members": members}
    return Record(2, None, {"group": group}, 1, value)


def member(name: str, topics: tuple[str, ...], assignment: bytes) -> dict[str, Any]:
    blobs = {"subscription": encode_subscription(Subscription(topics), 0), "assignment": assignment}
    client = {"memberId": name, "clientId": name[0], "clientHost": "/10.0.0.1"}
    return {**client, "rebalanceTimeout": 300_000, "sessionTimeout": 10_000, **blobs}


RECORDS = {
    0: offset_record("g:1", 2, 5),
    1: offset_record("g:1", 3, 5, "a:b"),
    2: group_record(
        "g:1",
        1,
        "range",
        [
            member("a-1", ("orders",), encode_assignment([("orders", 0), ("orders", 1)], 0, user_data=b"")),
            member("b-2", ("orders", "pay"), encode_assignment([("orders", 2)], 0, user_data=b"\1\2")),
        ],
    ),
    3: group_record("g:1", 2, None, []),
    4: offset_record("g:1", 2, None),
    5: Record(2, None, {"group": "g:1"}),
    6: group_record("connect-x", 1, "default", [member("w-1", ("x",), b"\0\1abc")], "connect"),
    7: offset_record("tx", 0, 9),
    9: offset_record("tx", 0, 11),
}
"""Records of the segment by offset. The transaction of the one before the last was aborted."""

TRANSACTIONS = {7: [Transactional(7, 4, -1), Transactional(8, 4, 0), Transactional(9, 4, -1), Transactional(10, 4, 1)]}
MEMBER_FIELDS = ("memberId", "assignment")


def read(text: str) -> tuple[dict[tuple[int, int], dict[str, Any]], Dump]:
    """Return the rows of a text by partition and offset, and its reader."""
    dump = Dump(text.split("\n"), "dump.txt")
    rows = pa.Table.from_batches(list(dump), SCHEMA).to_pylist()
    return {(row["partition"], row["offset"]): row for row in rows}, dump


def text_of(version: str) -> str:
    return (DUMPS / f"kafka-{version}.txt").read_text()


@pytest.mark.parametrize("version", JSON_VERSIONS)
def test_the_json_form_has_all_bytes_of_the_records(version: str) -> None:
    rows, dump = read(text_of(version))

    assert {7} == {partition for partition, _ in rows}
    assert RECORDS.keys() == {offset for _, offset in rows}
    for (_, offset), row in rows.items():
        key, value = encode_record(RECORDS[offset])
        if offset == 2:  # the text does not say whether the user data of an assignment is null or empty
            assert decode_record(key, value) == decode_record(row["key"], row["value"])
        assert (START + offset, key, value) == (row["timestamp"], row["key"], row["value"])
    assert TRANSACTIONS == dump.transactions
    assert () == dump.notes


@pytest.mark.parametrize("version", sorted(set(VERSIONS) - set(JSON_VERSIONS)))
def test_the_older_forms_have_the_fields_that_the_tool_printed(version: str) -> None:
    rows, dump = read(text_of(version))

    lost = {4, 5} if version in KEYLESS_TOMBSTONES else set()
    assert RECORDS.keys() - lost == {offset for _, offset in rows}
    for (_, offset), row in rows.items():
        expected, found = RECORDS[offset], decode_record(row["key"], row["value"])
        assert (expected.key, START + offset) == (found.key, row["timestamp"])
        if expected.value is None or found.value is None:
            assert expected.value is found.value
        elif expected.type == 1:
            assert {**expected.value, "commitTimestamp": START + offset, "expireTimestamp": None} == {
                **found.value,
                "expireTimestamp": None,
            }
        else:
            assert [expected.value["generation"], expected.value["protocol"]] == [
                found.value["generation"],
                found.value["protocol"],
            ]
            members = expected.value["members"]
            assert [each["memberId"] for each in members] == [each["memberId"] for each in found.value["members"]]
            known = expected.value["protocolType"] == "consumer"
            for one, other in zip(members, found.value["members"], strict=True):
                assert b"" == other["subscription"], "an empty subscription is one that is not known"
                if known and one["memberId"] == "b-2":
                    assert one["assignment"] == other["assignment"], "user data is printed"
                assert known or other["assignment"] == b""
    assert TRANSACTIONS == dump.transactions
    assert any("print no subscriptions" in note for note in dump.notes)
    assert bool(lost) == any("2 tombstones left out" in note for note in dump.notes)


def test_partitions_are_those_of_the_files_in_the_text() -> None:
    text = text_of("4.3.1")
    other = text.replace("__consumer_offsets-7", "__consumer_offsets-12")
    topic = text.replace("__consumer_offsets-7", "orders-3")

    rows, dump = read("\n".join([text, topic, other]))

    assert {7, 12} == {partition for partition, _ in rows}
    assert 2 * len(RECORDS) == len(rows)
    assert {7, 12} == dump.transactions.keys()
    assert ("1 file of orders-3 ignored",) == dump.notes


def test_the_partition_of_a_file_without_a_folder_is_computed_from_the_group() -> None:
    rows, dump = read(text_of("4.3.1").replace("/var/lib/kafka/data/__consumer_offsets-7/", ""))

    assert {coordinator_partition("g:1", 50)} == {partition for partition, _ in rows}
    assert (
        "the text does not name the partition of __consumer_offsets: it is computed for 50 partitions",
    ) == dump.notes


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("prefix", ["", "kafka-0  | ", "2026-11-26T22:00:01.5Z stdout F "])
def test_prompts_log_lines_and_prefixes_are_no_part_of_the_records(version: str, prefix: str) -> None:
    lines = text_of(version).splitlines()
    before = ["$ bin/kafka-dump-log.sh --offsets-decoder --files 0.log", "[2026-11-26] WARN no appenders (x.Y)", ""]
    text = "".join(f"{line}\r\n" for line in [*before, *(prefix + line for line in lines), "$"])

    rows, dump = read(text)

    assert read("\n".join(lines))[0] == rows
    assert TRANSACTIONS == dump.transactions
    assert any("3 lines of other programs or of unknown form ignored; the first is line 1" in x for x in dump.notes)


@pytest.mark.parametrize("version", ["1.1.1", "2.8.2", "4.3.1"])
def test_a_text_that_is_cut_keeps_all_complete_records(version: str) -> None:
    text = text_of(version)
    whole = read(text)[0]
    ends = [found.end() for found in re.finditer("payload: ", text)][1:]

    for end in (*ends, len(text) - 40):
        rows, dump = read(text[: end + 1])
        assert rows.items() <= whole.items() or version == "1.1.1", "a cut number of 1.1.1 is a number, too"
        line = text[: end + 1].count("\n") + 1
        assert dump.unreadable in (0, 1)
        assert dump.unreadable == 0 or any(f"the first is line {line}: " in note for note in dump.notes)


def test_compressed_text_and_that_of_powershell_are_read(tmp_path: Path) -> None:
    text = text_of("4.3.1")
    expected = pa.Table.from_batches(list(read_dump(DUMPS / "kafka-4.3.1.txt")))
    for name, data in {
        "dump.gz": gzip.compress(text.encode()),
        "two.gz": gzip.compress(text[:3000].encode()) + gzip.compress(text[3000:].encode()),
        "utf-16.txt": text.replace("\n", "\r\n").encode("utf-16"),
        "bom.txt": text.encode("utf-8-sig"),
    }.items():
        (tmp_path / name).write_bytes(data)
        assert is_dump(data[:2000]), name
        dump = read_dump(tmp_path / name)
        assert expected == pa.Table.from_batches(list(dump)), name
        assert () == dump.notes


def test_a_compressed_text_that_ends_early_keeps_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "dump.gz"
    path.write_bytes(gzip.compress(text_of("4.3.1").encode())[:-200])

    dump = read_dump(path)

    assert 0 < sum(batch.num_rows for batch in dump) < len(RECORDS)
    assert f"{path}: the compressed file ends early" in dump.notes
    path.write_bytes(b"\x1f\x8bnot gzip, although it begins like it")
    with pytest.raises(
        IllegalArgumentError, match=r"dump\.gz has no record that can be read: the compressed file is dam"
    ):
        list(read_dump(path))


def test_the_json_of_members_gives_the_versions_of_their_subscriptions() -> None:
    subscriptions = {
        0: {"topics": ["t"], "userData": None},
        1: {"topics": ["t"], "userData": "AQI=", "ownedPartitions": [{"topic": "t", "partitions": [1, 0]}]},
        2: {"topics": ["t"], "userData": None, "ownedPartitions": [], "generationId": 4},
        3: {"topics": ["t"], "userData": None, "ownedPartitions": [], "generationId": -1, "rackId": "r1"},
    }
    blob = "AAMAAAACAAZvcmRlcnMABXF1aWV0/////w=="
    members = [
        {
            "memberId": str(name),
            "groupInstanceId": None,
            "clientId": "",
            "clientHost": "",
            "rebalanceTimeout": 1,
            "sessionTimeout": 1,
            "subscription": subscription,
            "assignment": {"assignedPartitions": [{"topic": "t", "partitions": [0, 2]}], "userData": None},
        }
        for name, subscription in [*subscriptions.items(), ("bytes", blob)]
    ]
    fields = {"protocolType": "consumer", "generation": 1, "protocol": "range", "leader": "0"}
    value = {"version": "3", "data": {**fields, "currentStateTimestamp": 5, "members": members}}
    line = one_record('{"type":"2","data":{"group":"g"}}', json.dumps(value))

    (row,) = read(line)[0].values()

    found = decode_record(row["key"], row["value"])
    assert found.consumer_protocol is not None
    for each in found.consumer_protocol[:-1]:
        assert int(each["memberId"]) == each["subscriptionVersion"]
        assert ["t"] == each["subscription"]["topics"]
        assert [{"topic": "t", "partitions": [0, 2]}] == each["assignment"]["assignedPartitions"]
    assert b"\1\2" == found.consumer_protocol[1]["subscription"]["userData"]
    assert "r1" == found.consumer_protocol[3]["subscription"]["rackId"]
    assert found.value is not None
    assert b"\0\3\0\0\0\2" == found.value["members"][-1]["subscription"][:6]


def one_record(key: str, payload: str | None, metadata: str = "offset: 7 CreateTime: 5 keySize: 9 valueSize: 9") -> str:
    end = "" if payload is None else f" payload: {payload}"
    return f"Dumping /d/__consumer_offsets-3/0.log\n| {metadata} sequence: 0 headerKeys: [] key: {key}{end}"


def test_fields_of_newer_versions_of_kafka_are_ignored_and_named() -> None:
    assigned = [{"topicId": "YBbTh9VaQpG-ah1G8LIwaw", "partitions": [0], "colour": 1}] * 2
    data = {"memberEpoch": 1, "previousMemberEpoch": 0, "state": 0, "weight": 2, "partitionsPendingRevocation": []}
    payload = json.dumps({"version": "0", "data": {**data, "assignedPartitions": assigned}})
    line = one_record('{"type":"8","data":{"groupId":"g","memberId":"m"}}', payload)

    rows, dump = read(line)

    (row,) = rows.values()
    found = decode_record(row["key"], row["value"])
    assert found.value is not None
    assert (1, 2) == (found.value["memberEpoch"], len(found.value["assignedPartitions"]))
    assert ("fields that only newer versions of Kafka have are ignored: colour, weight",) == dump.notes


@pytest.mark.parametrize(
    ("key", "payload"),
    [
        ("unknown::version=24", None),
        ("Unknown record type 24 at offset 7, skipping.", None),
    ],
)
def test_types_that_the_tool_does_not_know_are_counted(key: str, payload: str | None) -> None:
    rows, dump = read(f"{one_record(key, payload)}\n{one_record(key.replace('24', '3'), payload)}")

    assert {} == rows
    assert ("2 records left out, which the tool did not decode: this version of it has no type 3, 24",) == dump.notes


@pytest.mark.parametrize(
    ("key", "payload", "reason"),
    [
        ("Error at offset 7, skipping. Could not read", None, "the decoder printed an error: Could not read"),
        ('{"type":"1","data":{"group":"g","topic":"t","part', None, "Unterminated string"),
        ('{"type":"1","data":{"group":"g","topic":"t","partition":0}}', None, "it has a key, but no payload"),
        ('{"type":"2","data":{"group":"g"}}', '{"version":"3"}', "it has no field 'data'"),
        ('{"type":"3","data":{"groupId":"g"}}', '{"version":"99","data":{}}', "version"),
        ('{"type":"x","data":{}}', "<DELETE>", "invalid literal"),
        ("[]", "[]", "it has no key in a form that --offsets-decoder prints"),
        ("offset_commit::group=g,partition=t-0", "offset=x", "its payload is no committed offset"),
        ("offset_commit::group=g,partition=t-99999999999", "offset=1", "partition"),
        ("group_metadata::group=g", "nothing", "its payload is no group"),
        ("\0\1\0\1g", "\0\0\0", "it has no key in a form that --offsets-decoder prints"),
    ],
)
def test_a_record_that_cannot_be_read_is_an_error_if_it_is_the_only_one(
    key: str, payload: str | None, reason: str
) -> None:
    with pytest.raises(IllegalArgumentError) as error:
        read(one_record(key, payload))

    message = str(error.value)
    assert message.startswith("dump.txt, line 2: ")
    assert reason in message
    assert message.endswith("; no record can be read: print it again with --offsets-decoder")
    good = one_record("offset_commit::group=g,partition=t-0", "offset=1")
    rows, dump = read(f"{good}\n{one_record(key, payload).splitlines()[1]}")
    assert 1 == len(rows) == dump.unreadable
    assert any(note.startswith("1 line left out, with records that cannot be read; ") for note in dump.notes)


def test_a_text_without_keys_says_what_to_do() -> None:
    lines = [re.sub(" key: .*", "", line) for line in text_of("4.3.1").splitlines()]
    for text in ("\n".join(lines), "\n".join(line for line in lines if not line.startswith("|"))):
        with pytest.raises(
            IllegalArgumentError, match=r"^dump\.txt has no keys and values of records; print it again "
        ):
            read(text)


def test_a_dump_of_another_topic_is_refused_by_its_name() -> None:
    text = text_of("4.3.1").replace("__consumer_offsets-7", "__transaction_state-1")

    with pytest.raises(IllegalArgumentError, match="is a dump of __transaction_state-1, not of __consumer_offsets"):
        read(text)


def test_an_empty_segment_and_an_index_have_no_records() -> None:
    folder = "Dumping /d/__consumer_offsets-3"
    rows, dump = read(f"{folder}/0.log\nLog starting offset: 0\n{folder}/0.index\noffset: 7 position: 100\n")

    assert ({}, ()) == (rows, dump.notes)


def test_records_without_metadata_get_the_offsets_and_the_time_of_their_batch() -> None:
    lines = [re.sub(r"^\| offset: .*? key:", "| key:", line) for line in text_of("4.3.1").splitlines()]
    lines = [line for line in lines if "endTxnMarker" not in line]

    rows, dump = read("\n".join(lines))

    assert RECORDS.keys() == {offset for _, offset in rows}
    assert START + 6 == rows[7, 3]["timestamp"], "the last time of the batch"
    assert any("--skip-record-metadata" in note for note in dump.notes)


def test_names_and_metadata_with_separators_are_read() -> None:
    lines = [
        one_record("offset_commit::group=a,partition=b,partition=t.x-1-2", "offset=3,metadata=x,metadata=y payload: z"),
        one_record("offset::a:b:t:4", "5:6:7").split("\n")[1].replace("offset: 7", "offset: 8", 1),
        one_record(
            "group_metadata::group=g",
            '{"protocolType":"consumer","protocol":"range","generationId":1,'
            '"assignment":"{a=b,c=[t-0, u.v-1-12],d {}=[],e=[t-1]:102}"}',
        )
        .split("\n")[1]
        .replace("offset: 7", "offset: 9", 1),
    ]

    found = [decode_record(row["key"], row["value"]) for row in read("\n".join(lines))[0].values()]

    assert {"group": "a,partition=b", "topic": "t.x-1", "partition": 2} == found[0].key
    assert (3, "x,metadata=y payload: z") == offset_of(found[0])
    assert ("t", 4, 5, "6:7") == (found[1].key["topic"], found[1].key["partition"], *offset_of(found[1]))
    assert found[2].consumer_protocol is not None
    owned = {each["memberId"]: each["assignment"]["assignedPartitions"] for each in found[2].consumer_protocol}
    assert {
        "a=b,c": [{"topic": "t", "partitions": [0]}, {"topic": "u.v-1", "partitions": [12]}],
        "d {}": [],
        "e": [{"topic": "t", "partitions": [1]}],
    } == owned


def offset_of(record: Record) -> tuple[int, str]:
    assert record.value is not None
    return record.value["offset"], record.value["metadata"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_dump_is_known_by_its_first_bytes(version: str) -> None:
    data = (DUMPS / f"kafka-{version}.txt").read_bytes()

    assert is_dump(data[:4096])
    assert is_dump(b"$ kafka-dump-log.sh ...\n" + data[:4096])
    assert is_dump(b"\n".join(line for line in data.splitlines()[2:4]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b'{"key": "AAEAAQ==", "value": null, "offset": 3}',
        b"[2026-11-26 22:00:00] INFO [GroupCoordinator 1]: Preparing to rebalance group g (kafka.coordinator.group)",
        b"GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID",
        b"PAR1\0\0offset: 5",
        b"\x1f\x8bnot gzip",
        gzip.compress(b"another text", mtime=0),
        b"\xff\xfe\0",
    ],
)
def test_other_files_are_no_dump(data: bytes) -> None:
    assert not is_dump(data)

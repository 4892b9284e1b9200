"""History from the log of real controllers: it equals what the Admin client answered at each time."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import NewPartitions, NewTopic  # type: ignore[attr-defined]  # the module does not list them
from kio.schema.alter_partition_reassignments.v0 import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from kio.schema.alter_partition_reassignments.v0.request import ReassignablePartition, ReassignableTopic
from kio.schema.find_coordinator.v6 import FindCoordinatorResponse
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32

from assignor.cluster import Recording
from assignor.cluster.connection import ClientSettings
from assignor.cluster.log import OffsetsLog
from assignor.cluster.records import SCHEMA
from assignor.cluster.topics import topic_rows
from assignor.errors import ClusterError
from assignor.offsets import coordinator_partition
from assignor.replay.recorded import replay
from assignor.sources.metadata_log import FOLDER
from assignor.sources.topic_history import TopicHistory, topic_history
from tests.broker.admin import Admin, coordinator_request
from tests.broker.cluster import Cluster
from tests.broker.connection import Connection, milliseconds
from tests.broker.plugins.racks import RackedCluster
from tests.broker.running import running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

pytestmark = pytest.mark.broker

RACKS = ("a", "b", "c")

SETTLED = 0.3
"""Seconds for which an answer must stay the same."""

Row = dict[str, Any]


class Answer(NamedTuple):
    """What the Admin client answered.

    Attributes:
        step: What was done before.
        at: Time in milliseconds at which the answers had been the same for a while.
        topics: Rows of topic metadata, with the time 0.
        leaders: Leader of each partition of `__consumer_offsets`.
        brokers: Ids of the brokers.
    """

    step: str
    at: int
    topics: list[Row]
    leaders: dict[int, int | None]
    brokers: set[int]


class Steps:
    """Changes of a cluster, and the answers after each of them."""

    def __init__(self, cluster: Cluster | RackedCluster) -> None:
        address = cluster.address.partition(",")[0]  # the first broker is never stopped
        self._settings = ClientSettings.read(address, timeout=5)
        self.admin = self._settings.admin()
        self.answers: list[Answer] = []

    def topics(self, **counts: int) -> None:
        new = [
            NewTopic(name, count, replication_factor=2 if name.startswith("two") else 1)
            for name, count in counts.items()
        ]
        for future in self.admin.create_topics(new).values():
            future.result(30)

    def grow(self, name: str, count: int) -> None:
        self.admin.create_partitions([NewPartitions(name, count)])[name].result(30)

    def delete(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result(30)

    def keep(self, step: str, until: Callable[[Answer], bool] = lambda _: True) -> None:
        """Keep the answers once they satisfy a condition and have not changed for a while."""
        end, since = time.monotonic() + 60, time.monotonic()
        answer = None
        while answer is None or not until(answer) or time.monotonic() < since + SETTLED:
            assert time.monotonic() < end, (step, answer)
            time.sleep(0.1)
            before, answer = answer, self._answer(step)
            if before is None or answer is None or before[2:] != answer[2:]:
                since = time.monotonic()
        self.answers.append(answer)

    def _answer(self, step: str) -> Answer | None:
        """Return the answers now; None if the client asked a broker that has stopped."""
        now = round(time.time() * 1000)
        self.admin = self._settings.admin()  # a client with a new connection does not know stopped brokers
        log = OffsetsLog(self._settings)
        try:
            rows = topic_rows(self._settings, self.admin, 0).to_pylist()
            leaders = log.leaders(self.admin) if any(row["topic"] == log.topic for row in rows) else {}
            brokers = set(self._settings.metadata(self.admin).brokers)
        except ClusterError:
            return None
        return Answer(step, now, rows, leaders, brokers)


def differences(history: TopicHistory, answers: Sequence[Answer]) -> list[object]:
    """Return what differs between the history at the time of each answer, and the answer."""
    found: list[object] = []
    topics = history.topics.to_pylist()
    for answer in answers:
        times = [row["t"] for row in topics if row["t"] <= answer.at]
        rows = [{**row, "t": 0} for row in topics if times and row["t"] == times[-1]]
        leaders = {
            row["partition"]: row["leader"] for row in history.coordinators.to_pylist() if row["at"] <= answer.at
        }
        brokers = {row["broker"]: row["is_available"] for row in history.brokers.to_pylist() if row["at"] <= answer.at}
        if rows != answer.topics:
            found.append((answer.step, [row for row in rows if row not in answer.topics], answer.topics))
        if leaders != answer.leaders:
            found.append((answer.step, leaders, answer.leaders))
        if {id for id, is_available in brokers.items() if is_available} != answer.brokers:
            found.append((answer.step, brokers, answer.brokers))
    return found


@contextlib.contextmanager
def connected(cluster: RackedCluster) -> Iterator[Connection]:
    """Yield a connection to the first broker."""
    with contextlib.ExitStack() as stack:
        first, *_ = [stack.enter_context(connection) for connection in cluster.connect()]
        yield first


def reassign(cluster: RackedCluster, topic: str, replicas: list[int]) -> None:
    """Move the replicas of partition 0 of a topic."""
    partition = ReassignablePartition(partition_index=i32(0), replicas=tuple(map(BrokerId, replicas)))
    moved = ReassignableTopic(name=TopicName(topic), partitions=(partition,))
    request = AlterPartitionReassignmentsRequest(topics=(moved,), timeout=milliseconds(10_000))
    with connected(cluster) as connection:
        answer = connection.ask(request, AlterPartitionReassignmentsResponse)
    assert not int(answer.error_code), answer


class Run(NamedTuple):
    """A cluster's life.

    Attributes:
        folders: Folders of the log of its controllers.
        answers: Answers over time.
        records: The log of its groups, in the folder of a recording.
    """

    folders: list[Path]
    answers: list[Answer]
    records: Path


def is_stable(admin: Any, members: Mapping[str, int]) -> bool:
    """Return True if each group is stable with its number of members; False if a coordinator loads its groups."""
    futures = admin.describe_consumer_groups(list(members))
    try:
        found = {name: future.result(30) for name, future in futures.items()}
    except KafkaException:
        return False
    return all(each.state.name == "STABLE" and len(each.members) == members[name] for name, each in found.items())


class Groups:
    """Groups of two consumers each, by what happens to them when broker 2 is killed.

    Attributes:
        names: Name of the group `dying`, whose coordinator is broker 2 and one of whose consumers is killed with it; of
            `staying`, with the same coordinator; and of `elsewhere`, one of whose consumers is killed, too.
    """

    def __init__(self, address: str, leaders: Mapping[int, int | None]) -> None:
        self.names: dict[str, str] = {}
        self._killed: set[str] = set()
        for name, is_of_2 in (("dying", True), ("staying", True), ("elsewhere", False)):
            ids = (f"{name}-{number}" for number in itertools.count())
            self.names[name] = next(id for id in ids if (leaders[coordinator_partition(id, 4)] == 2) == is_of_2)
        program = [sys.executable, "-m", "tests.live.consumer_program", "librdkafka", address]
        self._processes = {
            (name, place): subprocess.Popen([*program, group, "two", f"{name}-{place}", "6000"])
            for name, group in self.names.items()
            for place in (0, 1)
        }

    def kill_one(self) -> None:
        """Kill a consumer of each group but one."""
        for name in ("dying", "elsewhere"):
            self._processes[name, 1].kill()
            self._killed.add(name)

    def members(self) -> dict[str, int]:
        """Return the number of consumers of each group."""
        return {group: 1 if name in self._killed else 2 for name, group in self.names.items()}

    def kill(self) -> None:
        """Kill all consumers."""
        for process in self._processes.values():
            process.kill()
            process.wait()


def write_records(address: str, folder: Path) -> Path:
    """Write the log of the groups as a recording."""
    log = OffsetsLog(ClientSettings.read(address, timeout=20))
    found = list(log.read(log.bounds(log.settings.admin())))
    folder.mkdir()
    pq.write_table(pa.Table.from_batches(found).select(SCHEMA.names), folder / "records.parquet")
    return folder


@pytest.fixture(scope="module")
def racked(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Create, grow, delete and move topics on three brokers, and kill and restart one of them."""
    place = tmp_path_factory.mktemp("racked")
    settings = {"offsets.topic.num.partitions": "4", "offsets.topic.replication.factor": "2"}
    with contextlib.ExitStack() as stack:
        names = {name.replace(".", "_"): value for name, value in settings.items()}
        cluster = stack.enter_context(running(RackedCluster, place, RACKS, **names))
        steps = Steps(cluster)
        steps.topics(one=3, two=4, two_more=2)
        with connected(cluster) as connection:
            connection.ask(coordinator_request("group"), FindCoordinatorResponse)  # creates the topic
        steps.keep("created", lambda answer: len(answer.leaders) == 4)
        steps.grow("two", 6)
        steps.keep("grown")
        (row,) = (row for row in steps.answers[-1].topics if (row["topic"], row["partition"]) == ("two", 0))
        old = [RACKS.index(rack) + 1 for rack in row["racks"]]
        new = [*({1, 2, 3} - set(old)), old[0]]
        reassign(cluster, "two", new)
        racks = [RACKS[broker - 1] for broker in new]
        steps.keep("moved", lambda answer: {"topic": "two", **row, "racks": racks} in answer.topics)
        steps.delete("one")
        steps.keep("deleted")
        steps.topics(one=1)
        steps.keep("created again")
        first = cluster.address.partition(",")[0]
        groups = Groups(first, steps.answers[-1].leaders)
        stack.callback(groups.kill)
        steps.keep("consumers", lambda _: is_stable(steps.admin, groups.members()))
        cluster.crash(2)
        groups.kill_one()
        steps.keep("killed", lambda answer: 2 not in answer.brokers and 2 not in answer.leaders.values())
        steps.topics(two_later=2)
        steps.keep("created without broker 2")
        cluster.restart(2)
        steps.keep("started again", lambda answer: 2 in answer.brokers and is_stable(steps.admin, groups.members()))
        recording = write_records(first, place / "recording")
        cluster.stop(3)
        steps.keep("stopped", lambda answer: 3 not in answer.brokers and 3 not in answer.leaders.values())
        return Run([place / str(node) / "data" / FOLDER for node in (1, 2, 3)], steps.answers, recording)


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Create, grow and delete topics on one node that writes small segments and many snapshots, and is killed once."""
    place = tmp_path_factory.mktemp("single")
    settings = {
        "metadata.log.max.record.bytes.between.snapshots": "2000",
        "internal.metadata.log.segment.bytes": "4096",
        "metadata.log.segment.ms": "1500",
    }
    with running(Cluster, place, settings) as cluster:
        steps = Steps(cluster)
        for number in range(4):
            steps.topics(**{f"t{number}": 2 + number})
            steps.keep(f"topic {number}")
        with cluster.connect() as connection:
            Admin(connection).await_coordinators()
        steps.keep("coordinators", lambda answer: len(answer.leaders) == 2)
        steps.grow("t0", 5)
        steps.delete("t1")
        steps.keep("grown and deleted")
        cluster.kill()
        cluster.start()
        steps.keep("started again", lambda answer: None not in answer.leaders.values())
        steps.topics(t1=7)
        steps.keep("created again")
        return Run([place / "data" / FOLDER], steps.answers, place)


def test_the_history_of_three_brokers_is_what_the_admin_client_saw(racked: Run) -> None:
    assert differences(topic_history(racked.folders), racked.answers) == []
    assert len(racked.answers) == 10


@pytest.mark.parametrize("nodes", [(0,), (1, 2), (2, 0)])
def test_each_node_and_any_nodes_together_have_the_history(racked: Run, nodes: tuple[int, ...]) -> None:
    alive = racked.answers if 0 in nodes else racked.answers[:6]  # broker 2 was down, and broker 3 stopped at the end

    assert differences(topic_history(racked.folders[node] for node in nodes), alive) == []


def test_only_the_group_whose_member_died_with_its_coordinator_blames_the_move(racked: Run) -> None:
    history = topic_history(racked.folders)
    for name, table in (("coordinators", history.coordinators), ("brokers", history.brokers)):
        pq.write_table(pa.Table.from_batches([table]), racked.records / f"{name}.parquet")
    pq.write_table(pa.Table.from_batches([history.topics]), racked.records / "topics.parquet")
    events = list(replay(Recording.open(racked.records)))
    left = {
        name: [event for event in events if event["event"] == "rebalance" and name in event["group"] and event["left"]]
        for name in ("dying", "staying", "elsewhere")
    }

    (dying,), (elsewhere,) = left["dying"], left["elsewhere"]
    assert dying["causes"][:2] == ["coordinator_moved", "consumer_dead"]
    assert "Its coordinator changed " in dying["evidence"]
    assert "it moved from broker 2 to broker " in dying["evidence"]
    assert "broker 2 was fenced from " in dying["evidence"]
    assert left["staying"] == []
    assert "coordinator_moved" not in elsewhere["causes"]
    moved = [event for event in events if event["event"] == "coordinator" and event["previous"] == "2"]
    partitions = {str(coordinator_partition(group, 4)) for group in (dying["group"], *_named(events, "staying"))}
    # One event for each broker that got some of these partitions.
    assert partitions <= {partition for event in moved for partition in event["log_partitions"]}
    assert sum(event["groups"] for event in moved) == 2


def _named(events: Sequence[Row], name: str) -> set[str]:
    """Return the groups of the events that have a name in them."""
    return {event["group"] for event in events if event["group"] and name in event["group"]}


def test_the_history_of_one_node_is_what_the_admin_client_saw(single: Run) -> None:
    history = topic_history(single.folders)

    assert differences(history, single.answers) == []
    assert len(list(single.folders[0].glob("*.checkpoint"))) >= 1
    assert history.notes == ()


@pytest.fixture
def shortened(single: Run, tmp_path: Path) -> Path:
    """Copy of a log whose segments before its last snapshot were deleted."""
    folder = tmp_path / FOLDER
    shutil.copytree(single.folders[0], folder)
    end = max(int(path.name[:20]) for path in folder.glob("*.checkpoint"))
    bases = sorted(int(path.stem) for path in folder.glob("*.log"))
    covered = [base for base, following in itertools.pairwise(bases) if following <= end]
    assert covered
    for base in covered:
        (folder / f"{base:020}.log").unlink()
    return folder


def test_after_the_oldest_segments_are_deleted_the_history_begins_with_a_snapshot(shortened: Path, single: Run) -> None:
    history = topic_history([shortened])
    first = history.topics["t"][0].as_py()
    later = [answer for answer in single.answers if answer.at >= first]

    assert 1 <= len(later) < len(single.answers)
    assert differences(history, later) == []
    assert history.notes == ()


def test_without_the_snapshot_the_notes_say_what_is_missing(shortened: Path) -> None:
    for path in shortened.glob("*.checkpoint"):
        path.unlink()
    (note,) = topic_history([shortened]).notes

    assert note.startswith("__cluster_metadata begins with offset ")
    assert note.endswith("topics and brokers that are older are not known")


def test_a_snapshot_that_is_cut_off_is_left_out(shortened: Path) -> None:
    for path in shortened.glob("*.checkpoint"):
        path.write_bytes(path.read_bytes()[:-20])

    assert any("is incomplete, and was left out: it has no end" in note for note in topic_history([shortened]).notes)


def test_a_snapshot_alone_is_the_state_at_its_time(shortened: Path, single: Run) -> None:
    for path in shortened.glob("*.log"):
        path.unlink()
    history = topic_history([shortened])
    (at,) = set(history.topics["t"].to_pylist())
    before = [answer for answer in single.answers if answer.at <= at]

    assert [{**row, "t": 0} for row in history.topics.to_pylist()] in [answer.topics for answer in single.answers]
    assert before


def test_a_missing_segment_is_said(single: Run, tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    shutil.copytree(single.folders[0], folder)
    second = sorted(folder.glob("*.log"))[1]
    second.unlink()

    assert any(
        "in the middle: changes of topics and brokers are missing" in note for note in topic_history([folder]).notes
    )

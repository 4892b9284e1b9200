"""Watch of a cluster whose topics are deleted, and state files that cannot be written or are of another cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from assignor.cli import main
from assignor.replay import watch, watch_state
from assignor.replay.watcher import Watcher
from tests.live.test_record import Commits
from tests.live.test_record_interrupted import start
from tests.live.watching import Watching, until
from tests.support.consumer_closing import close_consumers
from tests.support.time_limit import within

if TYPE_CHECKING:
    from pathlib import Path

    from tests.broker.cluster import Cluster

pytestmark = pytest.mark.broker


def test_a_watch_continues_after_a_topic_is_deleted(broker: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LAG_SECONDS", 0.2)
    address: dict[str, Any] = {"bootstrap.servers": broker.address}
    admin = AdminClient(address)
    for future in admin.create_topics([NewTopic("deleted", 1), NewTopic("kept", 1)]).values():
        future.result(10)
    producer = Producer(address)
    for topic in ["deleted", "kept"] * 5:
        producer.produce(topic, b"x", partition=0)
    assert 0 == producer.flush(60)
    idle = Consumer({**address, "group.id": "loses-all-topics"})
    commit(idle, TopicPartition("deleted", 0, 1))
    within("closing the consumer of loses-all-topics", idle.close)
    consumer = Consumer({**address, "group.id": "loses-a-topic", "topic.metadata.refresh.interval.ms": 200})

    def lag() -> dict[tuple[str, str], int | None]:
        rows = watching.watch.lag.to_pylist() if watching.watch.lag is not None else []
        return {(row["group_id"], row["topic"]): row["lag"] for row in rows if row["group_id"].startswith("loses-")}

    def rebalances(count: int) -> bool:
        consumer.poll(0.1)
        return len(watching.of("loses-a-topic", "rebalance")) == count

    with Watching(broker.address, has_lag=True) as watching:
        consumer.subscribe(["deleted", "kept"])
        until(lambda: rebalances(1))
        commit(consumer, TopicPartition("deleted", 0, 2), TopicPartition("kept", 0, 3))
        before = {("loses-a-topic", "deleted"): 3, ("loses-a-topic", "kept"): 2, ("loses-all-topics", "deleted"): 4}
        until(lambda: lag() == before)

        admin.delete_topics(["deleted"])["deleted"].result(10)
        until(lambda: rebalances(2))
        until(lambda: lag() == {("loses-a-topic", "kept"): 2})

        assert "topic_deleted" == watching.of("loses-a-topic", "rebalance")[1]["causes"][0]
        commit(consumer, TopicPartition("kept", 0, 1))
        until(lambda: watching.of("loses-a-topic", "offsets", problem="went_back"))
        assert 1 == len(watching.notices), watching.notices
    close_consumers([consumer])


def commit(consumer: Consumer, *places: TopicPartition) -> None:
    """Commit offsets, and wait for the answer."""
    within(f"the commit of {places}", lambda: consumer.commit(offsets=list(places), asynchronous=False))


def test_a_state_file_of_another_cluster_is_rejected(
    broker: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Commits(broker).plain(range(1))
    watcher = Watcher()
    watcher.start()
    watch_state.save(tmp_path / "state", watcher.state("other"))
    before = (tmp_path / "state").read_bytes()

    assert 2 == main(["watch", "--bootstrap-server", broker.address, "--state", str(tmp_path / "state"), "--for", "0"])

    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"assignor: cannot continue from {tmp_path / 'state'}: it is the state of cluster other, ")
    assert line.endswith("; use one file per cluster")
    assert before == (tmp_path / "state").read_bytes()


@pytest.mark.plain_build
def test_a_full_disk_leaves_the_earlier_state(broker: Cluster, tmp_path: Path) -> None:
    commits = Commits(broker)
    commits.plain(range(1))
    file = tmp_path / "state"
    words = ["watch", "--bootstrap-server", broker.address, "--state", str(file), "--for", "0"]
    assert 0 == main(words)
    before = file.read_bytes()
    commits.plain(range(1, 3))

    process = start(*words, file_size=64)
    _, errors = process.communicate(timeout=60)

    assert 2 == process.returncode
    assert f"assignor: cannot write {file}: File too large" == errors.splitlines()[-1]
    assert ["state"] == [path.name for path in tmp_path.iterdir()]
    assert before == file.read_bytes()
    assert 0 == main(words)
    assert before != file.read_bytes()

"""Program that records a large log from a real broker, to measure the time and the memory of the recorder.

`python -m benches.recording_memory RECORDS...` starts a broker of the tests. For each argument it creates a topic with
that number of records, and runs the recorder on the topic in a new process. The records are those of
`data/fleet_webshop`, repeated. The program prints a JSON object per topic: records, megabytes of keys and values,
seconds of the recorder, and the peak of its memory in MB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

import pyarrow.parquet as pq

from benches.memory import resident

ROOT = Path(__file__).resolve().parents[1]
FLEET = ROOT / "data" / "fleet_webshop" / "records.parquet"
PARTITIONS = 2


def main(arguments: Sequence[str]) -> None:
    """Measure each number of records, or record a topic: `--record ADDRESS TOPIC`."""
    if arguments[0] == "--record":
        print_line(record_topic(*arguments[1:]))
        return
    from tests.broker.cluster import Cluster

    with tempfile.TemporaryDirectory(prefix="recording-memory-") as folder, Cluster(Path(folder)) as broker:
        for count in map(int, arguments):
            size = write(broker.address, f"records-{count}", count)
            command = [sys.executable, "-m", "benches.recording_memory", "--record", broker.address, f"records-{count}"]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
            print_line({"written_mb": round(size / 1e6), **json.loads(done.stdout)})


def print_line(line: dict[str, float | None]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def write(address: str, topic: str, count: int) -> int:
    """Write records to a new topic, and return the number of bytes of their keys and values."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result(30)
    producer = Producer({"bootstrap.servers": address, "linger.ms": 50})
    size = 0
    for partition, key, value in islice(cycle(_fleet()), count):
        size += len(key) + len(value or b"")
        while True:
            try:
                producer.produce(topic, value, key, partition % PARTITIONS)
                break
            except BufferError:  # the queue is full
                producer.poll(0.1)
    producer.flush()
    return size


def _fleet() -> Iterator[tuple[int, bytes, bytes | None]]:
    rows = pq.read_table(FLEET, columns=["partition", "key", "value"])
    yield from zip(*(column.to_pylist() for column in rows.columns), strict=True)


def record_topic(address: str, topic: str) -> dict[str, float | None]:
    """Record a topic in this process."""
    from assignor.cluster.connection import ClientSettings
    from assignor.cluster.recorder import record

    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="recording-memory-") as folder:
        found = record(ClientSettings.read(address), Path(folder) / "out", until_end=True, topic=topic)
    seconds, peak = time.perf_counter() - start, resident("VmHWM")
    return {"records": found.records, "seconds": round(seconds, 1), "peak_mb": peak and round(peak / 1e6)}


if __name__ == "__main__":
    main(sys.argv[1:])

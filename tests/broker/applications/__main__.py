"""Command that records applications on two brokers; see `story.py` for what happens.

`python -m tests.broker.applications` takes some minutes, needs Java, Maven and confluent-kafka, and replaces
`data/streams_connect_share` and `tests/data/streams_connect_share`. With `--release 4.4` it records groups that brokers
of Kafka 4.4 assign, in `streams_share_4_4` of the same folders.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from assignor.cluster.connection import ClientSettings
from assignor.cluster.recorder import record
from tests.broker.applications.brokers import NEW_SETTINGS, RELEASES, RecordedCluster
from tests.broker.applications.driver import Driver
from tests.broker.applications.output import ROOT, write_expected, write_recording
from tests.broker.applications.story import TOPICS, play

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", choices=sorted(RELEASES), default="4.3")
    parser.add_argument("--out", type=Path, default=ROOT, help="folder with `data` and `tests/data`")
    options = parser.parse_args()
    name = "streams_connect_share" if options.release == "4.3" else "streams_share_4_4"
    with tempfile.TemporaryDirectory(prefix="assignor-applications-") as scratch:
        run(options.release, name, Path(scratch), options.out)


def run(release: str, name: str, scratch: Path, out: Path) -> None:
    """Record a release with its files in a temporary folder."""
    brokers, files, recorded = scratch / "brokers", scratch / "clients", scratch / "recorded"
    for folder in (brokers, files):
        folder.mkdir()
    is_new = release == "4.4"
    with (
        RecordedCluster(brokers, RELEASES[release], NEW_SETTINGS if is_new else {}) as cluster,
        Driver(cluster, RELEASES[release], files) as driver,
    ):
        driver.create(TOPICS)
        with recording(cluster.address, recorded):
            play(driver, is_new=is_new)
    write_recording(recorded, driver.topics, cluster.logs, out / "data" / name)
    write_expected(driver, out / "tests" / "data" / name)


@contextlib.contextmanager
def recording(address: str, folder: Path) -> Iterator[None]:
    """Record the cluster during the block, with a snapshot of the topics each second."""
    is_over = threading.Event()
    options = {"is_stopped": is_over.is_set, "snapshot_seconds": 1.0}
    recorder = threading.Thread(target=record, args=(ClientSettings.read(address), folder), kwargs=options)
    recorder.start()
    try:
        yield
        time.sleep(3)  # the recorder reads what was written last
    finally:
        is_over.set()
        recorder.join()


if __name__ == "__main__":
    main()

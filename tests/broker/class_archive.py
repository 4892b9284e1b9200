"""Archive of the classes that a broker loads. With it, Java starts a broker in a fraction of the processor time.

Java checks the archive when it starts, and ignores an archive of another Java version or of other jars.
"""

from __future__ import annotations

import fcntl
import tempfile
from pathlib import Path

from tests.broker.admin import Admin
from tests.broker.cluster import CLASSES, JARS, SMALL_JVM, Cluster

_SECONDS = 120
"""Time limit for stopping the broker; Java writes the archive while it stops."""


def make_archive() -> None:
    """Start a broker that writes the archive when it stops, unless the archive exists.

    Raises:
        BrokerMissingError: Java or Maven is missing, or Maven could not fetch the jars.
    """
    archive = JARS / CLASSES
    with tempfile.TemporaryDirectory(prefix="assignor-broker-") as folder:
        made = JARS / f".{CLASSES}"
        cluster = Cluster(Path(folder), jvm=(*SMALL_JVM, f"-XX:ArchiveClassesAtExit={made}", "-Xlog:disable"))
        with (JARS / ".archive.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if archive.exists():
                return
            with cluster as broker:
                _use(broker)
                broker.stop(_SECONDS)
            made.rename(archive)


def _use(broker: Cluster) -> None:
    """Create a topic and a consumer group, so that the archive has these classes as well."""
    with broker.connect() as connection:
        admin = Admin(connection)
        ids = admin.create_topics({"orders": 1})
        admin.await_coordinator("archived")
        admin.await_topics("archived", {"orders": 1}, ids)

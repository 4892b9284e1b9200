"""Archive of the classes that a broker loads. With it, Java starts a broker in a fraction of the processor time.

Java checks the archive when it starts, and ignores an archive of another Java version, of other jars, or of another
folder. Programs whose class path starts with the same jars read the archive too.
"""

from __future__ import annotations

import fcntl
import functools
import subprocess
import tempfile
from pathlib import Path

from tests.broker.admin import Admin
from tests.broker.cluster import CLASSES, JARS, SMALL_JVM, Cluster, archive_options, find_java

_SECONDS = 120
"""Time limit for stopping the broker; Java writes the archive while it stops."""


@functools.cache
def make_archive() -> None:
    """Start a broker that writes the archive when it stops, unless there is one that Java can use.

    Raises:
        BrokerMissingError: Java or Maven is missing, or Maven could not fetch the jars.
    """
    with tempfile.TemporaryDirectory(prefix="assignor-broker-") as folder:
        made = JARS / f".{CLASSES}"
        cluster = Cluster(Path(folder), jvm=(*SMALL_JVM, f"-XX:ArchiveClassesAtExit={made}", "-Xlog:disable"))
        with (JARS / ".archive.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _is_usable():
                return
            (JARS / CLASSES).unlink(missing_ok=True)  # Java does not write an archive while it reads another
            with cluster as broker:
                _use(broker)
                broker.stop(_SECONDS)
            made.rename(JARS / CLASSES)


def _is_usable() -> bool:
    """Return True if the archive exists and Java accepts it for the jars."""
    command = [str(find_java()), *SMALL_JVM, "-Xshare:on", *archive_options(JARS), "-cp", str(JARS / "*"), "-version"]
    return (JARS / CLASSES).exists() and not subprocess.run(command, capture_output=True, check=False).returncode


def _use(broker: Cluster) -> None:
    """Create a topic and a consumer group, so that the archive has their classes as well."""
    with broker.connect() as connection:
        admin = Admin(connection)
        ids = admin.create_topics({"orders": 1})
        admin.await_coordinator("archived")
        admin.await_topics("archived", {"orders": 1}, ids)

"""Releases of Kafka whose brokers and applications are recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.broker.cluster import JARS, Release, install_jars

if TYPE_CHECKING:
    from collections.abc import Callable

RELEASES = {
    "4.3": Release(Path(__file__).with_name("pom.xml"), JARS.with_name("kafka-applications")),
    "4.4": Release(Path(__file__).with_name("pom-4.4.xml"), JARS.with_name("kafka-applications-4.4")),
}
"""The release 4.4 has no jars of Connect."""


def installer(release: Release) -> Callable[[], Path]:
    """Return a function that fetches the jars of a release, unless they exist, and returns their folder."""

    def install() -> Path:
        install_jars(release)
        return release.jars

    return install

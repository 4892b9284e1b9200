"""Settings of topics that decide when their records are deleted, read with DescribeConfigs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.cluster.descriptions import batches
from assignor.dependencies import dependency
from assignor.errors import ClusterError
from assignor.lag_retention import NO_LIMIT
from assignor.lines import format_count

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from concurrent.futures import Future

    from assignor.cluster.connection import ClientSettings

REFRESH_MS = 600_000
"""Time after which the settings of a topic are read again."""

TOPICS_PER_CALL = 500
"""Number of topics that one call describes."""

_NUMBERS = ("retention.ms", "retention.bytes")

_DOING = "describe the settings of topics"


class TopicRetention(NamedTuple):
    """When the records of a topic are deleted.

    Attributes:
        cleanup_policy: The setting `cleanup.policy`, such as `delete`, `compact` or `compact,delete`.
        retention_ms: The setting `retention.ms`; -1 for no limit.
        retention_bytes: The setting `retention.bytes`; -1 for no limit.
    """

    cleanup_policy: str
    retention_ms: int
    retention_bytes: int

    @property
    def is_compacted(self) -> bool:
        """True if the topic is compacted, and its records are not deleted by age or size."""
        return self._policies() == {"compact"}

    @property
    def has_size(self) -> bool:
        """True if the size of a partition is limited, so that a record can be deleted before its time."""
        return "delete" in self._policies() and self.retention_bytes > NO_LIMIT

    @property
    def milliseconds(self) -> int:
        """Age in milliseconds at which a record is deleted; -1 if age deletes none."""
        return self.retention_ms if "delete" in self._policies() else NO_LIMIT

    def _policies(self) -> set[str]:
        return {name.strip() for name in self.cleanup_policy.split(",")}


class RetentionReader:
    """Reader of the settings of topics, which remembers them.

    Args:
        settings: Settings of the clients.
        admin: AdminClient of the cluster.

    Attributes:
        found: The settings by topic.
    """

    def __init__(self, settings: ClientSettings, admin: Any) -> None:
        self.found: dict[str, TopicRetention] = {}
        self._settings = settings
        self._admin = admin
        self._read_at: dict[str, int] = {}
        self._refused: dict[str, str] = {}

    def read(self, topics: Collection[str], now: int) -> None:
        """Read the settings of topics that are not known, or were read `REFRESH_MS` ago. This changes nothing.

        Args:
            topics: Names of topics.
            now: Time in milliseconds.
        """
        due = sorted({topic for topic in topics if now - self._read_at.get(topic, -REFRESH_MS) >= REFRESH_MS})
        if not due:
            return
        with dependency("confluent_kafka"):
            from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]  # its module does not list it

        for names in batches(due, TOPICS_PER_CALL):
            resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
            futures = self._admin.describe_configs(resources, request_timeout=self._settings.timeout)
            self._settings.are_done(self._admin, futures.values(), self._settings.timeout)
            for resource, future in futures.items():
                self._read_at[resource.name] = now
                self._add(resource.name, future)

    def _add(self, topic: str, future: Future[Any]) -> None:
        """Remember the answer for a topic."""
        try:
            if not future.done():
                raise self._settings.unreachable(_DOING)
            entries = self._settings.result(self._admin, future, _DOING)
            self.found[topic] = _retention({name: entry.value for name, entry in entries.items()})
            self._refused.pop(topic, None)
        except ClusterError as error:
            self.found.pop(topic, None)
            self._refused[topic] = str(error)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments `retention_ms`, `size_limited` and `compacted` of `assignor.lag_time.lag_in_time`."""
        return retention_arguments(self.found)

    def note(self) -> str:
        """Return a sentence if the settings of topics could not be read, else an empty text."""
        if not self._refused:
            return ""
        topic = min(self._refused)
        topics = format_count(len(self._refused), "topic")
        return (
            f"the setting retention.ms of {topics}, such as {topic!r}, could not be read, so the time until unread "
            f"records are deleted is estimated from the start of the log: {self._refused[topic]}"
        )


def retention_arguments(found: Mapping[str, TopicRetention]) -> dict[str, Any]:
    """Return the arguments of `assignor.lag_time.lag_in_time` for the settings of topics.

    Example:
        >>> found = {"orders": TopicRetention("delete", 5_000, 100), "state": TopicRetention("compact", 5, -1)}
        >>> retention_arguments(found)
        {'retention_ms': {'orders': 5000}, 'size_limited': ['orders'], 'compacted': ['state']}
    """
    return {
        "retention_ms": {topic: each.milliseconds for topic, each in found.items() if not each.is_compacted},
        "size_limited": [topic for topic, each in found.items() if each.has_size],
        "compacted": [topic for topic, each in found.items() if each.is_compacted],
    }


def _retention(values: Mapping[str, str | None]) -> TopicRetention:
    """Return the settings.

    Raises:
        ClusterError: The broker did not return one of them, as some services that speak Kafka's protocol do.
    """
    for name in _NUMBERS:
        if not values.get(name):
            raise ClusterError(f"the broker did not return the setting {name}")
    return TopicRetention(values.get("cleanup.policy") or "", *(int(values[name] or "") for name in _NUMBERS))

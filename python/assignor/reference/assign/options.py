"""Options of an assignor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assignor.reference.group import topic_id_of_name


@dataclass(frozen=True, slots=True)
class Options:
    """Options of an assignor, besides topics and members.

    Attributes:
        prefer_rack_aware: Kafka's test flag: use racks even if every partition is on every rack.
        topic_ids: Topic name to topic id, a 128-bit integer.
    """

    prefer_rack_aware: bool = False
    topic_ids: Mapping[str, int] = field(default_factory=dict)

    def topic_id(self, topic: str) -> int:
        """Return the id of a topic, or an id made from its name if the options have none."""
        id = self.topic_ids.get(topic)
        return topic_id_of_name(topic) if id is None else id

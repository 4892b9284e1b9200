"""Timeline of one member in words, event by event, which docs/member-testing.md shows.

`tests/vectors/member_timeline.json.gz` is a JSON array of {"at", "event", "state", "effects"}: milliseconds since the
scenario began, and in words the event, the state after it, and its effects. An event that changes nothing is left out,
unless it is a subscription.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from assignor.member import MemberState, effects, events
from assignor.member.error_codes import heartbeat_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from uuid import UUID

    from assignor import TopicPartition
    from assignor.member import HeartbeatRequest, HeartbeatResponse
    from assignor.member.effects import Effect
    from assignor.member.events import Event

FILE = "member_timeline.json.gz"


class MemberTimeline:
    """Events of one member and their effects.

    Args:
        names: Topic ids by name.
        prefix: Common prefix of the topic names, which is omitted.
    """

    def __init__(self, names: Mapping[str, UUID], prefix: str) -> None:
        self._ids = names
        self._prefix = prefix
        self._state = MemberState.UNSUBSCRIBED
        self._epoch = 0
        self.entries: list[dict[str, Any]] = []

    def record(self, at: int, event: Event, state: MemberState, epoch: int, asked: Iterable[Effect]) -> None:
        """Record a subscription, and any other event that changed something.

        A subscription changes nothing before the next poll.
        """
        shown = [effect for effect in asked if not isinstance(effect, effects.WakeAt) and not _says_nothing(effect)]
        if shown or (state, epoch) != (self._state, self._epoch) or isinstance(event, events.Subscribe):
            words = ", ".join(self._effect(effect) for effect in shown)
            self.entries.append({"at": at, "event": self._event(event), "state": state.name, "effects": words})
        self._state, self._epoch = state, epoch

    def write(self, path: Path) -> None:
        """Write the timeline; equal timelines give equal bytes."""
        path.write_bytes(gzip.compress(json.dumps(self.entries, indent=0).encode(), mtime=0))

    def _event(self, event: Event) -> str:
        match event:
            case events.Subscribe(topics, pattern):
                return f"Subscribe to {', '.join([*map(self._short, topics), *filter(None, [pattern])])}"
            case events.ResponseReceived(_, response):
                return f"ResponseReceived: {self._response(response)}"
            case _:
                return type(event).__name__

    def _effect(self, effect: Effect) -> str:
        match effect:
            case effects.SendHeartbeat(_, request):
                return f"SendHeartbeat: {self._request(request)}"
            case effects.CallPartitionsAssigned(_, partitions, _):
                return f"CallPartitionsAssigned: {self._partitions(partitions)}"
            case (
                effects.CallPartitionsRevoked(_, partitions)
                | effects.CallPartitionsLost(_, partitions)
                | effects.PauseFetching(partitions)
            ):
                return f"{type(effect).__name__}: {self._partitions(partitions)}"
            case _:
                return type(effect).__name__

    def _request(self, request: HeartbeatRequest) -> str:
        words = [f"epoch {request.member_epoch}"]
        if request.subscribed_topic_names:
            words.append(f"subscribed to {' '.join(map(self._short, request.subscribed_topic_names))}")
        if request.topic_partitions is not None:
            words.append(f"owns {self._by_id(request.topic_partitions)}")
        return ", ".join(words)

    def _response(self, response: HeartbeatResponse) -> str:
        if response.error_code:
            return heartbeat_error(response.error_code).name
        given = "" if response.assignment is None else f", given {self._by_id(response.assignment)}"
        return f"epoch {response.member_epoch}{given}"

    def _by_id(self, partitions: Mapping[UUID, Iterable[int]]) -> str:
        names = {topic_id: name for name, topic_id in self._ids.items()}
        return self._list((names[topic_id], each) for topic_id, ids in partitions.items() for each in ids)

    def _partitions(self, partitions: Iterable[TopicPartition]) -> str:
        return self._list((partition.topic, partition.partition) for partition in partitions)

    def _list(self, partitions: Iterable[tuple[str, int]]) -> str:
        return " ".join(f"{self._short(topic)}-{partition}" for topic, partition in partitions) or "nothing"

    def _short(self, topic: str) -> str:
        return topic.removeprefix(self._prefix)


def _says_nothing(effect: Effect) -> bool:
    if not isinstance(effect, effects.SendHeartbeat):
        return False
    request = effect.request
    changes = (request.subscribed_topic_names, request.subscribed_topic_regex, request.topic_partitions)
    return request.member_epoch > 0 and all(each is None for each in changes)

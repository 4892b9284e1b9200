"""Commits of offsets by a consumer without a subscription.

An Admin client can alter offsets, too, but librdkafka ends the process if the coordinator of the group moves meanwhile.
"""

from __future__ import annotations

import time

import confluent_kafka
from confluent_kafka import TopicPartition

from tests.support.time_limit import within

SECONDS = 60
"""Time within which a new cluster has coordinators."""


def commit_offset(address: str, group: str, offset: int, topic: str) -> None:
    """Commit an offset of the first partition of a topic for a group without members.

    Repeat it while the coordinator is not available.
    """
    consumer = confluent_kafka.Consumer({"bootstrap.servers": address, "group.id": group})
    places = [TopicPartition(topic, 0, offset)]
    end = time.monotonic() + SECONDS
    while True:
        try:
            within(f"the commit of {places}", lambda: consumer.commit(offsets=places, asynchronous=False))
            break
        except confluent_kafka.KafkaException:
            assert time.monotonic() < end
    within("closing a consumer", consumer.close)

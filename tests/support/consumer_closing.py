"""Closing of consumers that belong to a group.

If a rebalance event waits for a poll when `close` is called, librdkafka may wait for ever for an answer that only the
waiting thread could send, and confluent-kafka holds Python's interpreter lock meanwhile (librdkafka 2.16; its issues
4041 and 4884). So a consumer of confluent-kafka first leaves its group, and polls until it has left.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import confluent_kafka

from tests.support.time_limit import LIMIT, within

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["close_consumers"]

_KEEPS_ITS_ID = 0.5
"""Seconds after which a consumer counts as having left despite its member id, which members of KIP-848 groups keep."""


def close_consumers(consumers: Iterable[Any]) -> None:
    """Close consumers of confluent-kafka and other clients. Static members of confluent-kafka leave their groups, too.

    Args:
        consumers: Consumers that no other thread polls.

    Raises:
        TimeoutError: A consumer still owns partitions, or is not closed, after the time limit.
    """
    closing = list(consumers)
    remaining = [consumer for consumer in closing if isinstance(consumer, confluent_kafka.Consumer)]
    for consumer in remaining:
        consumer.unsubscribe()
    start = time.monotonic()
    while remaining:
        if time.monotonic() > start + LIMIT:
            raise TimeoutError(
                f"{len(remaining)} consumers still own partitions {LIMIT} s after they left their groups"
            )
        for consumer in remaining:
            consumer.poll(0.01)
        counts_id = time.monotonic() < start + _KEEPS_ITS_ID
        remaining = [each for each in remaining if each.assignment() or (counts_id and each.memberid())]
    for consumer in closing:
        within(f"closing {consumer}", consumer.close)

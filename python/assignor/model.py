"""The nouns of the field as plain data."""

from typing import NamedTuple

__all__ = ["TopicPartition"]


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int

"""Requests of Kafka on share and streams groups for kafka-python, which has no definitions of them.

kafka-python makes the classes of messages from JSON files in the form of Kafka's own message definitions. The files of
this folder have those of Kafka 4.3 without their comments.
"""

from __future__ import annotations

from typing import Any

from assignor.dependencies import dependency

with dependency("kafka", at_least="3.0"):
    from kafka.protocol.api_message import ApiMessage

__all__ = [
    "DescribeShareGroupOffsetsRequest",
    "DescribeShareGroupOffsetsResponse",
    "ShareGroupDescribeRequest",
    "ShareGroupDescribeResponse",
    "StreamsGroupDescribeRequest",
    "StreamsGroupDescribeResponse",
]


def _message(name: str) -> Any:
    """Return the class of a message from the file with its name."""
    return type(ApiMessage)(name, (ApiMessage,), {"__module__": __name__}, load_json=__name__)


ShareGroupDescribeRequest = _message("ShareGroupDescribeRequest")
ShareGroupDescribeResponse = _message("ShareGroupDescribeResponse")
"""State and members of share groups (key 77)."""

StreamsGroupDescribeRequest = _message("StreamsGroupDescribeRequest")
StreamsGroupDescribeResponse = _message("StreamsGroupDescribeResponse")
"""State, topology and members of streams groups (key 89)."""

DescribeShareGroupOffsetsRequest = _message("DescribeShareGroupOffsetsRequest")
DescribeShareGroupOffsetsResponse = _message("DescribeShareGroupOffsetsResponse")
"""Start offsets, and from version 1 the lag, of the partitions of share groups (key 90)."""

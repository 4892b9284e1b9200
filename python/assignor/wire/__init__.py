"""Decoders and encoders of the bytes that members of classic groups send: their subscriptions and assignments.

`decode_subscription`, `encode_subscription`, `decode_assignment` and `encode_assignment` read and write the messages of
consumers. The other functions read what Kafka's own applications write: the user data of Kafka Streams in such a
message, and the messages of Kafka Connect.
"""

from assignor.wire.connect import (
    ConnectAssignment,
    ConnectorTask,
    ConnectSubscription,
    decode_connect_assignment,
    decode_connect_subscription,
)
from assignor.wire.consumer import (
    DecodedAssignment,
    DecodedSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from assignor.wire.streams import (
    StreamsAssignment,
    StreamsHost,
    StreamsSubscription,
    StreamsTask,
    decode_streams_assignment,
    decode_streams_subscription,
)

__all__ = [
    "ConnectAssignment",
    "ConnectSubscription",
    "ConnectorTask",
    "DecodedAssignment",
    "DecodedSubscription",
    "StreamsAssignment",
    "StreamsHost",
    "StreamsSubscription",
    "StreamsTask",
    "decode_assignment",
    "decode_connect_assignment",
    "decode_connect_subscription",
    "decode_streams_assignment",
    "decode_streams_subscription",
    "decode_subscription",
    "encode_assignment",
    "encode_subscription",
]

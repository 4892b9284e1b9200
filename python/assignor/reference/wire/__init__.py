"""Decoders and encoders of the bytes that members of classic groups send: their subscriptions and assignments."""

from assignor.reference.wire.consumer import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)

__all__ = ["decode_assignment", "decode_subscription", "encode_assignment", "encode_subscription"]

"""Who gets which partition, exactly as Apache Kafka decides it."""

from assignor import errors

__all__ = ["errors"]

"""Specification of what Kafka defines in plain Python, structured like `src/`; the engine is compared with it."""

"""Tests of the adapters to Kafka clients."""

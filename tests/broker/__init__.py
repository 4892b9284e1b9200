"""Tests with a real Kafka broker, and the clients that they use."""

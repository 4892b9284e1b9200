"""A real Kafka broker for the tests, and the clients that speak to it."""

"""Simulation of consumer groups in virtual time: a model of Kafka's coordinator, and members on a faulty network."""

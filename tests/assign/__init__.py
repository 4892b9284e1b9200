"""Tests of assignors, their input (groups, topics, subscriptions, columns), and the check of assignments."""

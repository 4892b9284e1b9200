"""Tests of range assignment: groups, topics, subscriptions, racks, and the checks of an assignment."""

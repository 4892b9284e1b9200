"""Tests of consumer lag."""

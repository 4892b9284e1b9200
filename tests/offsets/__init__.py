"""Tests of `__consumer_offsets` records."""

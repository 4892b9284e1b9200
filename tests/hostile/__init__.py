"""Tests of all rooms with hostile input: wrong values, sizes beyond memory, and threads."""

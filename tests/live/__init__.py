"""Tests of reading live clusters: with a real broker, and, for the parts without I/O, with the recorded fleet."""

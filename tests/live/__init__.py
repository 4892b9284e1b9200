"""Tests of reading live clusters: on a real broker, and the parts without I/O on the recorded fleet."""

"""Tests of the commands that compute something from their input, and of the examples in the pages about commands."""

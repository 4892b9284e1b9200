"""Engines, strategies, vector files and other helpers that several folders of tests use."""

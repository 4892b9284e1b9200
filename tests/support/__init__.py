"""Engines, drawn groups, vector files and other support that several rooms of tests use."""

"""Tests of subscription patterns and topic names."""

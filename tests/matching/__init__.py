"""Tests of topic patterns."""

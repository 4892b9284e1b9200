"""Tests of the page with charts."""

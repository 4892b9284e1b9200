"""Tests of replay, group history, recordings and reports."""

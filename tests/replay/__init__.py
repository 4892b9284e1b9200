"""Tests of replayed logs, group history, recordings and reports."""

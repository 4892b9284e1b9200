"""Tests of plans: columns, differences, encodings."""

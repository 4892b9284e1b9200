"""Tests of plans: columns, differences, and encodings."""

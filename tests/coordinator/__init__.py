"""Tests of the classic group coordinator."""

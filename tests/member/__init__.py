"""Tests of the KIP-848 member."""

"""Assignors of the broker (KIP-848)."""

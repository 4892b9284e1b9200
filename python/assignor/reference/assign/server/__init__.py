"""Assignors of the broker (KIP-848, KIP-932)."""

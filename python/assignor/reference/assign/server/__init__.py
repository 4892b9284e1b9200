"""The assignors of the broker (KIP-848)."""

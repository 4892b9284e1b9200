"""Which topics a pattern means, in the dialect of who wrote it: the specification of `src/matching`."""

"""Topic patterns: which topic names a pattern matches, in a dialect. The specification of `src/matching`."""

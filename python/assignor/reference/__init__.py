"""Specification of the engine in plain Python, with the same files as `src/`; the engine is compared with it."""

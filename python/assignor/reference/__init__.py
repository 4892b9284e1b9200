"""Specification of the engine in plain Python, structured like `src/`; the engine is compared with it."""

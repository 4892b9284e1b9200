"""The specification of the engine in plain Python, file for file as `src/`: read it, step through it, compare with it."""

"""The specification of the engine in plain Python, file for file as `src/`: to read, step through and compare with."""

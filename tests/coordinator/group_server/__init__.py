"""A loopback server for one `Coordinator`, and consumers of three libraries that form groups through it."""

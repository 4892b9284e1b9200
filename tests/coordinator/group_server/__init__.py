"""A server on loopback around one `Coordinator`, and consumers of three libraries that form groups through it."""

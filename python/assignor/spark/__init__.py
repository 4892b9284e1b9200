"""Whole fleets of consumer groups on Spark: a local session, its Java, its progress."""

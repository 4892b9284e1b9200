"""Tests of the Spark pipeline and of `Fleet`."""

"""Tests of `Clusters`: batches of groups of a fleet."""

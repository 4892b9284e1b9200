"""Folder on the path of Spark's Python workers, which cannot import the other tests."""

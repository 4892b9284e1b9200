"""Tests of the sources of recordings: data directories, log segments, dumps and pasted text."""

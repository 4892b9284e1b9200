"""Tests of the batch verbs over fleets of groups."""

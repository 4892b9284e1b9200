"""Tests of the consumer's subscription state."""

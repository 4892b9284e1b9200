"""Tests of ConsumerProtocol messages, and fuzzing of all decoders and encoders."""

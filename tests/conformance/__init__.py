"""Comparisons with recorded answers (vectors) of Kafka's classes, of a real broker and of pattern engines."""

"""Comparisons with vectors that Apache Kafka's own classes and other clients' engines answered."""

"""Benchmarks and their workloads."""

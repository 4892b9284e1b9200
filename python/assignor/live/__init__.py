"""Readers of live clusters, through confluent-kafka (`pip install 'assignor[kafka]'`).

They change nothing on a cluster. Their consumers commit no offset and join no group: they assign partitions to
themselves.
"""

"""Recording of Kafka's own applications on real brokers: Kafka Streams, share consumers and Connect workers.

`python -m tests.broker.applications` writes `data/streams_connect_share` and what its clients said they own.
"""

"""Live clusters, read with confluent-kafka (`pip install 'assignor[kafka]'`): this room changes nothing on them.

It commits no offset and joins no group: its consumers assign partitions to themselves.
"""

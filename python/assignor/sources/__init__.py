"""What people have of a cluster, read as a recording: data directories and log segments of brokers, dumps, pasted text.

Each source becomes the folder of a recording (`assignor.cluster.folder`), so that all commands read it in the same way.
"""

"""Topic patterns: matching of topic names by the regular expressions of clients and of the broker."""

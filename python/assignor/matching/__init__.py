"""Matching of topic patterns and subscriptions against topic names.

| dialect | a pattern matches | used by |
|---|---|---|
| `java` | the whole name, by java.util.regex | the Java client |
| `re2j` | the whole name, by RE2/J | the broker, for members of the KIP-848 protocol |
| `librdkafka` | any part of the name, by POSIX extended regex | confluent-kafka |
| `python` | a prefix of the name, by `re.match` | kafka-python, aiokafka |

A pattern of `librdkafka` without a leading `^` is a literal topic name, and matches only this topic.

Patterns of clients match internal topics (`__consumer_offsets`, `__transaction_state`, `__share_group_state`) only if
`include_internal` is set. Patterns of the broker (`re2j`) always match them, and so do literal names of `librdkafka`.
"""

from __future__ import annotations

from assignor._core import TopicPattern
from assignor.matching.patterns import match_topics, resolve
from assignor.matching.topic_matcher import TopicMatcher

__all__ = ["TopicMatcher", "TopicPattern", "match_topics", "resolve"]

"""Match topic patterns and subscriptions against topic names.

| dialect | a pattern matches | who reads it so |
|---|---|---|
| `java` | the whole name, as java.util.regex | the Java client |
| `re2j` | the whole name, as RE2/J | the broker, for members of the KIP-848 protocol |
| `librdkafka` | anywhere in the name, as POSIX extended, if it begins with `^`; else a name | confluent-kafka |
| `python` | a prefix of the name, as `re.match` of CPython 3.11 | kafka-python, aiokafka |

Topics that the broker keeps for itself (`__consumer_offsets`, `__transaction_state`, `__share_group_state`) are left
out unless asked for, as clients do. The broker does not leave them out, and a name that is no pattern means itself.
"""

from __future__ import annotations

from assignor._core import TopicPattern
from assignor.matching.patterns import match_topics, resolve
from assignor.matching.topic_matcher import TopicMatcher

__all__ = ["TopicMatcher", "TopicPattern", "match_topics", "resolve"]

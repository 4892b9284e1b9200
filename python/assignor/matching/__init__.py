"""Match topic patterns and subscriptions against topic names.

| dialect | a pattern matches | who reads it so |
|---|---|---|
| `java` | the whole name, as java.util.regex | the Java client |
| `re2j` | the whole name, as RE2/J | the broker, for members of the KIP-848 protocol |
| `librdkafka` | anywhere in the name, as POSIX extended, if it begins with `^`; else a name | confluent-kafka |
| `python` | a prefix of the name, as `re.match` | kafka-python, aiokafka |

Internal topics (`__consumer_offsets`, `__transaction_state`, `__share_group_state`) match only if `include_internal` is
set, as in the clients. The broker does not exclude them, and a plain name matches itself.
"""

from __future__ import annotations

from assignor._core import TopicPattern
from assignor.matching.patterns import match_topics, resolve
from assignor.matching.topic_matcher import TopicMatcher

__all__ = ["TopicMatcher", "TopicPattern", "match_topics", "resolve"]

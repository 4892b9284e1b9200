"""Existing topics in the model of the coordinator, and the topics that match a pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from assignor import match_topics
from assignor.errors import InvalidPatternError, UnsupportedPatternError
from tests.member.simulation.admission import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.member.simulation.targets import Topic

__all__ = ["TopicsImage"]


@dataclass(slots=True)
class TopicsImage:
    """All topics.

    Attributes:
        topics: Topics by name.
        version: Number of changes.
        version_with_new_topics: Version of the last change that added a topic; only such a change expires patterns.
    """

    topics: Mapping[str, Topic] = field(default_factory=dict)
    version: int = 0
    version_with_new_topics: int = 0

    def change(self, topics: Mapping[str, Topic]) -> set[str]:
        """Replace the topics; return the names of new, changed and deleted topics."""
        before, self.topics = self.topics, dict(topics)
        self.version += 1
        known = {topic.id for topic in before.values()}
        if self.version == 1 or any(topic.id not in known for topic in topics.values()):
            self.version_with_new_topics = self.version
        return {name for name in before.keys() | topics.keys() if before.get(name) != topics.get(name)}

    def matching(self, pattern: str) -> frozenset[str]:
        """Return the topics that match a pattern; reject an invalid pattern."""
        try:
            return frozenset(match_topics(pattern, self.topics, dialect="re2j", include_internal=True))
        except (InvalidPatternError, UnsupportedPatternError) as error:
            message = f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {error}."
            raise RequestError(ErrorCode.invalid_regular_expression, message) from error

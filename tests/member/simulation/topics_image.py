"""The topics that there are, as the model of the coordinator sees them, and what patterns mean among them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from assignor import match_topics
from assignor.errors import InvalidPatternError, UnsupportedPatternError
from tests.member.simulation.admission import RefusalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.member.simulation.targets import Topic

__all__ = ["TopicsImage"]


@dataclass(slots=True)
class TopicsImage:
    """All topics.

    Attributes:
        topics: By name.
        version: Counts the changes.
        version_with_new_topics: The last that brought a topic; only such a one makes patterns be looked at anew.
    """

    topics: Mapping[str, Topic] = field(default_factory=dict)
    version: int = 0
    version_with_new_topics: int = 0

    def change(self, topics: Mapping[str, Topic]) -> set[str]:
        """Takes in what topics there are now; the names of those that are new, other ones or gone."""
        before, self.topics = self.topics, dict(topics)
        self.version += 1
        known = {topic.id for topic in before.values()}
        if self.version == 1 or any(topic.id not in known for topic in topics.values()):
            self.version_with_new_topics = self.version
        return {name for name in before.keys() | topics.keys() if before.get(name) != topics.get(name)}

    def matching(self, pattern: str) -> frozenset[str]:
        """The topics that a pattern means; one that is none is refused."""
        try:
            return frozenset(match_topics(pattern, self.topics, dialect="re2j", include_internal=True))
        except (InvalidPatternError, UnsupportedPatternError) as error:
            message = f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {error}."
            raise RefusalError(ErrorCode.invalid_regular_expression, message) from error

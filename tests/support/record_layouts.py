"""Layouts of the records in `__consumer_offsets`, as tables.

They follow Kafka 4.3.1's message definitions (coordinator-key and coordinator-value). Each key has one version, and
its string lengths are int16, not compact. Values are flexible (compact lengths, and tagged fields after each structure,
KIP-482) from the version that their layout names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["INTEGERS", "TYPES", "Array", "Field", "FieldType", "RecordLayout", "RecordType", "Struct"]

INTEGERS = {"int8": ("b", 1), "int16": ("h", 2), "uint16": ("H", 2), "int32": ("i", 4), "int64": ("q", 8)}
"""Layout (as in the module struct) and size in bytes of each kind of integer."""


@dataclass(frozen=True)
class Field:
    """Field: its name in Kafka's JSON, its kind, and the versions `since` to `until` that have it.

    A field with a `tag` is written in the section of tagged fields, unless its value is `default`.
    """

    name: str
    kind: FieldType
    since: int = 0
    until: int = 32_767
    nullable: bool = False
    tag: int | None = None
    default: Any = 0

    def is_in(self, version: int) -> bool:
        """Return True if the version has the field."""
        return self.since <= version <= self.until


@dataclass(frozen=True)
class Struct:
    """Structure: consecutive fields."""

    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Array:
    """Array of elements of one kind."""

    element: FieldType


FieldType = str | Struct | Array
"""Kind of a field: a structure, an array, a name in INTEGERS, or string, bytes or uuid."""


@dataclass(frozen=True)
class RecordLayout:
    """Layout of a record: the key's fields after the type, and the value's fields after the version.

    `newest` is the newest version of the value, `flexible` the first flexible one.
    """

    key: tuple[Field, ...]
    value: tuple[Field, ...]
    newest: int = 0
    flexible: int = 0


@dataclass(frozen=True)
class RecordType:
    """Record type: its name in CoordinatorRecordType, and its layout; None if Kafka 4.3.1 does not write the type."""

    name: str
    layout: RecordLayout | None = None


INT16S = Array("int16")
INT32S = Array("int32")
STRINGS = Array("string")


def nullable(name: str) -> Field:
    """Return a string field that may be null."""
    return Field(name, "string", nullable=True)


OFFSET_KEY = (Field("group", "string"), Field("topic", "string"), Field("partition", "int32"))
CLASSIC_GROUP_KEY = (Field("group", "string"),)
GROUP_KEY = (Field("groupId", "string"),)
MEMBER_KEY = (Field("groupId", "string"), Field("memberId", "string"))
PATTERN_KEY = (Field("groupId", "string"), Field("regularExpression", "string"))

LEGACY_OFFSET_COMMIT = (
    Field("offset", "int64"),
    Field("metadata", "string"),
    Field("commitTimestamp", "int64"),
)

OFFSET_COMMIT = (
    Field("offset", "int64"),
    Field("leaderEpoch", "int32", since=3),
    Field("metadata", "string"),
    Field("commitTimestamp", "int64"),
    Field("expireTimestamp", "int64", since=1, until=1),
    Field("topicId", "uuid", since=4, tag=0, default="AAAAAAAAAAAAAAAAAAAAAA"),
)

CLASSIC_MEMBER = Struct(
    (
        Field("memberId", "string"),
        Field("groupInstanceId", "string", since=3, nullable=True),
        Field("clientId", "string"),
        Field("clientHost", "string"),
        Field("rebalanceTimeout", "int32", since=1),
        Field("sessionTimeout", "int32"),
        Field("subscription", "bytes"),
        Field("assignment", "bytes"),
    )
)

GROUP_METADATA = (
    Field("protocolType", "string"),
    Field("generation", "int32"),
    nullable("protocol"),
    nullable("leader"),
    Field("currentStateTimestamp", "int64", since=2),
    Field("members", Array(CLASSIC_MEMBER)),
)

CONSUMER_GROUP_METADATA = (Field("epoch", "int32"), Field("metadataHash", "int64", tag=0))

PARTITION_RACKS = Struct((Field("partition", "int32"), Field("racks", STRINGS)))

TOPIC_METADATA = Struct(
    (
        Field("topicId", "uuid"),
        Field("topicName", "string"),
        Field("numPartitions", "int32"),
        Field("partitionMetadata", Array(PARTITION_RACKS)),
    )
)

CONSUMER_GROUP_PARTITION_METADATA = (Field("topics", Array(TOPIC_METADATA)),)

CLASSIC_PROTOCOL = Struct((Field("name", "string"), Field("metadata", "bytes")))

CLASSIC_MEMBER_METADATA = Struct(
    (Field("sessionTimeoutMs", "int32"), Field("supportedProtocols", Array(CLASSIC_PROTOCOL)))
)

CONSUMER_GROUP_MEMBER_METADATA = (
    nullable("instanceId"),
    nullable("rackId"),
    Field("clientId", "string"),
    Field("clientHost", "string"),
    Field("subscribedTopicNames", STRINGS),
    nullable("subscribedTopicRegex"),
    Field("rebalanceTimeoutMs", "int32"),
    nullable("serverAssignor"),
    Field("classicMemberMetadata", CLASSIC_MEMBER_METADATA, nullable=True, tag=0),
)

# Shared by the three kinds of group with a target assignment. KIP-1263 added the timestamp.
TARGET_ASSIGNMENT_METADATA = (Field("assignmentEpoch", "int32"), Field("assignmentTimestamp", "int64", tag=0))

TOPIC_PARTITIONS = Struct((Field("topicId", "uuid"), Field("partitions", INT32S)))

TARGET_ASSIGNMENT_MEMBER = (Field("topicPartitions", Array(TOPIC_PARTITIONS)),)

ASSIGNMENT_EPOCHS = Field("assignmentEpochs", INT32S, nullable=True, tag=0, default=[])

OWNED_PARTITIONS = Struct((Field("topicId", "uuid"), Field("partitions", INT32S), ASSIGNMENT_EPOCHS))

CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT = (
    Field("memberEpoch", "int32"),
    Field("previousMemberEpoch", "int32"),
    Field("state", "int8"),
    Field("assignedPartitions", Array(OWNED_PARTITIONS)),
    Field("partitionsPendingRevocation", Array(OWNED_PARTITIONS)),
)

SHARE_GROUP_MEMBER_METADATA = (
    nullable("rackId"),
    Field("clientId", "string"),
    Field("clientHost", "string"),
    Field("subscribedTopicNames", STRINGS),
)

SHARE_GROUP_METADATA = (Field("epoch", "int32"), Field("metadataHash", "int64"))

SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT = (
    Field("memberEpoch", "int32"),
    Field("previousMemberEpoch", "int32"),
    Field("state", "int8"),
    Field("assignedPartitions", Array(TOPIC_PARTITIONS)),
)

SHARE_TOPIC = Struct((Field("topicId", "uuid"), Field("topicName", "string")))

SHARE_TOPIC_PARTITIONS = Struct((*SHARE_TOPIC.fields, Field("partitions", INT32S)))

SHARE_GROUP_STATE_PARTITION_METADATA = (
    Field("initializingTopics", Array(SHARE_TOPIC_PARTITIONS)),
    Field("initializedTopics", Array(SHARE_TOPIC_PARTITIONS)),
    Field("deletingTopics", Array(SHARE_TOPIC)),
)

CONSUMER_GROUP_REGULAR_EXPRESSION = (
    Field("topics", STRINGS),
    Field("version", "int64"),
    Field("timestamp", "int64"),
)

KEY_VALUE = Struct((Field("key", "string"), Field("value", "string")))

STREAMS_GROUP_METADATA = (
    Field("epoch", "int32"),
    Field("metadataHash", "int64"),
    Field("validatedTopologyEpoch", "int32", tag=0, default=-1),
    Field("lastAssignmentConfigs", Array(KEY_VALUE), nullable=True, tag=1, default=[]),
)

ENDPOINT = Struct((Field("host", "string"), Field("port", "uint16")))

STREAMS_GROUP_MEMBER_METADATA = (
    nullable("instanceId"),
    nullable("rackId"),
    Field("clientId", "string"),
    Field("clientHost", "string"),
    Field("rebalanceTimeoutMs", "int32"),
    Field("topologyEpoch", "int32"),
    Field("processId", "string"),
    Field("userEndpoint", ENDPOINT, nullable=True),
    Field("clientTags", Array(KEY_VALUE)),
)

TASKS = Struct((Field("subtopologyId", "string"), Field("partitions", INT32S)))

STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER = (
    Field("activeTasks", Array(TASKS)),
    Field("standbyTasks", Array(TASKS)),
    Field("warmupTasks", Array(TASKS)),
)

OWNED_TASKS = Struct((*TASKS.fields, ASSIGNMENT_EPOCHS))

STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT = (
    Field("memberEpoch", "int32"),
    Field("previousMemberEpoch", "int32"),
    Field("state", "int8"),
    Field("activeTasks", Array(OWNED_TASKS)),
    Field("standbyTasks", Array(OWNED_TASKS)),
    Field("warmupTasks", Array(OWNED_TASKS)),
    Field("activeTasksPendingRevocation", Array(OWNED_TASKS)),
    Field("standbyTasksPendingRevocation", Array(OWNED_TASKS)),
    Field("warmupTasksPendingRevocation", Array(OWNED_TASKS)),
)

INTERNAL_TOPIC = Struct(
    (
        Field("name", "string"),
        Field("partitions", "int32"),
        Field("replicationFactor", "int16"),
        Field("topicConfigs", Array(KEY_VALUE)),
    )
)

COPARTITION_GROUP = Struct(
    (
        Field("sourceTopics", INT16S),
        Field("sourceTopicRegex", INT16S),
        Field("repartitionSourceTopics", INT16S),
    )
)

SUBTOPOLOGY = Struct(
    (
        Field("subtopologyId", "string"),
        Field("sourceTopics", STRINGS),
        Field("sourceTopicRegex", STRINGS),
        Field("stateChangelogTopics", Array(INTERNAL_TOPIC)),
        Field("repartitionSinkTopics", STRINGS),
        Field("repartitionSourceTopics", Array(INTERNAL_TOPIC)),
        Field("copartitionGroups", Array(COPARTITION_GROUP)),
    )
)

STREAMS_GROUP_TOPOLOGY = (Field("epoch", "int32"), Field("subtopologies", Array(SUBTOPOLOGY)))

TYPES = {
    0: RecordType("LEGACY_OFFSET_COMMIT", RecordLayout(OFFSET_KEY, LEGACY_OFFSET_COMMIT, flexible=1)),
    1: RecordType("OFFSET_COMMIT", RecordLayout(OFFSET_KEY, OFFSET_COMMIT, newest=4, flexible=4)),
    2: RecordType("GROUP_METADATA", RecordLayout(CLASSIC_GROUP_KEY, GROUP_METADATA, newest=4, flexible=4)),
    3: RecordType("CONSUMER_GROUP_METADATA", RecordLayout(GROUP_KEY, CONSUMER_GROUP_METADATA)),
    4: RecordType("CONSUMER_GROUP_PARTITION_METADATA", RecordLayout(GROUP_KEY, CONSUMER_GROUP_PARTITION_METADATA)),
    5: RecordType("CONSUMER_GROUP_MEMBER_METADATA", RecordLayout(MEMBER_KEY, CONSUMER_GROUP_MEMBER_METADATA)),
    6: RecordType("CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA", RecordLayout(GROUP_KEY, TARGET_ASSIGNMENT_METADATA)),
    7: RecordType("CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER", RecordLayout(MEMBER_KEY, TARGET_ASSIGNMENT_MEMBER)),
    8: RecordType(
        "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT", RecordLayout(MEMBER_KEY, CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT)
    ),
    9: RecordType("SHARE_GROUP_PARTITION_METADATA"),
    10: RecordType("SHARE_GROUP_MEMBER_METADATA", RecordLayout(MEMBER_KEY, SHARE_GROUP_MEMBER_METADATA)),
    11: RecordType("SHARE_GROUP_METADATA", RecordLayout(GROUP_KEY, SHARE_GROUP_METADATA)),
    12: RecordType("SHARE_GROUP_TARGET_ASSIGNMENT_METADATA", RecordLayout(GROUP_KEY, TARGET_ASSIGNMENT_METADATA)),
    13: RecordType("SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER", RecordLayout(MEMBER_KEY, TARGET_ASSIGNMENT_MEMBER)),
    14: RecordType(
        "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT", RecordLayout(MEMBER_KEY, SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT)
    ),
    15: RecordType(
        "SHARE_GROUP_STATE_PARTITION_METADATA", RecordLayout(GROUP_KEY, SHARE_GROUP_STATE_PARTITION_METADATA)
    ),
    16: RecordType("CONSUMER_GROUP_REGULAR_EXPRESSION", RecordLayout(PATTERN_KEY, CONSUMER_GROUP_REGULAR_EXPRESSION)),
    17: RecordType("STREAMS_GROUP_METADATA", RecordLayout(GROUP_KEY, STREAMS_GROUP_METADATA)),
    18: RecordType("STREAMS_GROUP_PARTITION_METADATA"),
    19: RecordType("STREAMS_GROUP_MEMBER_METADATA", RecordLayout(MEMBER_KEY, STREAMS_GROUP_MEMBER_METADATA)),
    20: RecordType("STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA", RecordLayout(GROUP_KEY, TARGET_ASSIGNMENT_METADATA)),
    21: RecordType(
        "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER", RecordLayout(MEMBER_KEY, STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER)
    ),
    22: RecordType(
        "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT", RecordLayout(MEMBER_KEY, STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT)
    ),
    23: RecordType("STREAMS_GROUP_TOPOLOGY", RecordLayout(GROUP_KEY, STREAMS_GROUP_TOPOLOGY)),
    24: RecordType("STREAMS_GROUP_TARGET_ASSIGNMENT_RESOLVED_TOPIC_IDS"),
}
"""All record types with a name, by the int16 at the start of the key."""

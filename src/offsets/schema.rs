//! Layouts of the records in `__consumer_offsets`, as tables.
//!
//! They follow Kafka 4.3.1's message definitions (`coordinator-key` and `coordinator-value`). Each key has one version, and
//! its string lengths are int16, not compact. Values are *flexible* (compact lengths, and tagged fields after each structure, KIP-482)
//! from the version that their layout names.

/// Kind of a field.
#[derive(Debug, Clone, Copy)]
pub enum FieldType {
    /// int8.
    Int8,
    /// int16.
    Int16,
    /// uint16.
    Uint16,
    /// int32.
    Int32,
    /// int64.
    Int64,
    /// UTF-8 text.
    String,
    /// A byte array.
    Bytes,
    /// Sixteen bytes.
    Uuid,
    /// Consecutive fields.
    Struct(&'static [Field]),
    /// Elements of one kind.
    Array(&'static FieldType),
}

/// Field of a key, a value, or a nested structure.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The name in Kafka's JSON.
    pub name: &'static str,
    /// The kind.
    pub kind: FieldType,
    /// The first version with the field.
    pub since: i16,
    /// The last version with the field.
    pub until: i16,
    /// True if the field may be null.
    pub nullable: bool,
    /// The tag, if the field is written in the section of tagged fields.
    pub tag: Option<i32>,
    /// The default of a tagged integer, which is not written.
    pub default: i64,
}

impl Field {
    const fn since(mut self, version: i16) -> Self {
        self.since = version;
        self
    }

    const fn only_in(mut self, version: i16) -> Self {
        self.since = version;
        self.until = version;
        self
    }

    const fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }

    const fn tagged(mut self, tag: i32) -> Self {
        self.tag = Some(tag);
        self
    }

    const fn or(mut self, default: i64) -> Self {
        self.default = default;
        self
    }

    /// Return true if a version has the field.
    #[must_use]
    pub const fn is_in(&self, version: i16) -> bool {
        self.since <= version && version <= self.until
    }
}

/// Layout of a record type.
#[derive(Debug, Clone, Copy)]
pub struct RecordLayout {
    /// The fields of the key, after the int16 type.
    pub key: &'static [Field],
    /// The fields of the value, after the int16 version.
    pub value: &'static [Field],
    /// The newest version of the value.
    pub newest: i16,
    /// The first flexible version of the value; above `newest` if no version is flexible.
    pub flexible: i16,
}

/// Record type.
#[derive(Debug, Clone, Copy)]
pub struct RecordType {
    /// The int16 at the start of the key.
    pub number: i16,
    /// Kafka's name (`CoordinatorRecordType`).
    pub name: &'static str,
    /// The layout; None if Kafka 4.3.1 does not write the type.
    pub layout: Option<RecordLayout>,
}

/// Return the record type with the given number; None if Kafka has no name for the number.
#[must_use]
pub fn record_type(number: i16) -> Option<&'static RecordType> {
    TYPES.iter().find(|record_type| record_type.number == number)
}

const fn field(name: &'static str, kind: FieldType) -> Field {
    Field { name, kind, since: 0, until: i16::MAX, nullable: false, tag: None, default: 0 }
}

const fn known(number: i16, name: &'static str, key: &'static [Field], value: &'static [Field]) -> RecordType {
    RecordType { number, name, layout: Some(RecordLayout { key, value, newest: 0, flexible: 0 }) }
}

const fn classic(
    number: i16,
    name: &'static str,
    key: &'static [Field],
    value: &'static [Field],
    newest: i16,
) -> RecordType {
    RecordType { number, name, layout: Some(RecordLayout { key, value, newest, flexible: 4 }) }
}

const fn named(number: i16, name: &'static str) -> RecordType {
    RecordType { number, name, layout: None }
}

use FieldType::{Array, Bytes, Int8, Int16, Int32, Int64, String, Struct, Uint16, Uuid};

const INT32S: FieldType = Array(&Int32);
const INT16S: FieldType = Array(&Int16);
const STRINGS: FieldType = Array(&String);

const OFFSET_KEY: &[Field] = &[field("group", String), field("topic", String), field("partition", Int32)];
const CLASSIC_GROUP_KEY: &[Field] = &[field("group", String)];
const GROUP_KEY: &[Field] = &[field("groupId", String)];
const MEMBER_KEY: &[Field] = &[field("groupId", String), field("memberId", String)];
const PATTERN_KEY: &[Field] = &[field("groupId", String), field("regularExpression", String)];

const LEGACY_OFFSET_COMMIT: &[Field] =
    &[field("offset", Int64), field("metadata", String), field("commitTimestamp", Int64)];

const OFFSET_COMMIT: &[Field] = &[
    field("offset", Int64),
    field("leaderEpoch", Int32).since(3),
    field("metadata", String),
    field("commitTimestamp", Int64),
    field("expireTimestamp", Int64).only_in(1),
    field("topicId", Uuid).since(4).tagged(0),
];

const CLASSIC_MEMBER: FieldType = Struct(&[
    field("memberId", String),
    field("groupInstanceId", String).since(3).nullable(),
    field("clientId", String),
    field("clientHost", String),
    field("rebalanceTimeout", Int32).since(1),
    field("sessionTimeout", Int32),
    field("subscription", Bytes),
    field("assignment", Bytes),
]);

const GROUP_METADATA: &[Field] = &[
    field("protocolType", String),
    field("generation", Int32),
    field("protocol", String).nullable(),
    field("leader", String).nullable(),
    field("currentStateTimestamp", Int64).since(2),
    field("members", Array(&CLASSIC_MEMBER)),
];

const CONSUMER_GROUP_METADATA: &[Field] = &[field("epoch", Int32), field("metadataHash", Int64).tagged(0)];

const PARTITION_RACKS: FieldType = Struct(&[field("partition", Int32), field("racks", STRINGS)]);

const TOPIC_METADATA: FieldType = Struct(&[
    field("topicId", Uuid),
    field("topicName", String),
    field("numPartitions", Int32),
    field("partitionMetadata", Array(&PARTITION_RACKS)),
]);

const CONSUMER_GROUP_PARTITION_METADATA: &[Field] = &[field("topics", Array(&TOPIC_METADATA))];

const CLASSIC_PROTOCOL: FieldType = Struct(&[field("name", String), field("metadata", Bytes)]);

const CLASSIC_MEMBER_METADATA: FieldType =
    Struct(&[field("sessionTimeoutMs", Int32), field("supportedProtocols", Array(&CLASSIC_PROTOCOL))]);

const CONSUMER_GROUP_MEMBER_METADATA: &[Field] = &[
    field("instanceId", String).nullable(),
    field("rackId", String).nullable(),
    field("clientId", String),
    field("clientHost", String),
    field("subscribedTopicNames", STRINGS),
    field("subscribedTopicRegex", String).nullable(),
    field("rebalanceTimeoutMs", Int32),
    field("serverAssignor", String).nullable(),
    field("classicMemberMetadata", CLASSIC_MEMBER_METADATA).nullable().tagged(0),
];

/// Fields of consumer, share and streams groups. KIP-1263 adds the time of the target assignment.
const TARGET_ASSIGNMENT_METADATA: &[Field] =
    &[field("assignmentEpoch", Int32), field("assignmentTimestamp", Int64).tagged(0)];

const TOPIC_PARTITIONS: FieldType = Struct(&[field("topicId", Uuid), field("partitions", INT32S)]);

const TARGET_ASSIGNMENT_MEMBER: &[Field] = &[field("topicPartitions", Array(&TOPIC_PARTITIONS))];

const OWNED_PARTITIONS: FieldType = Struct(&[
    field("topicId", Uuid),
    field("partitions", INT32S),
    field("assignmentEpochs", INT32S).nullable().tagged(0),
]);

const CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: &[Field] = &[
    field("memberEpoch", Int32),
    field("previousMemberEpoch", Int32),
    field("state", Int8),
    field("assignedPartitions", Array(&OWNED_PARTITIONS)),
    field("partitionsPendingRevocation", Array(&OWNED_PARTITIONS)),
];

const SHARE_GROUP_MEMBER_METADATA: &[Field] = &[
    field("rackId", String).nullable(),
    field("clientId", String),
    field("clientHost", String),
    field("subscribedTopicNames", STRINGS),
];

const SHARE_GROUP_METADATA: &[Field] = &[field("epoch", Int32), field("metadataHash", Int64)];

const SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: &[Field] = &[
    field("memberEpoch", Int32),
    field("previousMemberEpoch", Int32),
    field("state", Int8),
    field("assignedPartitions", Array(&TOPIC_PARTITIONS)),
];

const SHARE_TOPIC: FieldType = Struct(&[field("topicId", Uuid), field("topicName", String)]);

const SHARE_TOPIC_PARTITIONS: FieldType =
    Struct(&[field("topicId", Uuid), field("topicName", String), field("partitions", INT32S)]);

const SHARE_GROUP_STATE_PARTITION_METADATA: &[Field] = &[
    field("initializingTopics", Array(&SHARE_TOPIC_PARTITIONS)),
    field("initializedTopics", Array(&SHARE_TOPIC_PARTITIONS)),
    field("deletingTopics", Array(&SHARE_TOPIC)),
];

const CONSUMER_GROUP_REGULAR_EXPRESSION: &[Field] =
    &[field("topics", STRINGS), field("version", Int64), field("timestamp", Int64)];

const KEY_VALUE: FieldType = Struct(&[field("key", String), field("value", String)]);

const STREAMS_GROUP_METADATA: &[Field] = &[
    field("epoch", Int32),
    field("metadataHash", Int64),
    field("validatedTopologyEpoch", Int32).tagged(0).or(-1),
    field("lastAssignmentConfigs", Array(&KEY_VALUE)).nullable().tagged(1),
];

const ENDPOINT: FieldType = Struct(&[field("host", String), field("port", Uint16)]);

const STREAMS_GROUP_MEMBER_METADATA: &[Field] = &[
    field("instanceId", String).nullable(),
    field("rackId", String).nullable(),
    field("clientId", String),
    field("clientHost", String),
    field("rebalanceTimeoutMs", Int32),
    field("topologyEpoch", Int32),
    field("processId", String),
    field("userEndpoint", ENDPOINT).nullable(),
    field("clientTags", Array(&KEY_VALUE)),
];

const TASKS: FieldType = Struct(&[field("subtopologyId", String), field("partitions", INT32S)]);

const STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: &[Field] =
    &[field("activeTasks", Array(&TASKS)), field("standbyTasks", Array(&TASKS)), field("warmupTasks", Array(&TASKS))];

const OWNED_TASKS: FieldType = Struct(&[
    field("subtopologyId", String),
    field("partitions", INT32S),
    field("assignmentEpochs", INT32S).nullable().tagged(0),
]);

const STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: &[Field] = &[
    field("memberEpoch", Int32),
    field("previousMemberEpoch", Int32),
    field("state", Int8),
    field("activeTasks", Array(&OWNED_TASKS)),
    field("standbyTasks", Array(&OWNED_TASKS)),
    field("warmupTasks", Array(&OWNED_TASKS)),
    field("activeTasksPendingRevocation", Array(&OWNED_TASKS)),
    field("standbyTasksPendingRevocation", Array(&OWNED_TASKS)),
    field("warmupTasksPendingRevocation", Array(&OWNED_TASKS)),
];

const INTERNAL_TOPIC: FieldType = Struct(&[
    field("name", String),
    field("partitions", Int32),
    field("replicationFactor", Int16),
    field("topicConfigs", Array(&KEY_VALUE)),
]);

const COPARTITION_GROUP: FieldType = Struct(&[
    field("sourceTopics", INT16S),
    field("sourceTopicRegex", INT16S),
    field("repartitionSourceTopics", INT16S),
]);

const SUBTOPOLOGY: FieldType = Struct(&[
    field("subtopologyId", String),
    field("sourceTopics", STRINGS),
    field("sourceTopicRegex", STRINGS),
    field("stateChangelogTopics", Array(&INTERNAL_TOPIC)),
    field("repartitionSinkTopics", STRINGS),
    field("repartitionSourceTopics", Array(&INTERNAL_TOPIC)),
    field("copartitionGroups", Array(&COPARTITION_GROUP)),
]);

const STREAMS_GROUP_TOPOLOGY: &[Field] = &[field("epoch", Int32), field("subtopologies", Array(&SUBTOPOLOGY))];

/// Every record type that has a name.
pub const TYPES: [RecordType; 25] = [
    classic(0, "LEGACY_OFFSET_COMMIT", OFFSET_KEY, LEGACY_OFFSET_COMMIT, 0),
    classic(1, "OFFSET_COMMIT", OFFSET_KEY, OFFSET_COMMIT, 4),
    classic(2, "GROUP_METADATA", CLASSIC_GROUP_KEY, GROUP_METADATA, 4),
    known(3, "CONSUMER_GROUP_METADATA", GROUP_KEY, CONSUMER_GROUP_METADATA),
    known(4, "CONSUMER_GROUP_PARTITION_METADATA", GROUP_KEY, CONSUMER_GROUP_PARTITION_METADATA),
    known(5, "CONSUMER_GROUP_MEMBER_METADATA", MEMBER_KEY, CONSUMER_GROUP_MEMBER_METADATA),
    known(6, "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA", GROUP_KEY, TARGET_ASSIGNMENT_METADATA),
    known(7, "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER", MEMBER_KEY, TARGET_ASSIGNMENT_MEMBER),
    known(8, "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT", MEMBER_KEY, CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT),
    named(9, "SHARE_GROUP_PARTITION_METADATA"),
    known(10, "SHARE_GROUP_MEMBER_METADATA", MEMBER_KEY, SHARE_GROUP_MEMBER_METADATA),
    known(11, "SHARE_GROUP_METADATA", GROUP_KEY, SHARE_GROUP_METADATA),
    known(12, "SHARE_GROUP_TARGET_ASSIGNMENT_METADATA", GROUP_KEY, TARGET_ASSIGNMENT_METADATA),
    known(13, "SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER", MEMBER_KEY, TARGET_ASSIGNMENT_MEMBER),
    known(14, "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT", MEMBER_KEY, SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT),
    known(15, "SHARE_GROUP_STATE_PARTITION_METADATA", GROUP_KEY, SHARE_GROUP_STATE_PARTITION_METADATA),
    known(16, "CONSUMER_GROUP_REGULAR_EXPRESSION", PATTERN_KEY, CONSUMER_GROUP_REGULAR_EXPRESSION),
    known(17, "STREAMS_GROUP_METADATA", GROUP_KEY, STREAMS_GROUP_METADATA),
    named(18, "STREAMS_GROUP_PARTITION_METADATA"),
    known(19, "STREAMS_GROUP_MEMBER_METADATA", MEMBER_KEY, STREAMS_GROUP_MEMBER_METADATA),
    known(20, "STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA", GROUP_KEY, TARGET_ASSIGNMENT_METADATA),
    known(21, "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER", MEMBER_KEY, STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER),
    known(22, "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT", MEMBER_KEY, STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT),
    known(23, "STREAMS_GROUP_TOPOLOGY", GROUP_KEY, STREAMS_GROUP_TOPOLOGY),
    named(24, "STREAMS_GROUP_TARGET_ASSIGNMENT_RESOLVED_TOPIC_IDS"),
];

#[cfg(test)]
mod tests {
    use super::super::decode::MAX_TAGS;
    use super::*;

    #[test]
    fn types_are_indexed_by_their_number() {
        for (index, record_type) in TYPES.iter().enumerate() {
            assert_eq!(usize::try_from(record_type.number), Ok(index));
        }
    }

    fn check_tags(fields: &[Field]) {
        let tags: Vec<_> = fields.iter().map(|field| field.tag).collect();
        assert!(tags.is_sorted(), "{tags:?}");
        assert!(tags.iter().flatten().all(|tag| (0..MAX_TAGS as i32).contains(tag)), "{tags:?}");
        for field in fields {
            match field.kind {
                Struct(inner) | Array(&Struct(inner)) => check_tags(inner),
                _ => {}
            }
        }
    }

    #[test]
    fn tagged_fields_are_last_in_order_and_at_most_two() {
        for layout in TYPES.iter().filter_map(|record_type| record_type.layout) {
            check_tags(layout.key);
            check_tags(layout.value);
        }
    }
}

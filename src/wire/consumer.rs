//! Decoder and encoder of `ConsumerProtocol` messages: subscription and assignment of a member.
//!
//! Messages begin with an int16 version and are never flexible. Each version of the subscription appends fields: owned
//! partitions in version 1 (KIP-429), the generation in version 2 (KIP-792), the rack in version 3 (KIP-881). All versions of the
//! assignment have the same body. Versions above 3 are read and written as 3, and a negative version is an error. Bytes after
//! the last field are ignored.
//!
//! The strict reader accepts the same messages as Kafka 4.4's `ConsumerProtocol`, with the same values. The tolerant reader also
//! accepts a subscription whose body is of an older version than its header, as some clients have written for years. Encoded
//! messages have the same bytes as those of `ConsumerProtocol`.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::bytes::{Int32s, Lengths, Reader, Writer, java_text, read_error, write_error};
use crate::error::WireError;
use crate::group::java_order;

/// Newest version whose fields are known.
pub const NEWEST_VERSION: i16 = 3;

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicPartitions {
    /// The topic's name, which may be the empty string.
    pub topic: String,
    /// Partition ids, in wire order.
    pub partitions: Vec<i32>,
}

/// Subscription of a member to encode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The version in the header, which may be above [`NEWEST_VERSION`].
    pub version: i16,
    /// Topics.
    pub topics: Vec<String>,
    /// User data of the member's assignor; empty and absent are different.
    pub user_data: Option<Vec<u8>>,
    /// Partitions that the member owns (since version 1).
    pub owned_partitions: Vec<TopicPartitions>,
    /// The generation of `owned_partitions` (since version 2); -1 if it is missing.
    pub generation_id: i32,
    /// The rack (since version 3).
    pub rack_id: Option<String>,
}

/// Assignment of a member to encode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The version in the header, which may be above [`NEWEST_VERSION`].
    pub version: i16,
    /// Partitions.
    pub assigned_partitions: Vec<TopicPartitions>,
    /// User data of the leader's assignor; empty and absent are different.
    pub user_data: Option<Vec<u8>>,
}

/// Valid list in a message, as its bytes: a count, then the elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    /// The list without elements.
    const EMPTY: Self = Self(&[0; 4]);

    /// Return the bytes.
    pub(crate) fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    fn iter<T: 'a>(self, mut read: impl FnMut(&mut Reader<'a>) -> Result<T, WireError>) -> impl Iterator<Item = T> {
        let mut reader = Reader::new(self.0);
        let count = reader.int32().unwrap_or(0);
        (0..count).map_while(move |_| read(&mut reader).ok())
    }

    /// Iterate over a list of topics, as the bytes that [`java_text`] decodes.
    pub fn topics(self) -> impl Iterator<Item = &'a [u8]> {
        self.iter(|reader| reader.string_bytes(Lengths::Fixed))
    }

    /// Return a list of topics and their partition ids.
    fn to_vec(self) -> Vec<TopicPartitions> {
        let entry = |(topic, ids): (&[u8], Int32s<'_>)| TopicPartitions {
            topic: java_text(topic).into_owned(),
            partitions: ids.iter().collect(),
        };
        self.topic_partitions().map(entry).collect()
    }

    /// Iterate over a list of topics, as the bytes that [`java_text`] decodes, and their partition ids. A message may contain a topic
    /// more than once.
    pub fn topic_partitions(self) -> impl Iterator<Item = (&'a [u8], Int32s<'a>)> {
        self.iter(read_topic_partitions)
    }
}

/// Decoded subscription of a member, whose fields borrow from the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedSubscription<'a> {
    /// The version in the header, which may be above [`NEWEST_VERSION`].
    pub version: i16,
    /// Topics.
    pub topics: Elements<'a>,
    /// User data of the member's assignor; empty and absent are different.
    pub user_data: Option<&'a [u8]>,
    /// Topics and partitions that the member owns (since version 1).
    pub owned_partitions: Elements<'a>,
    /// The generation of `owned_partitions` (since version 2); -1 if it is missing.
    pub generation_id: i32,
    /// The rack (since version 3), as UTF-8.
    rack_id: Option<&'a [u8]>,
    /// The version of the body, if it is older than the header's version requires. Only the tolerant reader accepts such a message.
    pub tolerated: Option<i16>,
}

impl<'a> DecodedSubscription<'a> {
    /// Return the version of the body.
    #[must_use]
    pub fn body_version(&self) -> i16 {
        self.tolerated.unwrap_or(self.version.min(NEWEST_VERSION))
    }

    /// Return the rack (since version 3).
    #[must_use]
    pub fn rack_id(&self) -> Option<Cow<'a, str>> {
        self.rack_id.map(java_text)
    }

    /// Return the member's rack; the empty string counts as no rack.
    #[must_use]
    pub fn rack(&self) -> Option<Cow<'a, str>> {
        self.rack_id().filter(|rack| !rack.is_empty())
    }

    /// Return the subscription to encode.
    #[must_use]
    pub fn to_subscription(&self) -> Subscription {
        Subscription {
            version: self.version,
            topics: self.topics.topics().map(|topic| java_text(topic).into_owned()).collect(),
            user_data: self.user_data.map(<[u8]>::to_vec),
            owned_partitions: self.owned_partitions.to_vec(),
            generation_id: self.generation_id,
            rack_id: self.rack_id().map(Cow::into_owned),
        }
    }
}

/// Decoded assignment of a member, whose fields borrow from the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedAssignment<'a> {
    /// The version in the header, which may be above [`NEWEST_VERSION`].
    pub version: i16,
    /// Topics and partitions.
    pub assigned_partitions: Elements<'a>,
    /// User data of the leader's assignor; empty and absent are different.
    pub user_data: Option<&'a [u8]>,
}

/// Decode a subscription; with `tolerant`, the body may be of an older version than the header.
///
/// # Errors
/// The bytes are not such a subscription.
pub fn decode_subscription(data: &[u8], tolerant: bool) -> Result<DecodedSubscription<'_>, WireError> {
    let mut reader = Reader::new(data);
    let version = read_version(&mut reader)?;
    let mut subscription = DecodedSubscription {
        version,
        topics: read_elements(&mut reader, 2, |reader| reader.string_bytes(Lengths::Fixed).map(|_| ()))
            .map_err(|e| e.within("topics"))?,
        user_data: read_user_data(&mut reader)?,
        owned_partitions: Elements::EMPTY,
        generation_id: -1,
        rack_id: None,
        tolerated: None,
    };
    for body in 1..=version.min(NEWEST_VERSION) {
        if tolerant && reader.remaining() == 0 {
            subscription.tolerated = Some(body - 1);
            break;
        }
        match body {
            1 => subscription.owned_partitions = read_partitions(&mut reader, "owned_partitions")?,
            2 => subscription.generation_id = reader.int32().map_err(|e| e.within("generation"))?,
            _ => subscription.rack_id = reader.nullable_string_bytes(Lengths::Fixed).map_err(|e| e.within("rack"))?,
        }
    }
    Ok(subscription)
}

/// Decode an assignment. All versions have the same body, so there is no tolerant mode.
///
/// # Errors
/// The bytes are not an assignment.
pub fn decode_assignment(data: &[u8]) -> Result<DecodedAssignment<'_>, WireError> {
    let mut reader = Reader::new(data);
    Ok(DecodedAssignment {
        version: read_version(&mut reader)?,
        assigned_partitions: read_partitions(&mut reader, "partitions")?,
        user_data: read_user_data(&mut reader)?,
    })
}

fn read_version(reader: &mut Reader<'_>) -> Result<i16, WireError> {
    let version = reader.int16().map_err(|e| e.within("version"))?;
    if version < 0 {
        return Err(read_error(0, format!("version {version} is negative")).within("version"));
    }
    Ok(version)
}

/// Read user data; as in Kafka, any negative length means null.
fn read_user_data<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, WireError> {
    reader.nullable_bytes(Lengths::Fixed).map_err(|e| e.within("user_data"))
}

/// Read a list whose elements have at least `least` bytes.
fn read_elements<'a>(
    reader: &mut Reader<'a>,
    least: usize,
    mut read: impl FnMut(&mut Reader<'a>) -> Result<(), WireError>,
) -> Result<Elements<'a>, WireError> {
    let start = reader.position();
    let count = reader.count(Lengths::Fixed, least)?;
    (0..count).try_for_each(|index| read(reader).map_err(|e| e.within_element(index)))?;
    Ok(Elements(reader.since(start)))
}

fn read_partitions<'a>(reader: &mut Reader<'a>, field: &str) -> Result<Elements<'a>, WireError> {
    read_elements(reader, 6, |reader| read_topic_partitions(reader).map(|_| ())).map_err(|e| e.within(field))
}

fn read_topic_partitions<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], Int32s<'a>), WireError> {
    let topic = reader.string_bytes(Lengths::Fixed).map_err(|e| e.within("topic"))?;
    let ids = reader.int32s(Lengths::Fixed).map_err(|e| e.within("partitions"))?;
    Ok((topic, ids))
}

/// Encode a subscription as Kafka's `serializeSubscription` does.
///
/// Topics are sorted in Java's order. Owned partitions are sorted by topic and id, and grouped by topic. Fields newer than the
/// version are left out.
///
/// # Errors
/// The version is negative, or a string is too long.
pub fn encode_subscription(subscription: &Subscription) -> Result<Vec<u8>, WireError> {
    let version = encoding_version(subscription.version)?;
    let mut topics: Vec<&str> = subscription.topics.iter().map(String::as_str).collect();
    topics.sort_by(|left, right| java_order(left, right));
    let owned = sorted(&subscription.owned_partitions);
    Writer::encode(|writer| {
        writer.int16(version);
        writer.count(topics.len()).map_err(|e| e.within("topics"))?;
        for (index, topic) in topics.iter().enumerate() {
            writer.string(topic).map_err(|e| e.within_element(index).within("topics"))?;
        }
        write_user_data(writer, subscription.user_data.as_deref())?;
        if version >= 1 {
            write_partitions(writer, &owned, "owned_partitions")?;
        }
        if version >= 2 {
            writer.int32(subscription.generation_id);
        }
        if version >= 3 {
            writer.nullable_string(subscription.rack_id.as_deref()).map_err(|e| e.within("rack"))?;
        }
        Ok(())
    })
}

/// Encode an assignment as Kafka's `serializeAssignment` does: grouped by topic, in order of first appearance.
///
/// # Errors
/// The version is negative, or a string is too long.
pub fn encode_assignment(assignment: &Assignment) -> Result<Vec<u8>, WireError> {
    let version = encoding_version(assignment.version)?;
    let partitions = grouped(&assignment.assigned_partitions);
    Writer::encode(|writer| {
        writer.int16(version);
        write_partitions(writer, &partitions, "partitions")?;
        write_user_data(writer, assignment.user_data.as_deref())
    })
}

/// A topic and its partition ids.
type GroupedPartitions<'a> = (&'a str, Vec<i32>);

/// Return the version to encode: `NEWEST_VERSION` if the given version is newer.
pub(crate) fn encoding_version(version: i16) -> Result<i16, WireError> {
    if version < 0 {
        return Err(write_error(format!("version {version} is negative")).within("version"));
    }
    Ok(version.min(NEWEST_VERSION))
}

fn sorted(entries: &[TopicPartitions]) -> Vec<GroupedPartitions<'_>> {
    let mut topics = grouped(entries);
    topics.sort_by(|left, right| java_order(left.0, right.0));
    for (_, ids) in &mut topics {
        ids.sort_unstable();
    }
    topics
}

/// Group partitions by topic, in order of first appearance; topics without ids are left out.
fn grouped(entries: &[TopicPartitions]) -> Vec<GroupedPartitions<'_>> {
    let mut topics: Vec<GroupedPartitions<'_>> = Vec::new();
    let mut places = FxHashMap::default();
    for entry in entries.iter().filter(|entry| !entry.partitions.is_empty()) {
        let place = *places.entry(entry.topic.as_str()).or_insert_with(|| {
            topics.push((&entry.topic, Vec::new()));
            topics.len() - 1
        });
        topics[place].1.extend_from_slice(&entry.partitions);
    }
    topics
}

fn write_partitions(writer: &mut Writer, topics: &[GroupedPartitions<'_>], field: &str) -> Result<(), WireError> {
    writer.count(topics.len()).map_err(|e| e.within(field))?;
    topics.iter().enumerate().try_for_each(|(index, topic)| {
        write_topic_partitions(writer, topic).map_err(|e| e.within_element(index).within(field))
    })
}

fn write_topic_partitions(writer: &mut Writer, (topic, ids): &GroupedPartitions<'_>) -> Result<(), WireError> {
    writer.string(topic).map_err(|e| e.within("topic"))?;
    writer.count(ids.len()).map_err(|e| e.within("partitions"))?;
    for id in ids {
        writer.int32(*id);
    }
    Ok(())
}

fn write_user_data(writer: &mut Writer, user_data: Option<&[u8]>) -> Result<(), WireError> {
    writer.nullable_bytes(user_data).map_err(|e| e.within("user_data"))
}

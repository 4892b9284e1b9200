//! Decoder of the user data of Kafka Streams on the classic protocol: what a member reports to the leader, and the tasks that it gets.
//!
//! The user data is that of a `ConsumerProtocol` subscription or assignment of the protocol `stream`. It begins with an int32 version, from
//! 1 to 11. Each version of the subscription appends or replaces fields; from version 7 on it has the sum of the offsets of each task
//! instead of lists of tasks. Bytes after the last field are ignored.
//!
//! Strings in an assignment are those of Java's `DataOutput`: topics and hosts in modified UTF-8, names of topologies in UTF-16. A
//! surrogate without its other half becomes U+FFFD.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::bytes::{Lengths, Reader, java_text, read_error};
use crate::error::WireError;

/// Newest known version.
pub const NEWEST_VERSION: i32 = 11;

/// Offset sum of a task that the member ran: it has the newest state.
pub const LATEST_OFFSET: i64 = -2;

/// Smallest size of a task id in bytes.
const TASK_BYTES: usize = 8;

/// Task of an application: a subtopology and a partition of its source topics.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId {
    /// The name of the topology (versions 10 and 11); almost always None.
    pub topology: Option<String>,
    /// The subtopology.
    pub subtopology: i32,
    /// The partition.
    pub partition: i32,
}

impl fmt::Display for TaskId {
    /// Write the name of the task as Kafka prints it, such as `0_3`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(topology) = &self.topology {
            write!(formatter, "{topology}__")?;
        }
        write!(formatter, "{}_{}", self.subtopology, self.partition)
    }
}

/// Topic and partition id.
pub type Partition = (Arc<str>, i32);

/// Instance of an application that answers queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The host name.
    pub host: Arc<str>,
    /// The port.
    pub port: i32,
}

/// User data of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamsSubscription {
    /// The version.
    pub version: i32,
    /// The newest version that the member knows (since version 3).
    pub latest_supported_version: Option<i32>,
    /// The process that the member belongs to. Each thread of a process is a member.
    pub process_id: [u8; 16],
    /// Tasks that the member ran.
    pub previous_active: Vec<TaskId>,
    /// Tasks whose state the process has on its disks, in addition to `previous_active`.
    pub previous_standby: Vec<TaskId>,
    /// Sum of the offsets of each task's changelogs (since version 7); `LATEST_OFFSET` for a task that the member ran.
    pub offset_sums: Vec<(TaskId, i64)>,
    /// Address at which the process answers queries, `host:port` (since version 2); None if it is empty.
    pub user_endpoint: Option<String>,
    /// Number that changes with each subscription so that its bytes differ (since version 8).
    pub unique_field: i8,
    /// Error of the member; 4 asks all processes to shut down (since version 9).
    pub error_code: i32,
    /// Tags of the process, such as its zone (since version 11).
    pub client_tags: Vec<(String, String)>,
}

/// User data of an assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamsAssignment {
    /// The version.
    pub version: i32,
    /// The newest version that all members know (since version 3).
    pub latest_supported_version: Option<i32>,
    /// The task of each assigned partition, in the order of topic and partition. A task with several source topics repeats.
    pub active_tasks: Vec<TaskId>,
    /// Standby tasks with their changelog partitions.
    pub standby_tasks: Vec<(TaskId, Vec<Partition>)>,
    /// Source partitions of the active tasks of each host (since version 2).
    pub partitions_by_host: Vec<(Host, Vec<Partition>)>,
    /// Partitions of the standby tasks of each host (since version 6).
    pub standby_partitions_by_host: Vec<(Host, Vec<Partition>)>,
    /// Error of the leader (since version 4).
    pub error_code: i32,
    /// Time in milliseconds since 1970 at which the member asks for the next rebalance (since version 7); None if it does not.
    pub next_rebalance_ms: Option<i64>,
}

/// Decode the user data of a subscription.
///
/// # Errors
/// The version is not known, or the bytes are not such user data.
pub fn decode_subscription(data: &[u8]) -> Result<StreamsSubscription, WireError> {
    let mut reader = Reader::new(data);
    let version = read_version(&mut reader)?;
    let latest = read_latest_version(&mut reader, version)?;
    if latest.is_some_and(|latest| latest < version) {
        let reason = format!("version {version} exceeds the newest version of the member, {}", latest.unwrap_or(0));
        return Err(read_error(4, reason).within("latest_supported_version"));
    }
    let mut found = StreamsSubscription {
        version,
        latest_supported_version: latest,
        process_id: reader.uuid().map_err(|e| e.within("process_id"))?,
        previous_active: Vec::new(),
        previous_standby: Vec::new(),
        offset_sums: Vec::new(),
        user_endpoint: None,
        unique_field: 0,
        error_code: 0,
        client_tags: Vec::new(),
    };
    if version <= 6 {
        found.previous_active = read_task_list(&mut reader, "previous_active")?;
        found.previous_standby = read_task_list(&mut reader, "previous_standby")?;
    }
    if version >= 2 {
        let bytes = reader.bytes(Lengths::Fixed).map_err(|e| e.within("user_endpoint"))?;
        found.user_endpoint = (!bytes.is_empty()).then(|| java_text(bytes).into_owned());
    }
    if version >= 7 {
        found.offset_sums = read_offset_sums(&mut reader, version).map_err(|e| e.within("offset_sums"))?;
        for (task, sum) in &found.offset_sums {
            let tasks = if *sum == LATEST_OFFSET { &mut found.previous_active } else { &mut found.previous_standby };
            tasks.push(task.clone());
        }
    }
    if version >= 8 {
        found.unique_field = reader.int8().map_err(|e| e.within("unique_field"))?;
    }
    if version >= 9 {
        found.error_code = reader.int32().map_err(|e| e.within("error_code"))?;
    }
    if version >= 11 {
        found.client_tags = read_list(&mut reader, 8, read_tag).map_err(|e| e.within("client_tags"))?;
    }
    Ok(found)
}

/// Decode the user data of an assignment.
///
/// # Errors
/// The version is not known, or the bytes are not such user data.
pub fn decode_assignment(data: &[u8]) -> Result<StreamsAssignment, WireError> {
    let mut reader = Reader::new(data);
    let reader = &mut reader;
    let version = read_version(reader)?;
    let mut texts = Texts::default();
    let mut found = StreamsAssignment {
        version,
        latest_supported_version: read_latest_version(reader, version)?,
        active_tasks: read_list(reader, TASK_BYTES, |reader| read_task(reader, version))
            .map_err(|e| e.within("active_tasks"))?,
        standby_tasks: read_list(reader, TASK_BYTES + 4, |reader| {
            let task = read_task(reader, version)?;
            Ok((task, read_named_partitions(reader, &mut texts)?))
        })
        .map_err(|e| e.within("standby_tasks"))?,
        partitions_by_host: Vec::new(),
        standby_partitions_by_host: Vec::new(),
        error_code: 0,
        next_rebalance_ms: None,
    };
    if let 2..=4 = version {
        found.partitions_by_host =
            read_hosts(reader, &mut texts, read_named_partitions).map_err(|e| e.within("partitions_by_host"))?;
    }
    if version >= 5 {
        let topics = read_dictionary(reader, &mut texts).map_err(|e| e.within("topics"))?;
        let mut read = |name: &str| {
            read_hosts(reader, &mut texts, |reader, _| read_numbered_partitions(reader, &topics))
                .map_err(|e| e.within(name))
        };
        found.partitions_by_host = read("partitions_by_host")?;
        if version >= 6 {
            found.standby_partitions_by_host = read("standby_partitions_by_host")?;
        }
    }
    if version >= 4 {
        found.error_code = reader.int32().map_err(|e| e.within("error_code"))?;
    }
    if version >= 7 {
        let next = reader.int64().map_err(|e| e.within("next_rebalance_ms"))?;
        found.next_rebalance_ms = Some(next).filter(|next| *next != i64::MAX);
    }
    Ok(found)
}

fn read_version(reader: &mut Reader<'_>) -> Result<i32, WireError> {
    let version = reader.int32().map_err(|e| e.within("version"))?;
    if !(1..=NEWEST_VERSION).contains(&version) {
        return Err(read_error(0, format!("user data version {version} is not known")).within("version"));
    }
    Ok(version)
}

fn read_latest_version(reader: &mut Reader<'_>, version: i32) -> Result<Option<i32>, WireError> {
    if version < 3 {
        return Ok(None);
    }
    reader.int32().map(Some).map_err(|e| e.within("latest_supported_version"))
}

/// Read a list whose elements have at least `least` bytes.
fn read_list<'a, T>(
    reader: &mut Reader<'a>,
    least: usize,
    mut read: impl FnMut(&mut Reader<'a>) -> Result<T, WireError>,
) -> Result<Vec<T>, WireError> {
    let count = reader.count(Lengths::Fixed, least)?;
    (0..count).map(|index| read(reader).map_err(|e| e.within_element(index))).collect()
}

/// Read task ids without names of topologies.
fn read_task_list(reader: &mut Reader<'_>, field: &str) -> Result<Vec<TaskId>, WireError> {
    read_list(reader, TASK_BYTES, |reader| read_task(reader, 1)).map_err(|e| e.within(field))
}

/// Read the id of a task in an assignment.
fn read_task(reader: &mut Reader<'_>, version: i32) -> Result<TaskId, WireError> {
    let subtopology = reader.int32().map_err(|e| e.within("subtopology"))?;
    let partition = reader.int32().map_err(|e| e.within("partition"))?;
    let topology = if version >= 10 { read_topology(reader).map_err(|e| e.within("topology"))? } else { None };
    Ok(TaskId { topology, subtopology, partition })
}

/// Read the name of a topology in UTF-16; a length of 0 or less means none.
fn read_topology(reader: &mut Reader<'_>) -> Result<Option<String>, WireError> {
    let start = reader.position();
    let length = reader.int32()?;
    if length <= 0 {
        return Ok(None);
    }
    let left = reader.remaining();
    let Some(size) = (length as usize).checked_mul(2).filter(|size| *size <= left) else {
        return Err(read_error(start, format!("{length} characters of 2 bytes do not fit in the {left} that remain")));
    };
    let units = reader.take(size)?.as_chunks().0.iter().map(|unit| u16::from_be_bytes(*unit));
    Ok(Some(from_utf16(units)))
}

fn read_offset_sums(reader: &mut Reader<'_>, version: i32) -> Result<Vec<(TaskId, i64)>, WireError> {
    if version >= 10 {
        return read_list(reader, 18, |reader| {
            let subtopology = reader.int32().map_err(|e| e.within("subtopology"))?;
            let (partition, sum) = read_partition_sum(reader)?;
            let topology = reader.nullable_string_bytes(Lengths::Fixed).map_err(|e| e.within("topology"))?;
            // Kafka takes an empty name as none.
            let topology = topology.filter(|bytes| !bytes.is_empty()).map(|bytes| java_text(bytes).into_owned());
            Ok((TaskId { topology, subtopology, partition }, sum))
        });
    }
    let mut found = Vec::new();
    let count = reader.count(Lengths::Fixed, 8)?;
    for index in 0..count {
        let subtopology = reader.int32().map_err(|e| e.within("subtopology").within_element(index))?;
        let sums = read_list(reader, 12, read_partition_sum);
        let sums = sums.map_err(|e| e.within("partitions").within_element(index))?;
        let task = |(partition, sum)| (TaskId { topology: None, subtopology, partition }, sum);
        found.extend(sums.into_iter().map(task));
    }
    Ok(found)
}

fn read_partition_sum(reader: &mut Reader<'_>) -> Result<(i32, i64), WireError> {
    let partition = reader.int32().map_err(|e| e.within("partition"))?;
    Ok((partition, reader.int64().map_err(|e| e.within("offset_sum"))?))
}

fn read_tag(reader: &mut Reader<'_>) -> Result<(String, String), WireError> {
    let mut text = |name: &str| {
        let bytes = reader.bytes(Lengths::Fixed).map_err(|e| e.within(name))?;
        Ok(java_text(bytes).into_owned())
    };
    Ok((text("key")?, text("value")?))
}

/// Texts of a message. Equal texts share memory, so a long text that repeats is stored once.
#[derive(Default)]
struct Texts<'a>(FxHashMap<&'a [u8], Arc<str>>);

impl<'a> Texts<'a> {
    /// Read text in modified UTF-8, as Java's `DataInput.readUTF` does.
    fn read(&mut self, reader: &mut Reader<'a>) -> Result<Arc<str>, WireError> {
        let start = reader.position();
        let size = usize::from(reader.uint16()?);
        let bytes = reader.take(size)?;
        if let Some(text) = self.0.get(bytes) {
            return Ok(Arc::clone(text));
        }
        let Some(text) = modified_utf8(bytes) else {
            return Err(read_error(start, "the text is not modified UTF-8".to_owned()));
        };
        let text: Arc<str> = text.into();
        self.0.insert(bytes, Arc::clone(&text));
        Ok(text)
    }
}

/// Decode modified UTF-8: each UTF-16 unit has one to three bytes. Return None for other bytes.
fn modified_utf8(bytes: &[u8]) -> Option<String> {
    if bytes.is_ascii() {
        return str::from_utf8(bytes).ok().map(str::to_owned);
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, ..] = rest {
        let (unit, size) = match rest {
            [0..0x80, ..] => (u16::from(*first), 1),
            [0xc0..0xe0, second @ 0x80..0xc0, ..] => (u16::from(first & 0x1f) << 6 | u16::from(second & 0x3f), 2),
            [0xe0..0xf0, second @ 0x80..0xc0, third @ 0x80..0xc0, ..] => {
                (u16::from(first & 0x0f) << 12 | u16::from(second & 0x3f) << 6 | u16::from(third & 0x3f), 3)
            }
            _ => return None,
        };
        units.push(unit);
        rest = &rest[size..];
    }
    Some(from_utf16(units.into_iter()))
}

fn from_utf16(units: impl Iterator<Item = u16>) -> String {
    char::decode_utf16(units).map(|found| found.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Read partitions that name their topics.
fn read_named_partitions<'a>(reader: &mut Reader<'a>, texts: &mut Texts<'a>) -> Result<Vec<Partition>, WireError> {
    let read = |reader: &mut Reader<'a>| {
        let topic = texts.read(reader).map_err(|e| e.within("topic"))?;
        Ok((topic, reader.int32().map_err(|e| e.within("partition"))?))
    };
    read_list(reader, 6, read).map_err(|e| e.within("partitions"))
}

/// Read the numbers of topics.
fn read_dictionary<'a>(reader: &mut Reader<'a>, texts: &mut Texts<'a>) -> Result<FxHashMap<i32, Arc<str>>, WireError> {
    let read = |reader: &mut Reader<'a>| {
        let number = reader.int32().map_err(|e| e.within("number"))?;
        Ok((number, texts.read(reader).map_err(|e| e.within("topic"))?))
    };
    Ok(read_list(reader, 6, read)?.into_iter().collect())
}

/// Read partitions whose topics are numbers of a dictionary.
fn read_numbered_partitions(
    reader: &mut Reader<'_>,
    topics: &FxHashMap<i32, Arc<str>>,
) -> Result<Vec<Partition>, WireError> {
    let read = |reader: &mut Reader<'_>| {
        let start = reader.position();
        let number = reader.int32().map_err(|e| e.within("topic"))?;
        let Some(topic) = topics.get(&number) else {
            return Err(read_error(start, format!("the topics have no number {number}")).within("topic"));
        };
        Ok((Arc::clone(topic), reader.int32().map_err(|e| e.within("partition"))?))
    };
    read_list(reader, 8, read).map_err(|e| e.within("partitions"))
}

/// Read hosts with their partitions.
fn read_hosts<'a>(
    reader: &mut Reader<'a>,
    texts: &mut Texts<'a>,
    mut read: impl FnMut(&mut Reader<'a>, &mut Texts<'a>) -> Result<Vec<Partition>, WireError>,
) -> Result<Vec<(Host, Vec<Partition>)>, WireError> {
    read_list(reader, 10, |reader| {
        let host = texts.read(reader).map_err(|e| e.within("host"))?;
        let port = reader.int32().map_err(|e| e.within("port"))?;
        Ok((Host { host, port }, read(reader, texts)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modified_utf8_has_surrogates_of_three_bytes_and_a_null_of_two() {
        assert_eq!(modified_utf8(b"a\xc0\x80\xc3\xa9\xe2\x82\xac").as_deref(), Some("a\0é€"));
        assert_eq!(modified_utf8(b"\xed\xa0\xbd\xed\xb8\x80").as_deref(), Some("😀"));
        assert_eq!(modified_utf8(b"\xed\xa0\xbdz").as_deref(), Some("\u{fffd}z"));
        for invalid in [b"\x80".as_slice(), b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98\x80", b"\xc3a"] {
            assert_eq!(modified_utf8(invalid), None, "{invalid:x?}");
        }
    }

    #[test]
    fn a_claimed_count_needs_the_bytes_of_its_elements() {
        let mut data = [0; 24];
        data[3] = 1;
        data[20..].copy_from_slice(&i32::MAX.to_be_bytes());
        let error = decode_subscription(&data).unwrap_err();
        assert_eq!((error.field.as_str(), error.offset), ("previous_active", Some(20)));
    }

    #[test]
    fn a_repeated_topic_is_stored_once() {
        let partition = [b"\0\x06orders".as_slice(), &[0; 4]].concat();
        let task = [&[0; 8], [0, 0, 0, 2].as_slice(), &partition, &partition].concat();
        let data = [[0, 0, 0, 1].as_slice(), &[0; 4], &[0, 0, 0, 1], &task].concat();
        let found = decode_assignment(&data).unwrap();
        let (_, partitions) = &found.standby_tasks[0];
        assert!(Arc::ptr_eq(&partitions[0].0, &partitions[1].0));
    }
}

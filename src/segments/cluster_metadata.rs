//! Decoder of the records of `__cluster_metadata` that say which topics and brokers there are. Clusters without `ZooKeeper` have this log.
//!
//! A value begins with three unsigned varints: the frame version, the type and the version. The fields follow, as in Kafka's message
//! definitions (`common/metadata/*.json` of `kafka-metadata`). Frame version 1 is that of Kafka 3.0 and newer, in which all versions
//! are flexible (KIP-482). Kafka 2.8 wrote frame version 0, in which only the record of a changed partition is flexible.

use std::borrow::Cow;

use crate::bytes::{Int32s, Lengths, Reader, java_text, read_error};
use crate::error::WireError;

/// Id of a topic.
pub type TopicId = [u8; 16];

/// Leader that a record of a changed partition names if the leader is the same as before.
const SAME_LEADER: i32 = -2;
/// The newest frame version that is known.
const NEWEST_FRAME: i32 = 1;
/// The largest type of Kafka 4.4. Types without a function to read them are skipped.
const NEWEST_TYPE: i32 = 28;

/// What a record says about topics, partitions and brokers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<'a> {
    /// A topic was created; records of its partitions follow.
    Topic {
        /// The id.
        id: TopicId,
        /// The name.
        name: Cow<'a, str>,
    },
    /// A topic was deleted, with its partitions.
    TopicRemoved {
        /// The id.
        id: TopicId,
    },
    /// A partition was created.
    Partition(Partition<'a>),
    /// A partition changed.
    PartitionChanged(Partition<'a>),
    /// A broker registered: it started.
    Broker {
        /// The broker, and its epoch.
        broker: Broker,
        /// The rack.
        rack: Option<Cow<'a, str>>,
        /// True if the broker cannot lead partitions, and clients do not see it.
        is_fenced: bool,
    },
    /// A broker was removed from the cluster.
    BrokerRemoved(Broker),
    /// A broker was fenced, because its session expired or it stopped.
    Fenced(Broker),
    /// A fenced broker became available.
    Unfenced(Broker),
    /// A transaction began (KIP-868): the records up to its end count together.
    TransactionBegan,
    /// A transaction ended: its records count.
    TransactionEnded,
    /// A transaction was aborted: its records do not count.
    TransactionAborted,
}

/// Partition, or the parts of it that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition<'a> {
    /// The topic.
    pub topic: TopicId,
    /// The id of the partition.
    pub id: i32,
    /// Brokers of the replicas; None if they did not change.
    pub replicas: Option<Int32s<'a>>,
    /// Brokers of the replicas that are in sync; None if they did not change.
    pub isr: Option<Int32s<'a>>,
    /// Broker of the leader, -1 for no leader; None if it did not change.
    pub leader: Option<i32>,
}

/// Broker with the epoch of its registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broker {
    /// The id.
    pub id: i32,
    /// The epoch: each start of the broker has a higher one.
    pub epoch: i64,
}

/// Decoded value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// The record changes topics, partitions or brokers.
    Change(Change<'a>),
    /// The record is about something else, such as a configuration.
    Other,
    /// The frame version, the type or its version is newer than those of Kafka 4.4.
    Newer {
        /// The frame version.
        frame: i32,
        /// The type.
        kind: i32,
        /// The version.
        version: i32,
    },
}

/// Decode the value of a record.
///
/// # Errors
/// The bytes end too early, bytes follow the fields, or a length or a number is invalid.
pub fn decode(value: &[u8]) -> Result<Decoded<'_>, WireError> {
    let mut reader = Reader::new(value);
    let mut header = |name: &str| {
        let start = reader.position();
        match reader.varint() {
            Ok(number) if number < 0 => Err(read_error(start, format!("{number} is negative")).within(name)),
            read => read.map_err(|e| e.within(name)),
        }
    };
    let (frame, kind, version) = (header("frameVersion")?, header("type")?, header("version")?);
    let Some(layout) = LAYOUTS.iter().find(|layout| layout.kind == kind) else {
        let is_known = frame <= NEWEST_FRAME && kind <= NEWEST_TYPE;
        return Ok(if is_known { Decoded::Other } else { Decoded::Newer { frame, kind, version } });
    };
    if frame > NEWEST_FRAME || version > layout.newest {
        return Ok(Decoded::Newer { frame, kind, version });
    }
    let is_flexible = frame > 0 || layout.kind == PARTITION_CHANGED;
    let mut body = Body { reader, version, is_frame_0: frame == 0, is_flexible };
    let change = (layout.read)(&mut body).map_err(|e| e.within(layout.name))?;
    let left = body.reader.remaining();
    if left > 0 {
        let reason = format!("{left} bytes follow the last field");
        return Err(read_error(body.reader.position(), reason).within(layout.name));
    }
    Ok(change.map_or(Decoded::Other, Decoded::Change))
}

/// Function that reads the fields of a type; it returns None if they change nothing of interest.
type Read = for<'a> fn(&mut Body<'a>) -> Result<Option<Change<'a>>, WireError>;

/// Type of record.
struct Layout {
    kind: i32,
    name: &'static str,
    newest: i32,
    read: Read,
}

const fn layout(kind: i32, name: &'static str, newest: i32, read: Read) -> Layout {
    Layout { kind, name, newest, read }
}

const PARTITION_CHANGED: i32 = 5;

const LAYOUTS: [Layout; 12] = [
    layout(0, "RegisterBrokerRecord", 4, |body| body.broker().map(Some)),
    layout(1, "UnregisterBrokerRecord", 0, |body| body.broker_and_epoch().map(Change::BrokerRemoved).map(Some)),
    layout(2, "TopicRecord", 0, |body| body.topic().map(Some)),
    layout(3, "PartitionRecord", 2, |body| body.partition().map(Change::Partition).map(Some)),
    layout(PARTITION_CHANGED, "PartitionChangeRecord", 2, |body| {
        body.changed_partition().map(Change::PartitionChanged).map(Some)
    }),
    layout(7, "FenceBrokerRecord", 0, |body| body.broker_and_epoch().map(Change::Fenced).map(Some)),
    layout(8, "UnfenceBrokerRecord", 0, |body| body.broker_and_epoch().map(Change::Unfenced).map(Some)),
    layout(9, "RemoveTopicRecord", 0, |body| {
        let id = body.topic_id()?;
        body.skip_tagged()?;
        Ok(Some(Change::TopicRemoved { id }))
    }),
    layout(17, "BrokerRegistrationChangeRecord", 3, |body| {
        let (broker, fenced) = body.changed_broker()?;
        Ok(match fenced {
            0 => None,
            1.. => Some(Change::Fenced(broker)),
            _ => Some(Change::Unfenced(broker)),
        })
    }),
    layout(23, "BeginTransactionRecord", 0, |body| body.skip_tagged().map(|()| Some(Change::TransactionBegan))),
    layout(24, "EndTransactionRecord", 0, |body| body.skip_tagged().map(|()| Some(Change::TransactionEnded))),
    layout(25, "AbortTransactionRecord", 0, |body| body.skip_tagged().map(|()| Some(Change::TransactionAborted))),
];

/// Fields of a record.
struct Body<'a> {
    reader: Reader<'a>,
    version: i32,
    is_frame_0: bool,
    is_flexible: bool,
}

impl<'a> Body<'a> {
    fn lengths(&self) -> Lengths {
        if self.is_flexible { Lengths::Compact } else { Lengths::Fixed }
    }

    /// Read a field, which has a name in errors.
    fn field<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Reader<'a>, Lengths) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        let lengths = self.lengths();
        read(&mut self.reader, lengths).map_err(|e| e.within(name))
    }

    fn int32(&mut self, name: &str) -> Result<i32, WireError> {
        self.field(name, |reader, _| reader.int32())
    }

    fn int64(&mut self, name: &str) -> Result<i64, WireError> {
        self.field(name, |reader, _| reader.int64())
    }

    fn bool(&mut self, name: &str) -> Result<bool, WireError> {
        self.field(name, |reader, _| reader.int8()).map(|byte| byte != 0)
    }

    fn topic_id(&mut self) -> Result<TopicId, WireError> {
        self.field("topicId", |reader, _| reader.uuid())
    }

    fn int32s(&mut self, name: &str) -> Result<Int32s<'a>, WireError> {
        self.field(name, Reader::int32s)
    }

    fn nullable_int32s(&mut self, name: &str) -> Result<Option<Int32s<'a>>, WireError> {
        self.field(name, |reader, lengths| {
            let before = reader.clone();
            if reader.nullable_count(lengths, size_of::<i32>())?.is_none() {
                return Ok(None);
            }
            *reader = before;
            reader.int32s(lengths).map(Some)
        })
    }

    /// Read an array, and drop its elements, each of at least `least` bytes.
    fn skip_array(
        &mut self,
        name: &str,
        least: usize,
        skip: impl Fn(&mut Self) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        let count = self.field(name, |reader, lengths| reader.count(lengths, least))?;
        for index in 0..count {
            skip(self).map_err(|e| e.within_element(index).within(name))?;
        }
        Ok(())
    }

    fn skip_string(&mut self, name: &str) -> Result<(), WireError> {
        self.field(name, Reader::string_bytes).map(drop)
    }

    fn skip_bytes(&mut self, name: &str, count: usize) -> Result<(), WireError> {
        self.field(name, |reader, _| reader.take(count)).map(drop)
    }

    /// Read the section of tagged fields. `read` gets the tag of each and returns false for a field that it does not read, which is
    /// then skipped. As in Kafka's readers, the size of a field that is read is ignored.
    fn tagged(&mut self, mut read: impl FnMut(&mut Self, i32) -> Result<bool, WireError>) -> Result<(), WireError> {
        if !self.is_flexible {
            return Ok(());
        }
        let number = |body: &mut Self| body.field("taggedFields", |reader, _| reader.varint());
        for _ in 0..number(self)? {
            let tag = number(self)?;
            let start = self.reader.position();
            let size = number(self)?;
            if read(self, tag)? {
                continue;
            }
            let Ok(size) = usize::try_from(size) else {
                return Err(read_error(start, format!("a size of {size} is negative")).within("taggedFields"));
            };
            self.skip_bytes("taggedFields", size)?;
        }
        Ok(())
    }

    fn skip_tagged(&mut self) -> Result<(), WireError> {
        self.tagged(|_, _| Ok(false))
    }

    fn topic(&mut self) -> Result<Change<'a>, WireError> {
        let name = self.field("name", Reader::string_bytes)?;
        let id = self.topic_id()?;
        self.skip_tagged()?;
        Ok(Change::Topic { id, name: java_text(name) })
    }

    fn partition(&mut self) -> Result<Partition<'a>, WireError> {
        let (id, topic) = (self.int32("partitionId")?, self.topic_id()?);
        let (replicas, isr) = (self.int32s("replicas")?, self.int32s("isr")?);
        for name in ["removingReplicas", "addingReplicas"] {
            if self.is_frame_0 {
                self.nullable_int32s(name)?;
            } else {
                self.int32s(name)?;
            }
        }
        let leader = self.int32("leader")?;
        self.int32("leaderEpoch")?;
        self.int32("partitionEpoch")?;
        if self.version >= 1 {
            self.skip_array("directories", 16, |body| body.skip_bytes("", 16))?;
        }
        self.skip_tagged()?;
        Ok(Partition { topic, id, replicas: Some(replicas), isr: Some(isr), leader: Some(leader) })
    }

    fn changed_partition(&mut self) -> Result<Partition<'a>, WireError> {
        let (id, topic) = (self.int32("partitionId")?, self.topic_id()?);
        let mut found = Partition { topic, id, replicas: None, isr: None, leader: None };
        self.tagged(|body, tag| {
            match tag {
                0 => found.isr = body.nullable_int32s("isr")?,
                1 => found.leader = Some(body.int32("leader")?).filter(|leader| *leader != SAME_LEADER),
                2 => found.replicas = body.nullable_int32s("replicas")?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(found)
    }

    fn broker(&mut self) -> Result<Change<'a>, WireError> {
        let id = self.int32("brokerId")?;
        if self.version >= 2 {
            self.bool("isMigratingZkBroker")?;
        }
        self.skip_bytes("incarnationId", 16)?;
        let epoch = self.int64("brokerEpoch")?;
        // The smallest size of a string is one byte if lengths are compact, which holds for both kinds of lengths.
        self.skip_array("endPoints", 1 + 1 + 2 + 2, |body| {
            body.skip_string("name")?;
            body.skip_string("host")?;
            body.skip_bytes("port", 2)?;
            body.skip_bytes("securityProtocol", 2)?;
            body.skip_tagged()
        })?;
        self.skip_array("features", 1 + 2 + 2, |body| {
            body.skip_string("name")?;
            body.skip_bytes("minSupportedVersion", 2)?;
            body.skip_bytes("maxSupportedVersion", 2)?;
            body.skip_tagged()
        })?;
        let rack = self.field("rack", Reader::nullable_string_bytes)?;
        let is_fenced = if self.is_frame_0 { true } else { self.bool("fenced")? };
        if self.version >= 1 {
            self.bool("inControlledShutdown")?;
        }
        self.skip_tagged()?;
        Ok(Change::Broker { broker: Broker { id, epoch }, rack: rack.map(java_text), is_fenced })
    }

    fn broker_and_epoch(&mut self) -> Result<Broker, WireError> {
        let broker = Broker { id: self.int32("brokerId")?, epoch: self.int64("brokerEpoch")? };
        self.skip_tagged()?;
        Ok(broker)
    }

    /// Read a changed broker: 1 if it was fenced, -1 if it was unfenced, 0 if neither.
    fn changed_broker(&mut self) -> Result<(Broker, i8), WireError> {
        let broker = Broker { id: self.int32("brokerId")?, epoch: self.int64("brokerEpoch")? };
        let mut fenced = 0;
        self.tagged(|body, tag| {
            if tag == 0 {
                fenced = body.field("fenced", |reader, _| reader.int8())?;
            }
            Ok(tag == 0)
        })?;
        Ok((broker, fenced))
    }
}

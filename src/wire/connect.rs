//! Decoder of the messages of Kafka Connect: what a worker reports to the leader, and the connectors and tasks that it gets.
//!
//! The messages are the blobs of members of a group of protocol type `connect`. They begin with an int16 version: 0 for the protocol
//! `default`, whose rebalances stop all tasks; 1 for `compatible` and 2 for `sessioned`, whose rebalances are incremental. Versions above 2
//! are read as 2, and a negative version is an error. Bytes after the last field are ignored, and since version 1 the last fields may be
//! missing.
//!
//! In an incremental protocol, an assignment has only what changes. After the rebalance, a worker runs what it ran when it joined, without
//! what the assignment revokes, and what the assignment adds.

use std::fmt;
use std::sync::Arc;

use crate::bytes::{Lengths, Reader, java_text, read_error};
use crate::error::WireError;

/// Task number that stands for the connector itself.
const CONNECTOR: i32 = -1;

/// Task of a connector.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectorTask {
    /// The name of the connector. The tasks of one connector in a message share it.
    pub connector: Arc<str>,
    /// The number of the task.
    pub task: i32,
}

impl fmt::Display for ConnectorTask {
    /// Write the name of the task as Kafka prints it, such as `orders-0`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.connector, self.task)
    }
}

/// Connectors and tasks, in wire order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectorsAndTasks {
    /// Names of the connectors that a worker runs itself.
    pub connectors: Vec<Arc<str>>,
    /// Tasks of connectors, which may run on other workers.
    pub tasks: Vec<ConnectorTask>,
}

/// State of a worker when it joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectSubscription {
    /// The version.
    pub version: i16,
    /// The address at which the worker accepts requests.
    pub url: String,
    /// The newest offset of the topic of configurations that the worker knows.
    pub config_offset: i64,
    /// The assignment that the worker has (since version 1); None if it has none.
    pub owned: Option<ConnectAssignment>,
}

/// Assignment of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectAssignment {
    /// The version.
    pub version: i16,
    /// Error of the leader; 1 if workers know different configurations, so that nothing is assigned.
    pub error: i16,
    /// Member id of the leader.
    pub leader: String,
    /// The leader's address.
    pub leader_url: String,
    /// The offset of the configurations for which the leader computed the assignment.
    pub config_offset: i64,
    /// What the worker gets: all of its connectors and tasks in version 0, the new ones since version 1.
    pub assigned: ConnectorsAndTasks,
    /// What the worker has to give up (since version 1).
    pub revoked: ConnectorsAndTasks,
    /// Milliseconds after which the worker joins again (since version 1); 0 if there is no such rebalance.
    pub delay_ms: i32,
}

/// Decode the state of a worker.
///
/// # Errors
/// The bytes are not such a message.
pub fn decode_subscription(data: &[u8]) -> Result<ConnectSubscription, WireError> {
    let mut reader = Reader::new(data);
    let version = read_version(&mut reader)?;
    let url = read_text(&mut reader, "url")?;
    let config_offset = reader.int64().map_err(|e| e.within("config_offset"))?;
    let mut owned = None;
    if version >= 1 && reader.remaining() > 0 {
        let bytes = reader.nullable_bytes(Lengths::Fixed).map_err(|e| e.within("owned"))?;
        if let Some(bytes) = bytes {
            let start = reader.position() - bytes.len();
            let read = read_assignment(&mut Reader::new(bytes), true);
            owned = Some(read.map_err(|e| WireError { offset: e.offset.map(|at| start + at), ..e }.within("owned"))?);
        }
    }
    Ok(ConnectSubscription { version, url, config_offset, owned })
}

/// Decode an assignment.
///
/// # Errors
/// The bytes are not an assignment.
pub fn decode_assignment(data: &[u8]) -> Result<ConnectAssignment, WireError> {
    read_assignment(&mut Reader::new(data), false)
}

/// Read an assignment. One in the state of a worker has the layout of version 1 or newer whatever its version is.
fn read_assignment(reader: &mut Reader<'_>, is_incremental: bool) -> Result<ConnectAssignment, WireError> {
    let version = read_version(reader)?;
    let is_incremental = is_incremental || version >= 1;
    let mut found = ConnectAssignment {
        version,
        error: reader.int16().map_err(|e| e.within("error"))?,
        leader: read_text(reader, "leader")?,
        leader_url: read_text(reader, "leader_url")?,
        config_offset: reader.int64().map_err(|e| e.within("config_offset"))?,
        assigned: ConnectorsAndTasks::default(),
        revoked: ConnectorsAndTasks::default(),
        delay_ms: 0,
    };
    if !is_incremental {
        found.assigned = read_tasks(reader, false).map_err(|e| e.within("assigned"))?;
        return Ok(found);
    }
    if reader.remaining() > 0 {
        found.assigned = read_tasks(reader, true).map_err(|e| e.within("assigned"))?;
    }
    if reader.remaining() > 0 {
        found.revoked = read_tasks(reader, true).map_err(|e| e.within("revoked"))?;
    }
    if reader.remaining() > 0 {
        found.delay_ms = reader.int32().map_err(|e| e.within("delay_ms"))?;
    }
    Ok(found)
}

fn read_version(reader: &mut Reader<'_>) -> Result<i16, WireError> {
    let start = reader.position();
    let version = reader.int16().map_err(|e| e.within("version"))?;
    if version < 0 {
        return Err(read_error(start, format!("version {version} is negative")).within("version"));
    }
    Ok(version)
}

fn read_text(reader: &mut Reader<'_>, field: &str) -> Result<String, WireError> {
    let bytes = reader.string_bytes(Lengths::Fixed).map_err(|e| e.within(field))?;
    Ok(java_text(bytes).into_owned())
}

/// Read connectors with the numbers of their tasks; null means none where it is allowed.
fn read_tasks(reader: &mut Reader<'_>, is_nullable: bool) -> Result<ConnectorsAndTasks, WireError> {
    let mut found = ConnectorsAndTasks::default();
    let count = if is_nullable {
        reader.nullable_count(Lengths::Fixed, 6)?.unwrap_or(0)
    } else {
        reader.count(Lengths::Fixed, 6)?
    };
    for index in 0..count {
        read_connector(reader, &mut found).map_err(|e| e.within_element(index))?;
    }
    Ok(found)
}

fn read_connector(reader: &mut Reader<'_>, found: &mut ConnectorsAndTasks) -> Result<(), WireError> {
    let connector: Arc<str> = read_text(reader, "connector")?.into();
    let tasks = reader.int32s(Lengths::Fixed).map_err(|e| e.within("tasks"))?;
    for task in tasks.iter() {
        if task == CONNECTOR {
            found.connectors.push(Arc::clone(&connector));
        } else {
            found.tasks.push(ConnectorTask { connector: Arc::clone(&connector), task });
        }
    }
    Ok(())
}

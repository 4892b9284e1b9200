//! Function on columns of `__cluster_metadata` records: what they say about topics, partitions and brokers.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use pyo3::prelude::*;
use std::sync::Arc;

use super::table::{Cell, ColumnFull, Declared, Items, LARGEST_OFFSET, Table, Type};
use crate::bytes::Int32s;
use crate::offsets::json::uuid_text;
use crate::python::imports::{IllegalArgumentError, WrongTypeError};
use crate::python::objects::arrow_capsules::ArrowArray;
use crate::python::read::binary_column::BinaryColumn;
use crate::segments::cluster_metadata::{Broker, Change, Decoded, Partition, decode};

const BROKERS: Type = Type::List(&Type::Int32);

const COLUMNS: [Declared; 14] = [
    ("offset", Type::Int64),
    ("timestamp", Type::Int64),
    ("change", Type::Text),
    ("topic_id", Type::Text),
    ("topic", Type::Text),
    ("partition", Type::Int32),
    ("replicas", BROKERS),
    ("isr", BROKERS),
    ("leader", Type::Int32),
    ("broker", Type::Int32),
    ("broker_epoch", Type::Int64),
    ("rack", Type::Text),
    ("is_fenced", Type::Boolean),
    ("reason", Type::Text),
];

/// Columns of a row behind `change`, in the order of `COLUMNS`.
#[derive(Default)]
struct Row<'a> {
    topic_id: Option<[u8; 16]>,
    topic: Option<&'a str>,
    partition: Option<i32>,
    replicas: Option<Int32s<'a>>,
    isr: Option<Int32s<'a>>,
    leader: Option<i32>,
    broker: Option<Broker>,
    rack: Option<&'a str>,
    is_fenced: Option<bool>,
    reason: Option<String>,
}

/// Decode the values of records; return a row for each record that says something about topics, partitions, brokers or
/// transactions, that is newer than those known, or that cannot be decoded.
#[pyfunction]
pub(crate) fn read_cluster_metadata(
    py: Python<'_>,
    offsets: ArrowArray,
    timestamps: ArrowArray,
    values: &Bound<'_, PyAny>,
) -> PyResult<ArrowArray> {
    let values = BinaryColumn::read("values", values)?;
    let numbers = |name: &str, given: &ArrowArray| {
        let array = given.array().as_primitive_opt::<Int64Type>();
        let array = array.filter(|array| array.null_count() == 0).cloned();
        array.ok_or_else(|| WrongTypeError::new_err(format!("{name} must be an Arrow array of int64 without nulls")))
    };
    let (offsets, timestamps) = (numbers("offsets", &offsets)?, numbers("timestamps", &timestamps)?);
    let rows = values.len();
    if offsets.len() != rows || timestamps.len() != rows {
        let (offsets, timestamps) = (offsets.len(), timestamps.len());
        return Err(IllegalArgumentError::new_err(format!(
            "offsets has {offsets} rows, timestamps {timestamps} and values {rows}: their lengths must be equal"
        )));
    }
    let table = py.detach(|| {
        let mut table = Table::new(&COLUMNS, LARGEST_OFFSET);
        for row in 0..rows {
            add(&mut table, offsets.value(row), timestamps.value(row), values.get(row))?;
        }
        Ok(table)
    });
    let table = table.map_err(|full: ColumnFull| {
        IllegalArgumentError::new_err(format!("{full}; give fewer than {rows} records at a time"))
    })?;
    Ok(ArrowArray::new(Arc::new(table.finish())))
}

fn add(table: &mut Table, offset: i64, timestamp: i64, value: Option<&[u8]>) -> Result<(), ColumnFull> {
    let decoded = value.map(decode);
    let change = match &decoded {
        Some(Ok(Decoded::Other)) => return Ok(()),
        Some(Ok(Decoded::Change(change))) => change,
        Some(Ok(Decoded::Newer { frame, kind, version })) => {
            let reason = format!("frame version {frame}, type {kind}, version {version}");
            return put(table, offset, timestamp, "newer", Row { reason: Some(reason), ..Row::default() });
        }
        Some(Err(error)) => {
            let row = Row { reason: Some(error.to_string()), ..Row::default() };
            return put(table, offset, timestamp, "unreadable", row);
        }
        None => {
            let row = Row { reason: Some("the value is null".to_owned()), ..Row::default() };
            return put(table, offset, timestamp, "unreadable", row);
        }
    };
    let (name, row) = match change {
        Change::Topic { id, name } => ("topic", Row { topic_id: Some(*id), topic: Some(name), ..Row::default() }),
        Change::TopicRemoved { id } => ("topic_removed", Row { topic_id: Some(*id), ..Row::default() }),
        Change::Partition(partition) => ("partition", of_partition(partition)),
        Change::PartitionChanged(partition) => ("partition_changed", of_partition(partition)),
        Change::Broker { broker, rack, is_fenced } => {
            let row = Row { rack: rack.as_deref(), is_fenced: Some(*is_fenced), ..of_broker(*broker) };
            ("broker", row)
        }
        Change::BrokerRemoved(broker) => ("broker_removed", of_broker(*broker)),
        Change::Fenced(broker) => ("fencing", Row { is_fenced: Some(true), ..of_broker(*broker) }),
        Change::Unfenced(broker) => ("fencing", Row { is_fenced: Some(false), ..of_broker(*broker) }),
        Change::TransactionBegan => ("transaction_began", Row::default()),
        Change::TransactionEnded => ("transaction_ended", Row::default()),
        Change::TransactionAborted => ("transaction_aborted", Row::default()),
    };
    put(table, offset, timestamp, name, row)
}

fn of_partition<'a>(partition: &Partition<'a>) -> Row<'a> {
    Row {
        topic_id: Some(partition.topic),
        partition: Some(partition.id),
        replicas: partition.replicas,
        isr: partition.isr,
        leader: partition.leader,
        ..Row::default()
    }
}

fn of_broker(broker: Broker) -> Row<'static> {
    Row { broker: Some(broker), ..Row::default() }
}

fn put(table: &mut Table, offset: i64, timestamp: i64, change: &str, row: Row<'_>) -> Result<(), ColumnFull> {
    let mut cells = table.row();
    cells.put(offset)?.put(timestamp)?.put(change)?;
    cells.put(row.topic_id.as_ref().map(uuid_text).as_deref())?.put(row.topic)?.put(row.partition)?;
    cells.put(ids(row.replicas))?.put(ids(row.isr))?.put(row.leader)?;
    cells.put(row.broker.map(|broker| broker.id))?.put(row.broker.map(|broker| broker.epoch))?;
    cells.put(row.rack)?.put(row.is_fenced)?.put(row.reason.as_deref())?;
    Ok(())
}

fn ids(list: Option<Int32s<'_>>) -> Option<impl Cell> {
    list.map(|list| Items(list.iter(), |item: &mut super::table::Row<'_>, id: i32| item.put(id).map(drop)))
}

//! The class `Replay`: incremental replay of many groups, as events.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::builder::Int64Builder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::bounded_columns::{BoundedTextColumn, ColumnFull, LARGEST_OFFSET, columns};
use super::event_columns::EventBatches;
use super::history_columns::{ComparedGenerations, HistoryColumns};
use crate::python::imports::{IllegalArgumentError, SnapshotError, WrongTypeError};
use crate::python::objects::arrow_capsules::ArrowArray;
use crate::python::read::arrow::batch;
use crate::python::read::binary_column::BinaryColumn;
use crate::python::read::recordings;
use crate::replay::{Context, Event, LogRecord, Position, Replay, Settings};

/// Replay of many groups, by cluster and group id. `assignor.replay.Replay` is its public form.
#[pyclass(frozen, name = "Replay", module = "assignor._core")]
pub(crate) struct PyReplay(Mutex<Replay>);

/// Number of rows of a batch of positions.
const POSITIONS_OF_A_BATCH: usize = 1 << 16;

/// Record: offset, timestamp, key and value.
type Record = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>);

impl PyReplay {
    fn replay(&self) -> MutexGuard<'_, Replay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn batches(mut events: Vec<Event>) -> Result<Vec<ArrowArray>, ColumnFull> {
    let mut found = EventBatches::new();
    found.extend(&mut events)?;
    Ok(found.finish().into_iter().map(ArrowArray::from).collect())
}

fn too_large(full: ColumnFull) -> PyErr {
    IllegalArgumentError::new_err(format!("{full} in one event"))
}

#[pymethods]
impl PyReplay {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    #[pyo3(signature = (topics, *, is_open = false, is_compared = true, storm_rebalances = 20, storm_window_ms = 60_000,
                        stuck_factor = 10, stuck_interval_ms = 100, never_committed_ms = 60_000))]
    fn new(
        topics: ArrowArray,
        is_open: bool,
        is_compared: bool,
        storm_rebalances: i64,
        storm_window_ms: i64,
        stuck_factor: i64,
        stuck_interval_ms: i64,
        never_committed_ms: i64,
    ) -> PyResult<Self> {
        let settings = Settings {
            storm_rebalances,
            storm_window: storm_window_ms,
            stuck_factor,
            stuck_interval: stuck_interval_ms,
            never_committed: never_committed_ms,
        };
        for (name, value) in [
            ("storm_rebalances", storm_rebalances),
            ("storm_window_ms", storm_window_ms),
            ("stuck_factor", stuck_factor),
            ("stuck_interval_ms", stuck_interval_ms),
            ("never_committed_ms", never_committed_ms),
        ] {
            if value < 1 {
                return Err(IllegalArgumentError::new_err(format!("{name} must be >= 1, not {value}")));
            }
        }
        let metadata = recordings::metadata(&batch(&topics)?)?;
        Ok(Self(Mutex::new(Replay::new(Context { metadata, settings, is_open, is_compared }))))
    }

    /// Apply the records of a batch and return batches of their events.
    fn push(&self, py: Python<'_>, records: ArrowArray) -> PyResult<Vec<ArrowArray>> {
        let records = batch(&records)?;
        let columns = LogColumns::read(&records)?;
        let events = py.detach(|| {
            let mut replay = self.replay();
            let (mut found, mut events) = (EventBatches::new(), Vec::new());
            for row in 0..records.num_rows() {
                replay.push(columns.cluster(row), &columns.entry(row), &mut events);
                found.extend(&mut events)?;
            }
            Ok(found.finish())
        });
        Ok(events.map_err(too_large)?.into_iter().map(ArrowArray::from).collect())
    }

    /// Apply one record: offset, timestamp, key and value.
    fn push_record(&self, record: Record, cluster: &str) -> PyResult<Vec<ArrowArray>> {
        let (offset, timestamp, key, value) = &record;
        let entry = LogRecord { offset: *offset, timestamp: *timestamp, key: key.as_deref(), value: value.as_deref() };
        let mut events = Vec::new();
        self.replay().push(cluster, &entry, &mut events);
        batches(events).map_err(too_large)
    }

    /// Return the events of all deadlines up to a time.
    #[pyo3(signature = (now, cluster = None))]
    fn advance(&self, py: Python<'_>, now: i64, cluster: Option<&str>) -> PyResult<Vec<ArrowArray>> {
        py.detach(|| {
            let mut events = Vec::new();
            self.replay().advance(now, cluster, &mut events);
            batches(events)
        })
        .map_err(too_large)
    }

    /// Return the earliest deadline.
    fn next_deadline(&self) -> Option<i64> {
        self.replay().next_deadline()
    }

    /// Return the events that the end of the log completes.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<ArrowArray>> {
        py.detach(|| batches(self.replay().finish())).map_err(too_large)
    }

    /// Replace the topic metadata by a longer timeline, and return the generations whose comparison waited for it.
    fn observe_topics(&self, topics: ArrowArray) -> PyResult<Vec<ArrowArray>> {
        let metadata = recordings::metadata(&batch(&topics)?)?;
        let mut events = Vec::new();
        self.replay().observe_topics(metadata, &mut events);
        batches(events).map_err(too_large)
    }

    /// Return the state as bytes.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let data = py.detach(|| self.replay().snapshot());
        Ok(PyBytes::new(py, &data.map_err(|error| SnapshotError::new_err(error.to_string()))?))
    }

    /// Replace the state with that of a snapshot.
    fn restore(&self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        py.detach(|| self.replay().restore(data)).map_err(|error| SnapshotError::new_err(error.to_string()))
    }

    /// Return the numbers of records, duplicates, bad records, unknown types and timestamps that go backwards.
    fn counts(&self) -> [(&'static str, u64); 5] {
        let counts = self.replay().counts();
        [
            ("records", counts.records),
            ("duplicates", counts.duplicates),
            ("bad_records", counts.bad_records),
            ("unknown_types", counts.unknown_types),
            ("time_backwards", counts.time_backwards),
        ]
    }

    /// Return the groups as they are after the last record: a batch with cluster, group, rebalances, records, duplicates and
    /// time_backwards, and a column of structs without generations, see `assignor.spark.schemas.HISTORY`.
    fn states(&self, py: Python<'_>) -> PyResult<(ArrowArray, ArrowArray)> {
        let found = py.detach(|| {
            let replay = self.replay();
            let mut histories = HistoryColumns::new(replay.metadata(), LARGEST_OFFSET);
            let mut cluster = BoundedTextColumn::new("cluster", LARGEST_OFFSET);
            let mut group = BoundedTextColumn::new("group", LARGEST_OFFSET);
            let mut numbers: [Int64Builder; 4] = Default::default();
            let none = ComparedGenerations::default();
            for state in replay.states() {
                cluster.push(Some(&state.cluster))?;
                group.push(Some(&state.group))?;
                histories.push(&state.state, &none)?;
                let found = [state.rebalances, state.records, state.duplicates, state.time_backwards];
                for (column, number) in numbers.iter_mut().zip(found) {
                    column.append_value(number as i64);
                }
            }
            let mut found = vec![("cluster", cluster.finish()), ("group", group.finish())];
            for (name, mut column) in ["rebalances", "records", "duplicates", "time_backwards"].into_iter().zip(numbers)
            {
                found.push((name, Arc::new(column.finish()) as ArrayRef));
            }
            Ok::<_, ColumnFull>((RecordBatch::from(columns(found)), histories.finish()))
        });
        let (groups, histories) = found.map_err(|full| IllegalArgumentError::new_err(full.to_string()))?;
        Ok((groups.into(), ArrowArray::new(Arc::new(histories))))
    }

    /// Return the partitions with a committed offset or an owner, as batches with cluster, group_id, topic, partition, member_id
    /// and committed.
    fn positions(&self, py: Python<'_>) -> PyResult<Vec<ArrowArray>> {
        let found = py.detach(|| {
            let all = self.replay().positions();
            all.chunks(POSITIONS_OF_A_BATCH).map(position_batch).collect::<Result<Vec<_>, ColumnFull>>()
        });
        found.map_err(|full| IllegalArgumentError::new_err(full.to_string()))
    }
}

/// Return a batch of positions.
fn position_batch(positions: &[Position]) -> Result<ArrowArray, ColumnFull> {
    let mut texts =
        ["cluster", "group_id", "topic", "member_id"].map(|name| BoundedTextColumn::new(name, LARGEST_OFFSET));
    for position in positions {
        let found = [Some(&position.cluster), Some(&position.group), Some(&position.topic), position.member.as_ref()];
        for (column, text) in texts.iter_mut().zip(found) {
            column.push(text)?;
        }
    }
    let partitions = Int32Array::from_iter_values(positions.iter().map(|position| position.partition));
    let committed = positions.iter().map(|position| position.committed).collect::<Int64Array>();
    let [cluster, group, topic, member] = texts.map(BoundedTextColumn::finish);
    let found = vec![
        ("cluster", cluster),
        ("group_id", group),
        ("topic", topic),
        ("partition", Arc::new(partitions) as ArrayRef),
        ("member_id", member),
        ("committed", Arc::new(committed) as ArrayRef),
    ];
    Ok(RecordBatch::from(columns(found)).into())
}

/// Columns of records of a log.
struct LogColumns<'a> {
    clusters: Option<&'a ArrayRef>,
    offsets: &'a [i64],
    timestamps: &'a [i64],
    keys: BinaryColumn,
    values: BinaryColumn,
}

impl<'a> LogColumns<'a> {
    fn read(records: &'a RecordBatch) -> PyResult<Self> {
        let type_error = |name: &str, wanted: &str| {
            let found = records.column_by_name(name).map_or("missing".to_owned(), |found| {
                let nulls = if found.null_count() > 0 { " with nulls" } else { "" };
                format!("{}{nulls}", found.data_type())
            });
            WrongTypeError::new_err(format!("column {name} of the records must be {wanted}; it is {found}"))
        };
        let column = |name: &str, wanted: &str| records.column_by_name(name).ok_or_else(|| type_error(name, wanted));
        let numbers = |name: &str| -> PyResult<&'a [i64]> {
            let wanted = "Int64 without nulls";
            let found = column(name, wanted)?;
            let numbers = found.as_primitive_opt::<Int64Type>().filter(|_| found.null_count() == 0);
            Ok(numbers.ok_or_else(|| type_error(name, wanted))?.values())
        };
        let clusters = records.column_by_name("cluster");
        if clusters.is_some_and(|found| found.as_string_opt::<i32>().is_none()) {
            return Err(type_error("cluster", "Utf8"));
        }
        Ok(Self {
            clusters,
            offsets: numbers("offset")?,
            timestamps: numbers("timestamp")?,
            keys: BinaryColumn::from_array("key", column("key", "Binary")?.clone())?,
            values: BinaryColumn::from_array("value", column("value", "Binary")?.clone())?,
        })
    }

    /// Return the cluster of a record; empty without one.
    fn cluster(&self, row: usize) -> &str {
        let clusters = self.clusters.and_then(|found| found.as_string_opt::<i32>());
        clusters.filter(|found| found.is_valid(row)).map_or("", |found| found.value(row))
    }

    fn entry(&self, row: usize) -> LogRecord<'_> {
        LogRecord {
            offset: self.offsets[row],
            timestamp: self.timestamps[row],
            key: self.keys.get(row),
            value: self.values.get(row),
        }
    }
}

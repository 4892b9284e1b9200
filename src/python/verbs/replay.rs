//! The class `Replay`: replay of many groups, as events.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::decoded_columns::{DecodedColumns, too_many_records};
use super::event_columns::EventBatches;
use super::history_columns::HistoryColumns;
use super::replay_columns::{CommitColumns, positions, states};
use super::table::{Column, ColumnFull, LARGEST_OFFSET, Type};
use crate::offsets;
use crate::python::imports::{IllegalArgumentError, SnapshotError};
use crate::python::objects::arrow_capsules::ArrowArray;
use crate::python::read::arrow::batch;
use crate::python::read::recordings::{self, RecordColumns};
use crate::replay::event_schema::{COLUMNS, COMMON, KINDS};
use crate::replay::times;
use crate::replay::{
    BrokerVersion, Context, Event, EventDetails, LogRecord, LoggedFact, LoggedRebalance, Metadata, Replay, Settings,
    Silence, logged_cause,
};

/// Replay of many groups, by cluster and group id. `assignor.replay.Replay` is its public form.
#[pyclass(frozen, name = "Replay", module = "assignor._core")]
pub(crate) struct PyReplay(Mutex<Groups>);

struct Groups {
    replay: Replay,
    /// The last group of `push_groups`, whose records may continue in the next batch.
    open: Option<OpenGroup>,
}

struct OpenGroup {
    cluster: String,
    group: String,
    generations: Vec<Event>,
    /// The highest valid timestamp of its records.
    clock: Option<i64>,
}

/// Record: offset, timestamp, key and value.
type Record = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>);

/// Result of `push_groups`.
type PushedGroups = (Option<ArrowArray>, Option<ArrowArray>, Vec<ArrowArray>, (ArrowArray, ArrowArray));

/// Logged rebalance: group, generation, time, reason, and facts with their causes, members and sentence.
type LoggedRow = (String, Option<i32>, i64, Option<String>, Vec<(Vec<String>, Vec<String>, String)>);

fn logged((group, generation, at, reason, facts): LoggedRow) -> PyResult<(Arc<str>, LoggedRebalance)> {
    let cause = |name: String| {
        logged_cause(&name)
            .ok_or_else(|| IllegalArgumentError::new_err(format!("cause {name:?}: a broker logs no such cause")))
    };
    let fact = |(causes, members, sentence): (Vec<String>, Vec<String>, String)| {
        let causes = causes.into_iter().map(cause).collect::<PyResult<_>>()?;
        Ok(LoggedFact { causes, members: members.into_iter().map(Arc::from).collect(), sentence })
    };
    let facts = facts.into_iter().map(fact).collect::<PyResult<_>>()?;
    Ok((group.into(), LoggedRebalance { generation, at, reason, facts }))
}

impl PyReplay {
    fn groups(&self) -> MutexGuard<'_, Groups> {
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
    #[pyo3(signature = (topics, *, is_open = false, is_compared = true, broker_version = None, storm_rebalances = 20, storm_window_ms = 60_000,
                        stuck_factor = 10, stuck_interval_ms = 100, never_committed_ms = 60_000, session_timeout_ms = 45_000))]
    fn new(
        topics: ArrowArray,
        is_open: bool,
        is_compared: bool,
        broker_version: Option<BrokerVersion>,
        storm_rebalances: i64,
        storm_window_ms: i64,
        stuck_factor: i64,
        stuck_interval_ms: i64,
        never_committed_ms: i64,
        session_timeout_ms: i64,
    ) -> PyResult<Self> {
        let settings = Settings {
            storm_rebalances,
            storm_window: storm_window_ms,
            stuck_factor,
            stuck_interval: stuck_interval_ms,
            never_committed: never_committed_ms,
            session_timeout: session_timeout_ms,
        };
        for (name, value) in [
            ("storm_rebalances", storm_rebalances),
            ("storm_window_ms", storm_window_ms),
            ("stuck_factor", stuck_factor),
            ("stuck_interval_ms", stuck_interval_ms),
            ("never_committed_ms", never_committed_ms),
            ("session_timeout_ms", session_timeout_ms),
        ] {
            if value < 1 {
                return Err(IllegalArgumentError::new_err(format!("{name} must be >= 1, not {value}")));
            }
        }
        let metadata = recordings::metadata(&batch(&topics)?)?;
        let metadata = metadata.into();
        let context = Context { metadata, settings, broker_version, is_open, is_compared, ..Context::default() };
        let replay = Replay::new(context);
        Ok(Self(Mutex::new(Groups { replay, open: None })))
    }

    /// Apply the records of a batch, except those of aborted transactions, and return batches of their events.
    fn push(&self, py: Python<'_>, records: ArrowArray) -> PyResult<Vec<ArrowArray>> {
        let records = batch(&records)?;
        let columns = RecordColumns::read(&records)?;
        let events = py.detach(|| {
            let replay = &mut self.groups().replay;
            let (mut found, mut events) = (EventBatches::new(), Vec::new());
            for row in 0..columns.rows() {
                if columns.is_aborted(row) {
                    continue;
                }
                replay.push(columns.cluster(row), &columns.entry(row), &mut events);
                if !events.is_empty() {
                    found.extend(&mut events)?;
                }
            }
            Ok(found.finish())
        });
        Ok(events.map_err(too_large)?.into_iter().map(ArrowArray::from).collect())
    }

    /// Apply one record: offset, timestamp, key and value.
    fn push_record(&self, record: Record, cluster: &str) -> PyResult<Vec<ArrowArray>> {
        let (offset, timestamp, key, value) = &record;
        let entry = LogRecord {
            partition: None,
            offset: *offset,
            timestamp: *timestamp,
            key: key.as_deref(),
            value: value.as_deref(),
        };
        let mut events = Vec::new();
        self.groups().replay.push(cluster, &entry, &mut events);
        batches(events).map_err(too_large)
    }

    /// Return the events of all deadlines up to a time.
    #[pyo3(signature = (now, cluster = None))]
    fn advance(&self, py: Python<'_>, now: i64, cluster: Option<&str>) -> PyResult<Vec<ArrowArray>> {
        py.detach(|| {
            let mut events = Vec::new();
            self.groups().replay.advance(now, cluster, &mut events);
            batches(events)
        })
        .map_err(too_large)
    }

    /// Return the earliest deadline.
    fn next_deadline(&self) -> Option<i64> {
        self.groups().replay.next_deadline()
    }

    /// Return the events that the end of the log completes.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<ArrowArray>> {
        py.detach(|| batches(self.groups().replay.finish())).map_err(too_large)
    }

    /// Replace the topic metadata by a longer timeline, and return the generations whose comparison waited for it.
    fn observe_topics(&self, topics: ArrowArray) -> PyResult<Vec<ArrowArray>> {
        let metadata = recordings::metadata(&batch(&topics)?)?;
        let mut events = Vec::new();
        self.groups().replay.observe_topics(metadata, &mut events);
        batches(events).map_err(too_large)
    }

    /// Add silences of the log: since, until, partitions of the log, true if the whole log was silent, and how the coordinator moved.
    fn observe_silences(&self, silences: Vec<(i64, i64, Vec<i32>, bool, String)>) {
        let silences = silences.into_iter().map(|(since, until, partitions, is_whole_log, moved)| Silence {
            since,
            until,
            partitions,
            is_whole_log,
            moved,
        });
        self.groups().replay.observe_silences(silences);
    }

    /// Add rebalances that brokers logged: group, generation or None, time, reason or None, and facts. A fact is the causes that agree with
    /// a line, the most specific one first, the members that it names, and a sentence.
    fn observe_broker_log(&self, rebalances: Vec<LoggedRow>, cluster: &str) -> PyResult<()> {
        let rebalances: Vec<_> = rebalances.into_iter().map(logged).collect::<PyResult<_>>()?;
        self.groups().replay.observe_broker_log(cluster, rebalances);
        Ok(())
    }

    /// Return the state as bytes.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let data = py.detach(|| self.groups().replay.snapshot());
        Ok(PyBytes::new(py, &data.map_err(|error| SnapshotError::new_err(error.to_string()))?))
    }

    /// Replace the state with that of a snapshot.
    fn restore(&self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        py.detach(|| self.groups().replay.restore(data)).map_err(|error| SnapshotError::new_err(error.to_string()))
    }

    /// Return the numbers of records, duplicates, bad records, unknown types, timestamps that go backwards and invalid timestamps.
    fn counts(&self) -> [(&'static str, u64); 6] {
        let counts = self.groups().replay.counts();
        [
            ("records", counts.records),
            ("duplicates", counts.duplicates),
            ("bad_records", counts.bad_records),
            ("unknown_types", counts.unknown_types),
            ("time_backwards", counts.time_backwards),
            ("invalid_timestamps", counts.invalid_timestamps),
        ]
    }

    /// Apply records that are sorted by group, and within a group by offset, and end each group after its last record.
    ///
    /// A batch may end inside a group; without `records` the last group ends. Records without a group, and records of aborted transactions,
    /// are decoded and not applied. Return the decoded records and the commits if they are wanted, batches of the events of `kinds`, and
    /// the ids and histories of the groups that have ended (see `assignor.spark.schemas.HISTORY`). Deadlines fire up to `until`.
    /// `limit` is the highest number of bytes of text, or of rows in lists, per column of the histories.
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    #[pyo3(signature = (records, *, until = None, kinds = None, decoded = false, commits = false, limit = 2_147_483_647))]
    fn push_groups(
        &self,
        py: Python<'_>,
        records: Option<ArrowArray>,
        until: Option<i64>,
        kinds: Option<Vec<String>>,
        decoded: bool,
        commits: bool,
        limit: usize,
    ) -> PyResult<PushedGroups> {
        let kinds = kinds.unwrap_or_default();
        let records = records.map(|records| batch(&records)).transpose()?;
        let columns = records.as_ref().map(RecordColumns::read).transpose()?;
        py.detach(|| {
            let Groups { replay, open } = &mut *self.groups();
            let metadata = Arc::clone(replay.metadata());
            let mut ended = EndedGroups::new(&metadata, &kinds, until, limit.min(LARGEST_OFFSET));
            let Some(columns) = &columns else {
                ended.end(replay, open.take())?;
                return Ok(ended.finish(None, None));
            };
            let (mut rows, mut found) = (decoded.then(DecodedColumns::new), commits.then(CommitColumns::new));
            let mut events = Vec::new();
            for row in 0..columns.rows() {
                let entry = columns.entry(row);
                let record = offsets::decode_record(entry.key, entry.value);
                let too_many = |full| too_many_records(&full, columns.rows());
                if let Some(rows) = &mut rows {
                    rows.push(entry.key, entry.value, &record).map_err(too_many)?;
                }
                if columns.is_aborted(row) {
                    continue;
                }
                let key = if record.is_err() { offsets::decode_key(entry.key).ok() } else { None };
                let Some(group) = record.as_ref().ok().or(key.as_ref()).and_then(offsets::DecodedRecord::group) else {
                    continue;
                };
                let cluster = columns.cluster(row);
                if open.as_ref().is_none_or(|open| open.group != group || open.cluster != cluster) {
                    let next = OpenGroup {
                        cluster: cluster.to_owned(),
                        group: group.into_owned(),
                        generations: Vec::new(),
                        clock: None,
                    };
                    ended.end(replay, open.replace(next))?;
                }
                if let Some(open) = open {
                    if let (Some(found), Ok(record)) = (&mut found, &record) {
                        let at = times::applied_at(entry.timestamp, open.clock);
                        found.push((at, entry.offset), record).map_err(too_many)?;
                    }
                    open.clock = open.clock.max(times::valid(entry.timestamp));
                }
                replay.push_decoded(cluster, &entry, &record, &mut events);
                if let Some(open) = open {
                    ended.add(open, &mut events)?;
                }
            }
            let rows = rows.map(DecodedColumns::finish).transpose()?;
            Ok(ended.finish(rows.map(ArrowArray::from), found.map(|found| found.finish().into())))
        })
    }

    /// Forget a group; return false if there is no such group.
    #[pyo3(signature = (group, cluster = ""))]
    fn forget(&self, group: &str, cluster: &str) -> bool {
        self.groups().replay.forget(cluster, group)
    }

    /// Return the groups as they are after the last record: a batch with cluster, group, rebalances, records, duplicates and
    /// time_backwards, and a column of structs without generations, see `assignor.spark.schemas.HISTORY`.
    fn states(&self, py: Python<'_>) -> PyResult<(ArrowArray, ArrowArray)> {
        let found = py.detach(|| states(&self.groups().replay));
        let (groups, histories) = found.map_err(|full| IllegalArgumentError::new_err(full.to_string()))?;
        Ok((groups.into(), ArrowArray::new(Arc::new(histories))))
    }

    /// Return the partitions with a committed offset or an owner, as batches with cluster, group_id, topic, partition, member_id
    /// and committed.
    fn positions(&self, py: Python<'_>) -> PyResult<Vec<ArrowArray>> {
        let found = py.detach(|| positions(&self.groups().replay));
        let found = found.map_err(|full| IllegalArgumentError::new_err(full.to_string()))?;
        Ok(found.into_iter().map(ArrowArray::from).collect())
    }
}

/// Columns of groups that have ended, and events.
struct EndedGroups<'a> {
    kinds: &'a [String],
    until: Option<i64>,
    events: EventBatches,
    group_id: Column,
    histories: HistoryColumns<'a>,
}

impl<'a> EndedGroups<'a> {
    fn new(metadata: &'a Metadata, kinds: &'a [String], until: Option<i64>, limit: usize) -> Self {
        let group_id = Column::new("group_id", Type::Text, LARGEST_OFFSET);
        Self { kinds, until, events: EventBatches::new(), group_id, histories: HistoryColumns::new(metadata, limit) }
    }

    /// Add events of a group, and keep those of its generations for its history.
    fn add(&mut self, open: &mut OpenGroup, events: &mut Vec<Event>) -> PyResult<()> {
        for event in events.drain(..) {
            if self.kinds.iter().any(|kind| kind == event.details.name()) {
                self.events.push(&event).map_err(too_large)?;
            }
            if matches!(event.details, EventDetails::Generation { .. }) {
                open.generations.push(event);
            }
        }
        Ok(())
    }

    /// End a group.
    fn end(&mut self, replay: &mut Replay, group: Option<OpenGroup>) -> PyResult<()> {
        let Some(mut open) = group else { return Ok(()) };
        let mut events = Vec::new();
        let state = replay.end(&open.cluster, &open.group, self.until, &mut events);
        self.add(&mut open, &mut events)?;
        let pushed = self.group_id.add(&open.group);
        pushed.and_then(|()| self.histories.push(&state, &open.generations)).map_err(|full| {
            IllegalArgumentError::new_err(format!("{full} at group {}: pass fewer records per call", open.group))
        })
    }

    fn finish(self, decoded: Option<ArrowArray>, commits: Option<ArrowArray>) -> PushedGroups {
        let events = self.events.finish().into_iter().map(ArrowArray::from).collect();
        let histories = ArrowArray::new(Arc::new(self.histories.finish()));
        (decoded, commits, events, (ArrowArray::new(self.group_id.finish()), histories))
    }
}

/// Fields and their meanings.
type Meanings = Vec<(&'static str, &'static str)>;

/// Return the schema of events: the columns with their types, the common fields, and the fields of each kind of event.
#[pyfunction]
pub(crate) fn event_schema() -> (Meanings, Meanings, Vec<(&'static str, Meanings)>) {
    let columns = COLUMNS.iter().map(|(name, kind)| (*name, kind.as_str())).collect();
    let kinds = KINDS.iter().map(|(name, fields)| (*name, fields.to_vec())).collect();
    (columns, COMMON.to_vec(), kinds)
}

//! The class `SilenceFinder`: silences of a log, from the partitions, times and groups of its records.

use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use crate::python::imports::WrongTypeError;
use crate::python::objects::arrow_capsules::ArrowArray;
use crate::python::read::arrow::batch;
use crate::replay::times::valid;
use crate::replay::{Silence, SilenceFinder};

/// Silence: since, until, partitions, and true if the whole log was silent.
type Row = (i64, i64, Vec<i32>, bool);

/// Group of a record without a valid timestamp. It follows the records of other groups with the same time.
const UNTIMED: u32 = u32::MAX;

/// Finder of silences. `assignor.replay.silences` has its public form.
#[pyclass(frozen, name = "SilenceFinder", module = "assignor._core")]
pub(crate) struct PySilenceFinder(Mutex<Found>);

#[derive(Default)]
struct Found {
    finder: SilenceFinder,
    groups: FxHashMap<String, u32>,
    /// Time, partition and group of the records that are not searched yet. A record without a valid timestamp has the group `UNTIMED`, and
    /// the time of the row before it.
    waiting: Vec<(i64, i32, u32)>,
}

impl Found {
    fn add(&mut self, records: &RecordBatch) -> PyResult<()> {
        let wrong =
            |name: &str| WrongTypeError::new_err(format!("column {name} of the records is missing or of another type"));
        let column = |name: &str| records.column_by_name(name).ok_or_else(|| wrong(name));
        let partitions = column("partition")?.as_primitive_opt::<Int32Type>().ok_or_else(|| wrong("partition"))?;
        let times = column("timestamp")?.as_primitive_opt::<Int64Type>().ok_or_else(|| wrong("timestamp"))?;
        let groups = column("group_id")?.as_string_opt::<i32>().ok_or_else(|| wrong("group_id"))?;
        let mut last = i64::MIN;
        for row in 0..records.num_rows() {
            if partitions.is_null(row) || times.is_null(row) {
                continue;
            }
            let Some(time) = valid(times.value(row)) else {
                self.waiting.push((last, partitions.value(row), UNTIMED));
                continue;
            };
            last = time;
            // Records without a group count as those of a group without a name.
            let group = if groups.is_null(row) { "" } else { groups.value(row) };
            let next = self.groups.len() as u32;
            let group = match self.groups.get(group) {
                Some(number) => *number,
                None => *self.groups.entry(group.to_owned()).or_insert(next),
            };
            self.waiting.push((time, partitions.value(row), group));
        }
        Ok(())
    }

    fn take(&mut self) -> Vec<Row> {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_unstable();
        let found = waiting.into_iter().filter_map(|(at, partition, group)| {
            if group == UNTIMED {
                self.finder.interrupt(partition);
                return None;
            }
            self.finder.add(partition, group, at)
        });
        found
            .map(|Silence { since, until, partitions, is_whole_log, .. }| (since, until, partitions, is_whole_log))
            .collect()
    }
}

#[pymethods]
impl PySilenceFinder {
    #[new]
    fn new() -> Self {
        Self(Mutex::new(Found::default()))
    }

    /// Add records in any order: a batch with the columns partition, timestamp and `group_id`.
    fn add(&self, records: ArrowArray) -> PyResult<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(&batch(&records)?)
    }

    /// Return the silences that end with a record added since the last call, by time.
    fn take(&self, py: Python<'_>) -> Vec<Row> {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).take())
    }
}

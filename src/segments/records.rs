//! Columns of records, with one row per record in the order of the file.

use thiserror::Error;

/// Error for columns that exceed the largest size of an Arrow column of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the records have more than {0} bytes of keys or values")]
pub struct ColumnsFull(pub usize);

/// Column of byte arrays and nulls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    /// Ends of the values in `data`, after a leading 0.
    pub ends: Vec<i32>,
    /// The bytes of all values.
    pub data: Vec<u8>,
    /// Whether each value is not null.
    pub is_present: Vec<bool>,
    limit: usize,
}

impl Values {
    fn new(limit: usize) -> Self {
        Self { ends: vec![0], data: Vec::new(), is_present: Vec::new(), limit: limit.min(i32::MAX as usize) }
    }

    /// Return a value, or None for null and for a row that does not exist.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        let is_present = *self.is_present.get(row)?;
        let (start, end) = (*self.ends.get(row)? as usize, *self.ends.get(row + 1)? as usize);
        if is_present { self.data.get(start..end) } else { None }
    }

    #[inline]
    fn push(&mut self, value: Option<&[u8]>) -> Result<(), ColumnsFull> {
        if let Some(value) = value {
            if value.len() > self.limit - self.data.len() {
                return Err(ColumnsFull(self.limit));
            }
            self.data.extend_from_slice(value);
        }
        self.is_present.push(value.is_some());
        self.ends.push(self.data.len() as i32);
        Ok(())
    }

    fn truncate(&mut self, rows: usize) {
        self.is_present.truncate(rows);
        self.ends.truncate(rows + 1);
        self.data.truncate(self.ends.last().map_or(0, |end| *end as usize));
    }
}

/// Fields that all records of a batch share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared {
    pub(super) leader_epoch: i32,
    pub(super) producer_id: i64,
    pub(super) is_transactional: bool,
}

/// Columns of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records {
    /// Offset in the partition.
    pub offset: Vec<i64>,
    /// Time in milliseconds; -1 for a record without a timestamp.
    pub timestamp: Vec<i64>,
    /// Key.
    pub key: Values,
    /// Value.
    pub value: Values,
    /// Epoch of the leader that appended the record; -1 if it is not known.
    pub leader_epoch: Vec<i32>,
    /// Id of an idempotent or transactional producer; -1 for other producers.
    pub producer_id: Vec<i64>,
    /// Whether the record belongs to a transaction.
    pub is_transactional: Vec<bool>,
    /// Type of a control record: 0 for abort, 1 for commit, 2 for a new leader, and others. None for an ordinary record.
    pub control: Vec<Option<i16>>,
}

impl Default for Records {
    fn default() -> Self {
        Self::new(i32::MAX as usize)
    }
}

impl Records {
    /// Create empty columns with at most `limit` bytes of keys, and of values. The limit is at most that of Arrow, 2 GiB.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            offset: Vec::new(),
            timestamp: Vec::new(),
            key: Values::new(limit),
            value: Values::new(limit),
            leader_epoch: Vec::new(),
            producer_id: Vec::new(),
            is_transactional: Vec::new(),
            control: Vec::new(),
        }
    }

    /// Return the number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offset.len()
    }

    /// Return true if there are no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offset.is_empty()
    }

    /// Add a record without the fields that its batch has; [`finish_batch`](Self::finish_batch) adds them.
    #[inline]
    pub(super) fn push(
        &mut self,
        offset: i64,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<(), ColumnsFull> {
        self.key.push(key)?;
        self.value.push(value)?;
        self.offset.push(offset);
        self.timestamp.push(timestamp);
        Ok(())
    }

    /// Add the type of the control record that was added last.
    pub(super) fn push_control(&mut self, control: i16) {
        self.control.push(Some(control));
    }

    /// Complete the records that were added since the last batch.
    pub(super) fn finish_batch(&mut self, shared: Shared) {
        let rows = self.len();
        self.leader_epoch.resize(rows, shared.leader_epoch);
        self.producer_id.resize(rows, shared.producer_id);
        self.is_transactional.resize(rows, shared.is_transactional);
        self.control.resize(rows, None);
    }

    /// Keep the first rows only.
    pub(super) fn truncate(&mut self, rows: usize) {
        self.offset.truncate(rows);
        self.timestamp.truncate(rows);
        self.key.truncate(rows);
        self.value.truncate(rows);
        self.leader_epoch.truncate(rows);
        self.producer_id.truncate(rows);
        self.is_transactional.truncate(rows);
        self.control.truncate(rows);
    }
}

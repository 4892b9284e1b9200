//! Arrow column of spans under construction: lists of structs of member, topic, first id and count.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::Int32Builder;

use crate::python::verbs::bounded_columns::{BoundedTextColumn, ColumnFull, ListColumn, columns};

/// Spans of the members of many groups, with one list per group.
pub(crate) struct SpanColumn {
    rows: ListColumn,
    members: BoundedTextColumn,
    topics: BoundedTextColumn,
    starts: Int32Builder,
    counts: Int32Builder,
}

impl SpanColumn {
    /// Create a column with at most `limit` bytes of text and `limit` rows.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            rows: ListColumn::new("assignment", limit),
            members: BoundedTextColumn::new("assignment.member_id", limit),
            topics: BoundedTextColumn::new("assignment.topic", limit),
            starts: Int32Builder::new(),
            counts: Int32Builder::new(),
        }
    }

    pub(crate) fn push(&mut self, member: &str, topic: &str, start: i32, count: i32) -> Result<(), ColumnFull> {
        self.rows.push()?;
        self.members.push(Some(member))?;
        self.topics.push(Some(topic))?;
        self.starts.append_value(start);
        self.counts.append_value(count);
        Ok(())
    }

    /// End the list of a group.
    pub(crate) fn end_list(&mut self) {
        self.rows.end_list();
    }

    /// Return the number of bytes of text.
    pub(crate) fn bytes(&self) -> usize {
        self.members.bytes() + self.topics.bytes()
    }

    pub(crate) fn finish(mut self) -> ArrayRef {
        let found = columns(vec![
            ("member_id", self.members.finish()),
            ("topic", self.topics.finish()),
            ("start", Arc::new(self.starts.finish())),
            ("count", Arc::new(self.counts.finish())),
        ]);
        self.rows.list(Arc::new(found))
    }
}

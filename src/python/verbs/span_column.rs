//! Arrow column of spans under construction: lists of structs of a name, topic, first id and count.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::Int32Builder;

use crate::python::verbs::bounded_columns::{BoundedTextColumn, ColumnFull, ListColumn, columns};

/// Spans of many groups, with one list per group.
pub(crate) struct SpanColumn {
    /// Name of the first field.
    name: &'static str,
    rows: ListColumn,
    names: BoundedTextColumn,
    topics: BoundedTextColumn,
    starts: Int32Builder,
    counts: Int32Builder,
}

impl SpanColumn {
    /// Create a column with at most `limit` bytes of text and `limit` rows, from its name and the paths of its text fields, such as
    /// `assignment.topic`.
    pub(crate) fn new(column: &'static str, [name, topic]: [&'static str; 2], limit: usize) -> Self {
        Self {
            name: name.rsplit('.').next().unwrap_or(name),
            rows: ListColumn::new(column, limit),
            names: BoundedTextColumn::new(name, limit),
            topics: BoundedTextColumn::new(topic, limit),
            starts: Int32Builder::new(),
            counts: Int32Builder::new(),
        }
    }

    pub(crate) fn push(&mut self, name: &str, topic: &str, start: i32, count: i32) -> Result<(), ColumnFull> {
        self.rows.push()?;
        self.names.push(Some(name))?;
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
        self.names.bytes() + self.topics.bytes()
    }

    pub(crate) fn finish(mut self) -> ArrayRef {
        let found = columns(vec![
            (self.name, self.names.finish()),
            ("topic", self.topics.finish()),
            ("start", Arc::new(self.starts.finish())),
            ("count", Arc::new(self.counts.finish())),
        ]);
        self.rows.list(Arc::new(found))
    }
}

//! Runs of partitions as an Arrow column in the making: lists of structs of member, topic, first id and count.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::Int32Builder;

use super::text::{Full, Rows, Text, columns};

/// The runs of the members of many groups, a list for each group.
pub(super) struct Spans {
    rows: Rows,
    members: Text,
    topics: Text,
    starts: Int32Builder,
    counts: Int32Builder,
}

impl Spans {
    /// A column of which no part takes more text or rows than `limit` says.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            rows: Rows::new("assignment", limit),
            members: Text::new("assignment.member_id", limit),
            topics: Text::new("assignment.topic", limit),
            starts: Int32Builder::new(),
            counts: Int32Builder::new(),
        }
    }

    pub(super) fn push(&mut self, member: &str, topic: &str, start: i32, count: i32) -> Result<(), Full> {
        self.rows.push()?;
        self.members.push(Some(member))?;
        self.topics.push(Some(topic))?;
        self.starts.append_value(start);
        self.counts.append_value(count);
        Ok(())
    }

    /// Ends the list of a group.
    pub(super) fn end_list(&mut self) {
        self.rows.end_list();
    }

    /// How many bytes of text it has.
    pub(super) fn bytes(&self) -> usize {
        self.members.bytes() + self.topics.bytes()
    }

    pub(super) fn finish(mut self) -> ArrayRef {
        let found = columns(vec![
            ("member_id", self.members.finish()),
            ("topic", self.topics.finish()),
            ("start", Arc::new(self.starts.finish())),
            ("count", Arc::new(self.counts.finish())),
        ]);
        self.rows.list(Arc::new(found))
    }
}

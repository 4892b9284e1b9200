//! Arrow columns with a size limit. Arrow's offsets into text and lists are int32; exceeding them would panic.

use std::fmt;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, ArrayRef, ListArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::{Field, Fields};

/// Largest offset.
pub(crate) const LARGEST_OFFSET: usize = i32::MAX as usize;

/// A column that exceeds its limit.
#[derive(Debug)]
pub(crate) enum ColumnFull {
    /// Name of a text column, and its limit in bytes.
    Text(&'static str, usize),
    /// Name of a list column, and its limit in rows.
    Rows(&'static str, usize),
}

impl fmt::Display for ColumnFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(name, LARGEST_OFFSET) => write!(f, "the text column {name} exceeds 2 GiB"),
            Self::Text(name, limit) => write!(f, "the text column {name} exceeds {limit} bytes"),
            Self::Rows(name, limit) => write!(f, "the list column {name} exceeds {limit} rows"),
        }
    }
}

/// Text column.
pub(crate) struct BoundedTextColumn {
    name: &'static str,
    limit: usize,
    builder: StringBuilder,
}

impl BoundedTextColumn {
    /// Create a column of at most `limit` bytes of text.
    pub(crate) fn new(name: &'static str, limit: usize) -> Self {
        Self { name, limit, builder: StringBuilder::new() }
    }

    pub(crate) fn push(&mut self, text: Option<impl AsRef<str>>) -> Result<(), ColumnFull> {
        let length = text.as_ref().map_or(0, |text| text.as_ref().len());
        if self.bytes() + length > self.limit {
            return Err(ColumnFull::Text(self.name, self.limit));
        }
        self.builder.append_option(text);
        Ok(())
    }

    /// Return the number of bytes of text.
    pub(crate) fn bytes(&self) -> usize {
        self.builder.values_slice().len()
    }

    pub(crate) fn finish(mut self) -> ArrayRef {
        Arc::new(self.builder.finish())
    }
}

/// List column: the number of rows, and the end of each list.
pub(crate) struct ListColumn {
    name: &'static str,
    limit: usize,
    count: usize,
    ends: Vec<i32>,
    valid: NullBufferBuilder,
}

impl ListColumn {
    /// Create a column of at most `limit` rows.
    pub(crate) fn new(name: &'static str, limit: usize) -> Self {
        Self { name, limit, count: 0, ends: vec![0], valid: NullBufferBuilder::new(0) }
    }

    pub(crate) fn push(&mut self) -> Result<(), ColumnFull> {
        if self.count == self.limit {
            return Err(ColumnFull::Rows(self.name, self.limit));
        }
        self.count += 1;
        Ok(())
    }

    pub(crate) fn end_list(&mut self) {
        self.end(true);
    }

    /// End a list. If it is not `valid`, it is null and has no rows.
    pub(crate) fn end(&mut self, valid: bool) {
        self.ends.push(self.count as i32);
        self.valid.append(valid);
    }

    /// Return the list column with these rows. The item has the name that Spark gives it.
    pub(crate) fn list(mut self, rows: ArrayRef) -> ArrayRef {
        let item = Field::new("element", rows.data_type().clone(), true);
        Arc::new(ListArray::new(Arc::new(item), OffsetBuffer::new(self.ends.into()), rows, self.valid.finish()))
    }
}

/// Return the structs of nullable columns.
pub(crate) fn columns(columns: Vec<(&str, ArrayRef)>) -> StructArray {
    let fields: Fields =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    StructArray::new(fields, columns.into_iter().map(|(_, array)| array).collect(), None)
}

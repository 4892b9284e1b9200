//! Columns that know their limit: Arrow's offsets into text and lists are int32, and passing them would panic.

use std::fmt;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, ArrayRef, ListArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::{Field, Fields};

/// The largest offset.
pub(crate) const LARGEST_OFFSET: usize = i32::MAX as usize;

/// A column is full.
#[derive(Debug)]
pub(crate) enum ColumnFull {
    /// The text column of that name passes so many bytes.
    Text(&'static str, usize),
    /// The list column of that name passes so many rows.
    Rows(&'static str, usize),
}

impl fmt::Display for ColumnFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(name, LARGEST_OFFSET) => write!(f, "the text column {name} passes 2 GiB"),
            Self::Text(name, limit) => write!(f, "the text column {name} passes {limit} bytes"),
            Self::Rows(name, limit) => write!(f, "the list column {name} passes {limit} rows"),
        }
    }
}

/// A column of text.
pub(crate) struct BoundedTextColumn {
    name: &'static str,
    limit: usize,
    builder: StringBuilder,
}

impl BoundedTextColumn {
    /// A column that takes as many bytes of text as `limit` says.
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

    /// How many bytes of text it has.
    pub(crate) fn bytes(&self) -> usize {
        self.builder.values_slice().len()
    }

    pub(crate) fn finish(mut self) -> ArrayRef {
        Arc::new(self.builder.finish())
    }
}

/// A column of lists: how many rows there are, and where each list ends.
pub(crate) struct ListColumn {
    name: &'static str,
    limit: usize,
    count: usize,
    ends: Vec<i32>,
    valid: NullBufferBuilder,
}

impl ListColumn {
    /// A column that takes as many rows as `limit` says.
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

    /// Ends a list, or a null in its place, which has no rows.
    pub(crate) fn end(&mut self, valid: bool) {
        self.ends.push(self.count as i32);
        self.valid.append(valid);
    }

    /// The list column whose lists have these rows; the item is named as Spark names it.
    pub(crate) fn list(mut self, rows: ArrayRef) -> ArrayRef {
        let item = Field::new("element", rows.data_type().clone(), true);
        Arc::new(ListArray::new(Arc::new(item), OffsetBuffer::new(self.ends.into()), rows, self.valid.finish()))
    }
}

/// Structs of these columns, any of which may have nulls.
pub(crate) fn columns(columns: Vec<(&str, ArrayRef)>) -> StructArray {
    let fields: Fields =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    StructArray::new(fields, columns.into_iter().map(|(_, array)| array).collect(), None)
}

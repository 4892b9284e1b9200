//! Decoded records as Arrow columns.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int32Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use pyo3::prelude::*;

use super::bounded_columns::{BoundedTextColumn, ColumnFull, LARGEST_OFFSET};
use crate::error::WireError;
use crate::offsets::json::{push_consumer_protocol_json, push_value_json};
use crate::offsets::protocol::consumer_protocol;
use crate::offsets::{self, DecodedRecord, FieldValue};
use crate::python::imports::IllegalArgumentError;

/// Columns of decoded records, in the order of `assignor.spark.schemas.DECODED`.
pub(super) struct DecodedColumns {
    record_type: Int32Builder,
    type_name: BoundedTextColumn,
    group_id: BoundedTextColumn,
    tombstone: BooleanBuilder,
    version: Int32Builder,
    status: BoundedTextColumn,
    key_json: BoundedTextColumn,
    value_json: BoundedTextColumn,
    consumer_protocol_json: BoundedTextColumn,
    error: BoundedTextColumn,
    /// The JSON text that is written, as UTF-8.
    text: Vec<u8>,
}

impl DecodedColumns {
    pub(super) fn new() -> Self {
        let text = |name| BoundedTextColumn::new(name, LARGEST_OFFSET);
        Self {
            record_type: Int32Builder::new(),
            type_name: text("type_name"),
            group_id: text("group_id"),
            tombstone: BooleanBuilder::new(),
            version: Int32Builder::new(),
            status: text("status"),
            key_json: text("key_json"),
            value_json: text("value_json"),
            consumer_protocol_json: text("consumer_protocol_json"),
            error: text("error"),
            text: Vec::new(),
        }
    }

    /// Add a row for a record and its decoded fields.
    pub(super) fn push(
        &mut self,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        decoded: &Result<DecodedRecord<'_>, WireError>,
    ) -> Result<(), ColumnFull> {
        self.tombstone.append_value(value.is_none());
        match decoded {
            Ok(record) => self.push_record(record),
            Err(error) => {
                let record_type = key.and_then(offsets::type_of);
                let name = record_type.and_then(offsets::schema::record_type).map(|found| found.name);
                let read = offsets::decode_key(key).ok();
                self.record_type.append_option(record_type.map(i32::from));
                self.version.append_null();
                self.type_name.push(name)?;
                self.group_id.push(read.as_ref().and_then(DecodedRecord::group))?;
                self.status.push(Some("bad"))?;
                self.push_json(read.as_ref().map(DecodedRecord::key), None)?;
                self.consumer_protocol_json.push(None::<&str>)?;
                self.error.push(Some(error.to_string()))
            }
        }
    }

    fn push_record(&mut self, record: &DecodedRecord<'_>) -> Result<(), ColumnFull> {
        let known = record.status == offsets::Status::Decoded;
        self.record_type.append_value(record.record_type.into());
        self.version.append_option(record.version.map(i32::from));
        self.type_name.push(record.name)?;
        self.group_id.push(record.group())?;
        self.status.push(Some(record.status.as_str()))?;
        self.push_json(known.then(|| record.key()), record.value())?;
        if let Some(members) = consumer_protocol(record) {
            self.text.clear();
            push_consumer_protocol_json(&mut self.text, members);
            self.consumer_protocol_json.push(str::from_utf8(&self.text).ok())?;
        } else {
            self.consumer_protocol_json.push(None::<&str>)?;
        }
        self.error.push(None::<&str>)
    }

    /// Add the key and the value of a row.
    fn push_json(&mut self, key: Option<FieldValue<'_>>, value: Option<FieldValue<'_>>) -> Result<(), ColumnFull> {
        for (column, found) in [(&mut self.key_json, key), (&mut self.value_json, value)] {
            let Some(found) = found else {
                column.push(None::<&str>)?;
                continue;
            };
            self.text.clear();
            push_value_json(&mut self.text, found);
            column.push(str::from_utf8(&self.text).ok())?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> PyResult<RecordBatch> {
        let columns: [(&str, ArrayRef, bool); 10] = [
            ("type", Arc::new(self.record_type.finish()), true),
            ("type_name", self.type_name.finish(), true),
            ("group_id", self.group_id.finish(), true),
            ("tombstone", Arc::new(self.tombstone.finish()), false),
            ("version", Arc::new(self.version.finish()), true),
            ("status", self.status.finish(), false),
            ("key_json", self.key_json.finish(), true),
            ("value_json", self.value_json.finish(), true),
            ("consumer_protocol_json", self.consumer_protocol_json.finish(), true),
            ("error", self.error.finish(), true),
        ];
        let fields: Vec<_> =
            columns.iter().map(|(name, array, null)| Field::new(*name, array.data_type().clone(), *null)).collect();
        let arrays = columns.into_iter().map(|(_, array, _)| array).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|error| IllegalArgumentError::new_err(error.to_string()))
    }
}

/// Return the error for records whose decoded columns exceed Arrow's limit.
pub(super) fn too_many_records(full: &ColumnFull, rows: usize) -> PyErr {
    IllegalArgumentError::new_err(format!("{full} for {rows} records: pass fewer records per call"))
}

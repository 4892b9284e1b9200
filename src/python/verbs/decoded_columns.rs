//! Decoded records as Arrow columns.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use pyo3::prelude::*;

use super::table::{ColumnFull, Declared, LARGEST_OFFSET, Table, Type};
use crate::error::WireError;
use crate::offsets::json::{push_consumer_protocol_json, push_value_json};
use crate::offsets::protocol::consumer_protocol;
use crate::offsets::{self, DecodedRecord, FieldValue, Status};
use crate::python::imports::IllegalArgumentError;

/// Columns of decoded records, in the order of `assignor.spark.schemas.DECODED`.
const DECODED: [Declared; 10] = [
    ("type", Type::Int32),
    ("type_name", Type::Text),
    ("group_id", Type::Text),
    ("tombstone", Type::Boolean),
    ("version", Type::Int32),
    ("status", Type::Text),
    ("key_json", Type::Text),
    ("value_json", Type::Text),
    ("consumer_protocol_json", Type::Text),
    ("error", Type::Text),
];

/// Columns that are never null.
const REQUIRED: [&str; 2] = ["tombstone", "status"];

/// Columns of decoded records under construction.
pub(super) struct DecodedColumns {
    table: Table,
    /// The JSON text that is written, as UTF-8.
    text: Vec<u8>,
}

impl DecodedColumns {
    pub(super) fn new() -> Self {
        Self { table: Table::new(&DECODED, LARGEST_OFFSET), text: Vec::new() }
    }

    /// Add a row for a record and its decoded fields.
    pub(super) fn push(
        &mut self,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        decoded: &Result<DecodedRecord<'_>, WireError>,
    ) -> Result<(), ColumnFull> {
        let (mut row, text) = (self.table.row(), &mut self.text);
        match decoded {
            Ok(record) => {
                row.put(i32::from(record.record_type))?.put(record.name)?.put(record.group())?.put(value.is_none())?;
                row.put(record.version.map(i32::from))?.put(record.status.as_str())?;
                let key = (record.status == Status::Decoded).then(|| record.key());
                row.put(json(text, key))?.put(json(text, record.value()))?;
                if let Some(members) = consumer_protocol(record) {
                    text.clear();
                    push_consumer_protocol_json(text, members);
                    row.put(str::from_utf8(text).ok())?;
                }
            }
            Err(error) => {
                let record_type = key.and_then(offsets::type_of);
                let name = record_type.and_then(offsets::schema::record_type).map(|found| found.name);
                let read = offsets::decode_key(key).ok();
                row.put(record_type.map(i32::from))?.put(name)?;
                row.put(read.as_ref().and_then(DecodedRecord::group))?.put(value.is_none())?;
                row.put(None::<i32>)?.put("bad")?;
                row.put(json(text, read.as_ref().map(DecodedRecord::key)))?.put(None::<&str>)?.put(None::<&str>)?;
                row.put(&error.to_string())?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> PyResult<RecordBatch> {
        let (fields, arrays, _) = self.table.finish().into_parts();
        let fields: Vec<Field> = fields
            .iter()
            .map(|field| Field::clone(field).with_nullable(!REQUIRED.contains(&field.name().as_str())))
            .collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|error| IllegalArgumentError::new_err(error.to_string()))
    }
}

/// Write a field as JSON into `text`, and return it.
fn json<'a>(text: &'a mut Vec<u8>, field: Option<FieldValue<'_>>) -> Option<&'a str> {
    text.clear();
    push_value_json(text, field?);
    str::from_utf8(text).ok()
}

/// Return the error for records whose decoded columns exceed Arrow's limit.
pub(super) fn too_many_records(full: &ColumnFull, rows: usize) -> PyErr {
    IllegalArgumentError::new_err(format!("{full} for {rows} records: pass fewer records per call"))
}

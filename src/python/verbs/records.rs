//! `__consumer_offsets` records for Python: read and written one at a time as Python objects, read many at a time as Arrow
//! columns.

use std::num::NonZeroU32;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int32Builder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use pyo3_arrow::{PyArray, PyRecordBatch};

use crate::error::WireError;
use crate::offsets::json::{consumer_protocol_json, uuid_text, value_json};
use crate::offsets::protocol::{MemberProtocol, consumer_protocol};
use crate::offsets::{self, Record, Value};
use crate::python::imports::{IllegalArgumentError, WrongTypeError};
use crate::python::read;
use crate::python::verbs::bounded_columns::{ColumnFull, LARGEST_OFFSET, TextColumn};
use crate::wire::{Assignment, Subscription, TopicPartitions};

/// The partition of `__consumer_offsets` that holds a group.
#[pyfunction]
pub(crate) fn coordinator_partition(group: &str, partitions: NonZeroU32) -> u32 {
    offsets::coordinator_partition(group, partitions)
}

type PyRecord<'py> = (
    i16,
    Option<&'static str>,
    &'static str,
    Bound<'py, PyAny>,
    Option<i16>,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyList>>,
);

/// A record as Python objects.
#[pyfunction]
pub(crate) fn decode_record<'py>(py: Python<'py>, key: Option<&[u8]>, value: Option<&[u8]>) -> PyResult<PyRecord<'py>> {
    let record = py.detach(|| offsets::decode_record(key, value))?;
    let protocol = consumer_protocol(&record).map(|members| member_list(py, &members)).transpose()?;
    Ok((
        record.record_type,
        record.name,
        record.status.as_str(),
        object(py, &record.key)?,
        record.version,
        record.value.as_ref().map(|value| object(py, value)).transpose()?,
        protocol,
    ))
}

/// The bytes of a record's key and value; no value is a tombstone.
#[pyfunction]
pub(crate) fn encode_record<'py>(
    py: Python<'py>,
    record_type: &Bound<'py, PyAny>,
    key: &Bound<'py, PyAny>,
    version: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>)> {
    let record = read::record::read(record_type, key, version, value)?;
    let (key, value) = py.detach(|| offsets::encode_record(&record))?;
    Ok((PyBytes::new(py, &key), value.map(|value| PyBytes::new(py, &value))))
}

fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Int(number) => number.into_pyobject(py)?.into_any(),
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        Value::Uuid(uuid) => uuid_text(uuid).into_pyobject(py)?.into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(object(py, item)?)?;
            }
            list.into_any()
        }
        Value::Struct(fields) => {
            let dict = PyDict::new(py);
            for (name, value) in fields {
                dict.set_item(name, object(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

fn member_list<'py>(py: Python<'py>, members: &[MemberProtocol<'_>]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for member in members {
        let dict = PyDict::new(py);
        dict.set_item("memberId", member.member_id)?;
        if let Some(error) = &member.subscription_error {
            dict.set_item("subscriptionError", error.to_string())?;
        }
        if let Some(subscription) = &member.subscription {
            dict.set_item("subscriptionVersion", subscription.version)?;
            if let Some(tolerated) = subscription.tolerated {
                dict.set_item("subscriptionTolerated", tolerated)?;
            }
            dict.set_item("subscription", subscription_dict(py, subscription)?)?;
        } else if member.subscription_error.is_none() {
            dict.set_item("subscription", py.None())?;
        }
        if let Some(error) = &member.assignment_error {
            dict.set_item("assignmentError", error.to_string())?;
        } else if let Some(assignment) = &member.assignment {
            dict.set_item("assignmentVersion", assignment.version)?;
            dict.set_item("assignment", assignment_dict(py, assignment)?)?;
        } else {
            dict.set_item("assignment", py.None())?;
        }
        list.append(dict)?;
    }
    Ok(list)
}

fn subscription_dict<'py>(py: Python<'py>, subscription: &Subscription) -> PyResult<Bound<'py, PyDict>> {
    let body = subscription.body_version();
    let dict = PyDict::new(py);
    dict.set_item("topics", &subscription.topics)?;
    dict.set_item("userData", subscription.user_data.as_ref().map(|bytes| PyBytes::new(py, bytes)))?;
    if body >= 1 {
        dict.set_item("ownedPartitions", partition_dicts(py, &subscription.owned_partitions)?)?;
    }
    if body >= 2 {
        dict.set_item("generationId", subscription.generation_id)?;
    }
    if body >= 3 {
        dict.set_item("rackId", &subscription.rack_id)?;
    }
    Ok(dict)
}

fn assignment_dict<'py>(py: Python<'py>, assignment: &Assignment) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("assignedPartitions", partition_dicts(py, &assignment.assigned_partitions)?)?;
    dict.set_item("userData", assignment.user_data.as_ref().map(|bytes| PyBytes::new(py, bytes)))?;
    Ok(dict)
}

fn partition_dicts<'py>(py: Python<'py>, entries: &[TopicPartitions]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for entry in entries {
        let dict = PyDict::new(py);
        dict.set_item("topic", &entry.topic)?;
        dict.set_item("partitions", &entry.partitions)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// Many records at once: two binary columns in, the columns of [`DecodedColumns`] out.
#[pyfunction]
pub(crate) fn decode_batch(
    py: Python<'_>,
    keys: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
) -> PyResult<PyRecordBatch> {
    let (keys, values) = (BinaryColumn::new("keys", keys)?, BinaryColumn::new("values", values)?);
    let rows = keys.len();
    if rows != values.len() {
        let message = format!("keys has {rows} rows and values {}", values.len());
        return Err(IllegalArgumentError::new_err(message));
    }
    let columns = py.detach(|| {
        let mut columns = DecodedColumns::new();
        for row in 0..rows {
            let (key, value) = (keys.get(row), values.get(row));
            columns.push(key, value, &offsets::decode_record(key, value))?;
        }
        Ok(columns)
    });
    let columns = columns.map_err(|full| too_many_records(&full, rows))?;
    Ok(PyRecordBatch::new(columns.finish()?))
}

/// The error of records whose decoded columns pass the limit of Arrow.
pub(super) fn too_many_records(full: &ColumnFull, rows: usize) -> PyErr {
    IllegalArgumentError::new_err(format!("{full} in these {rows} records: hand over fewer"))
}

/// The group that each record key names; null where a key names none or cannot be read.
#[pyfunction]
pub(crate) fn record_groups(py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<PyArray> {
    let keys = BinaryColumn::new("keys", keys)?;
    let groups = py.detach(|| {
        let mut groups = TextColumn::new("group_id", LARGEST_OFFSET);
        for row in 0..keys.len() {
            groups.push(offsets::decode_key(keys.get(row)).ok().as_ref().and_then(Record::group))?;
        }
        Ok(groups)
    });
    let groups = groups.map_err(|full: ColumnFull| too_many_records(&full, keys.len()))?;
    Ok(PyArray::from_array_ref(groups.finish()))
}

/// A column of byte arrays, whichever width its offsets have.
pub(super) struct BinaryColumn(ArrayRef);

impl BinaryColumn {
    fn new(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Ok(array) = given.extract::<PyArray>() else {
            let message = format!("{name} is an Arrow array, not {}", given.get_type().name()?);
            return Err(WrongTypeError::new_err(message));
        };
        Self::from_array(name, array.into_inner().0)
    }

    pub(super) fn from_array(name: &str, array: ArrayRef) -> PyResult<Self> {
        match array.data_type() {
            DataType::Binary | DataType::LargeBinary => Ok(Self(array)),
            other => Err(WrongTypeError::new_err(format!("{name} is a column of {other}, not of binary"))),
        }
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, row: usize) -> Option<&[u8]> {
        if self.0.is_null(row) {
            return None;
        }
        let narrow = self.0.as_binary_opt::<i32>().map(|array| array.value(row));
        narrow.or_else(|| self.0.as_binary_opt::<i64>().map(|array| array.value(row)))
    }
}

/// Columns of decoded records, in the order of `assignor.spark.schemas.DECODED`.
pub(super) struct DecodedColumns {
    record_type: Int32Builder,
    type_name: TextColumn,
    group_id: TextColumn,
    tombstone: BooleanBuilder,
    version: Int32Builder,
    status: TextColumn,
    key_json: TextColumn,
    value_json: TextColumn,
    consumer_protocol_json: TextColumn,
    error: TextColumn,
}

impl DecodedColumns {
    pub(super) fn new() -> Self {
        let text = |name| TextColumn::new(name, LARGEST_OFFSET);
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
        }
    }

    /// Add a row for a record and what was decoded of it.
    pub(super) fn push(
        &mut self,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        decoded: &Result<Record, WireError>,
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
                self.group_id.push(read.as_ref().and_then(Record::group))?;
                self.status.push(Some("bad"))?;
                self.key_json.push(read.map(|record| value_json(&record.key)))?;
                self.value_json.push(None::<&str>)?;
                self.consumer_protocol_json.push(None::<&str>)?;
                self.error.push(Some(error.to_string()))
            }
        }
    }

    fn push_record(&mut self, record: &Record) -> Result<(), ColumnFull> {
        let known = record.status == offsets::Status::Decoded;
        self.record_type.append_value(record.record_type.into());
        self.version.append_option(record.version.map(i32::from));
        self.type_name.push(record.name)?;
        self.group_id.push(record.group())?;
        self.status.push(Some(record.status.as_str()))?;
        self.key_json.push(known.then(|| value_json(&record.key)))?;
        self.value_json.push(record.value.as_ref().map(value_json))?;
        let opened = consumer_protocol(record).map(|members| consumer_protocol_json(&members));
        self.consumer_protocol_json.push(opened)?;
        self.error.push(None::<&str>)
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

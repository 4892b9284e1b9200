//! Functions on one `__consumer_offsets` record: decode it, encode it, and find its partition.

use std::num::NonZeroU32;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::bytes::java_text;
use crate::offsets::json::uuid_text;
use crate::offsets::protocol::{MemberProtocol, consumer_protocol};
use crate::offsets::{self, Content, FieldValue};
use crate::python::read;
use crate::wire::{DecodedAssignment, DecodedSubscription, Elements};

/// Return the partition of `__consumer_offsets` that stores a group.
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

/// Decode a record into Python objects.
#[pyfunction]
pub(crate) fn decode_record<'py>(py: Python<'py>, key: Option<&[u8]>, value: Option<&[u8]>) -> PyResult<PyRecord<'py>> {
    let record = py.detach(|| offsets::decode_record(key, value))?;
    let protocol = consumer_protocol(&record).map(|members| member_list(py, members)).transpose()?;
    Ok((
        record.record_type,
        record.name,
        record.status.as_str(),
        object(py, record.key())?,
        record.version,
        record.value().map(|value| object(py, value)).transpose()?,
        protocol,
    ))
}

/// Return the bytes of the key and value of a record; the value of a tombstone is None.
#[pyfunction]
pub(crate) fn encode_record<'py>(
    py: Python<'py>,
    record_type: &Bound<'py, PyAny>,
    key: &Bound<'py, PyAny>,
    version: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>)> {
    encoded(py, &read::record::read(record_type, key, version, value)?)
}

/// Return the bytes of the key and value of a record whose value has one more field: an array of structures, given as tuples.
#[pyfunction]
pub(crate) fn encode_record_with_rows<'py>(
    py: Python<'py>,
    record_type: &Bound<'py, PyAny>,
    key: &Bound<'py, PyAny>,
    version: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
    array: &str,
    rows: &Bound<'py, PyList>,
) -> PyResult<(Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>)> {
    encoded(py, &read::record::read_with_rows(record_type, key, version, value, array, rows)?)
}

fn encoded<'py>(
    py: Python<'py>,
    record: &read::record::Record,
) -> PyResult<(Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>)> {
    let (key, value) = py.detach(|| offsets::encode_record(record))?;
    Ok((PyBytes::new(py, &key), value.map(|value| PyBytes::new(py, &value))))
}

fn object<'py>(py: Python<'py>, value: FieldValue<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value.content() {
        Content::Null => py.None().into_bound(py),
        Content::Int(number) => number.into_pyobject(py)?.into_any(),
        Content::Text(bytes) => java_text(bytes).into_pyobject(py)?.into_any(),
        Content::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        Content::Uuid(uuid) => uuid_text(&uuid).into_pyobject(py)?.into_any(),
        Content::Int32s(numbers) => PyList::new(py, numbers.iter())?.into_any(),
        Content::Array => {
            let list = PyList::empty(py);
            for item in value.items() {
                list.append(object(py, item)?)?;
            }
            list.into_any()
        }
        Content::Struct => {
            let dict = PyDict::new(py);
            for (name, value) in value.fields() {
                dict.set_item(name, object(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

fn member_list<'py, 'a>(
    py: Python<'py>,
    members: impl Iterator<Item = MemberProtocol<'a>>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for member in members {
        let dict = PyDict::new(py);
        dict.set_item("memberId", java_text(member.member_id))?;
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

fn subscription_dict<'py>(py: Python<'py>, subscription: &DecodedSubscription<'_>) -> PyResult<Bound<'py, PyDict>> {
    let body = subscription.body_version();
    let dict = PyDict::new(py);
    dict.set_item("topics", subscription.topics.topics().map(java_text).collect::<Vec<_>>())?;
    dict.set_item("userData", subscription.user_data.map(|bytes| PyBytes::new(py, bytes)))?;
    if body >= 1 {
        dict.set_item("ownedPartitions", partition_dicts(py, subscription.owned_partitions)?)?;
    }
    if body >= 2 {
        dict.set_item("generationId", subscription.generation_id)?;
    }
    if body >= 3 {
        dict.set_item("rackId", subscription.rack_id())?;
    }
    Ok(dict)
}

fn assignment_dict<'py>(py: Python<'py>, assignment: &DecodedAssignment<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("assignedPartitions", partition_dicts(py, assignment.assigned_partitions)?)?;
    dict.set_item("userData", assignment.user_data.map(|bytes| PyBytes::new(py, bytes)))?;
    Ok(dict)
}

fn partition_dicts<'py>(py: Python<'py>, entries: Elements<'_>) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for (topic, partitions) in entries.topic_partitions() {
        let dict = PyDict::new(py);
        dict.set_item("topic", java_text(topic))?;
        dict.set_item("partitions", PyList::new(py, partitions.iter())?)?;
        list.append(dict)?;
    }
    Ok(list)
}

//! Functions on `ConsumerProtocol` messages: decode bytes to raw fields, and encode raw fields.
//!
//! Decoded partitions are grouped by topic as in the bytes. Partitions to encode are (topic, partition) tuples, which are
//! grouped here.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::bytes::java_text;
use crate::python::error::{shown, wrong_type};
use crate::python::imports::IllegalArgumentError;
use crate::python::read::values::{index, is_int, iterate, with_name};
use crate::wire::{self, Assignment, Elements, Subscription, TopicPartitions};

type PyTopicPartitions = Vec<(String, Vec<i32>)>;

fn topic_partitions(entries: Elements<'_>) -> PyTopicPartitions {
    entries.topic_partitions().map(|(topic, ids)| (java_text(topic).into_owned(), ids.iter().collect())).collect()
}

type PySubscription<'py> =
    (i16, Vec<String>, Option<Bound<'py, PyBytes>>, PyTopicPartitions, i32, Option<String>, Option<i16>);

/// Decode a subscription into raw fields.
#[pyfunction]
pub(crate) fn decode_subscription<'py>(py: Python<'py>, data: &[u8], tolerant: bool) -> PyResult<PySubscription<'py>> {
    let read = py.detach(|| wire::decode_subscription(data, tolerant))?;
    Ok((
        read.version,
        read.topics.topics().map(|topic| java_text(topic).into_owned()).collect(),
        read.user_data.map(|bytes| PyBytes::new(py, bytes)),
        topic_partitions(read.owned_partitions),
        read.generation_id,
        read.rack_id().map(Cow::into_owned),
        read.tolerated,
    ))
}

/// Decode an assignment into raw fields.
#[pyfunction]
pub(crate) fn decode_assignment<'py>(
    py: Python<'py>,
    data: &[u8],
) -> PyResult<(i16, PyTopicPartitions, Option<Bound<'py, PyBytes>>)> {
    let read = py.detach(|| wire::decode_assignment(data))?;
    let user_data = read.user_data.map(|bytes| PyBytes::new(py, bytes));
    Ok((read.version, topic_partitions(read.assigned_partitions), user_data))
}

/// Return the bytes of a subscription.
#[pyfunction]
pub(crate) fn encode_subscription<'py>(
    py: Python<'py>,
    version: i16,
    topics: &Bound<'py, PyAny>,
    user_data: Option<&[u8]>,
    owned_partitions: &Bound<'py, PyAny>,
    generation_id: i32,
    rack_id: Option<String>,
) -> PyResult<Bound<'py, PyBytes>> {
    let subscription = Subscription {
        version,
        topics: names(topics)?,
        user_data: user_data.map(<[u8]>::to_vec),
        owned_partitions: partitions(owned_partitions, "subscription", "owned_partitions")?,
        generation_id,
        rack_id,
    };
    let data = py.detach(|| wire::encode_subscription(&subscription))?;
    Ok(PyBytes::new(py, &data))
}

/// Return the bytes of an assignment.
#[pyfunction]
pub(crate) fn encode_assignment<'py>(
    py: Python<'py>,
    version: i16,
    assigned_partitions: &Bound<'py, PyAny>,
    user_data: Option<&[u8]>,
) -> PyResult<Bound<'py, PyBytes>> {
    let assigned_partitions = partitions(assigned_partitions, "assignment", "partitions")?;
    let assignment = Assignment { version, assigned_partitions, user_data: user_data.map(<[u8]>::to_vec) };
    let data = py.detach(|| wire::encode_assignment(&assignment))?;
    Ok(PyBytes::new(py, &data))
}

fn names(given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let type_error = || wrong_type("subscription: topics", "an iterable of topic names", given);
    iterate(given, type_error)?
        .map(|name| with_name(&name?, || "subscription: a topic".into(), str::to_owned))
        .collect()
}

/// Return partitions in the order given. Consecutive partitions whose topic is the same `str` object are one entry.
fn partitions(given: &Bound<'_, PyAny>, owner: &str, field: &str) -> PyResult<Vec<TopicPartitions>> {
    let type_error = || wrong_type(&format!("{owner}: {field}"), "an iterable of (topic, partition)", given);
    let mut entries: Vec<TopicPartitions> = Vec::new();
    let mut last: Option<Bound<'_, PyAny>> = None;
    for pair in iterate(given, type_error)? {
        let pair = pair?;
        let (topic, id) = match pair.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => (pair.get_item(0)?, pair.get_item(1)?),
            _ => return Err(wrong_type(&format!("{owner}: a partition"), "a (topic, partition) tuple", &pair)),
        };
        if last.as_ref().is_none_or(|last| !last.is(&topic)) {
            let name = with_name(&topic, || format!("{owner}: a topic"), str::to_owned)?;
            entries.push(TopicPartitions { topic: name, partitions: Vec::new() });
            last = Some(topic);
        }
        let id = partition_id(&id, owner)?;
        if let Some(entry) = entries.last_mut() {
            entry.partitions.push(id);
        }
    }
    Ok(entries)
}

/// Return a partition id, which may be any int32.
fn partition_id(value: &Bound<'_, PyAny>, owner: &str) -> PyResult<i32> {
    if !is_int(value)? {
        return Err(wrong_type(&format!("{owner}: a partition id"), "an int", value));
    }
    let number = index(value, || format!("{owner}: a partition id"))?;
    number.extract().or_else(|_| {
        let reason = if number.lt(0)? { "under -2147483648" } else { "over 2147483647" };
        Err(IllegalArgumentError::new_err(format!("{owner}: a partition id cannot be {reason}: {}", shown(value))))
    })
}

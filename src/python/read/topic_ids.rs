//! Ids of topics: a mapping of topic names to UUIDs, in any form that Python or Kafka uses for them.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyString};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::named_topics::NamedTopics;
use super::values::{each_item, expected_len, with_name};
use crate::group::{Group, Names};
use crate::offsets::json::uuid_text;
use crate::python::error::{shown, wrong_type};
use crate::python::imports::{IllegalArgumentError, UUID};
use crate::python::objects::ints::unsigned;
use crate::python::objects::slots::Slots;

/// Distinct ids by topic name. Names of topics that do not exist are allowed.
pub(crate) struct TopicIds {
    names: Names,
    /// By name, in the same order.
    ids: Vec<u128>,
}

/// The slot of `uuid.UUID` that holds the number.
static SLOTS: PyOnceLock<Slots<1>> = PyOnceLock::new();

impl TopicIds {
    /// Parse a mapping.
    pub(crate) fn read(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = given.py();
        let expected = expected_len(given);
        let (mut names, mut ids) = (Names::with_capacity(expected), Vec::with_capacity(expected));
        let mut places: FxHashMap<u128, usize> = FxHashMap::with_capacity_and_hasher(expected, FxBuildHasher);
        let uuid = UUID.get(py)?;
        let slots = SLOTS.get_or_try_init(py, || Slots::new(uuid, ["int"]))?;
        each_item(given, "topic_ids", "topic names to ids", |name, value| {
            with_name(name, || "topic_ids: a topic name".into(), |name| names.push(name))?;
            let name = names.get(names.len() - 1);
            let id = if value.get_type_ptr() == uuid.as_type_ptr() {
                let id = slots.get(0, value)?;
                unsigned(&id).map_or_else(|| id.extract(), Ok)?
            } else {
                read_id(name, value)?
            };
            if let Some(place) = places.insert(id, ids.len()) {
                let text = uuid_text(&id.to_be_bytes());
                let reason = format!("topic_ids gives '{}' and '{name}' the same id: {text}", names.get(place));
                return Err(IllegalArgumentError::new_err(reason));
            }
            ids.push(id);
            Ok(())
        })?;
        Ok(Self { names, ids })
    }

    /// Set the ids of the topics that exist and of those that members own partitions of; other names have no effect. The members of the
    /// group must be complete.
    pub(crate) fn set_in(&self, group: &mut Group, topics: &NamedTopics) {
        // Usually the ids are in the order of the topics.
        let mut expected = topics.in_input_order();
        for (name, id) in self.names.iter().zip(&self.ids) {
            let next = expected.next().filter(|(topic, _)| group.topics().names().get(*topic as usize) == name);
            let topic = next.map(|(topic, _)| topic).or_else(|| group.known_owned_topic_number(name));
            if let Some(topic) = topic {
                group.set_topic_id(topic, *id);
            }
        }
    }

    /// Return the ids as integers by topic name, as the reference takes them.
    pub(crate) fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.names.iter().zip(&self.ids).map(|(name, id)| (name, *id)).into_py_dict(py)
    }
}

/// Parse an id: a `uuid.UUID`, 16 bytes, or text as Kafka or `uuid.UUID` prints ids.
fn read_id(topic: &str, value: &Bound<'_, PyAny>) -> PyResult<u128> {
    let wrong =
        |reason: &str| Err(IllegalArgumentError::new_err(format!("topic_ids['{topic}'] = {}: {reason}", shown(value))));
    if let Ok(bytes) = value.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        let Ok(id) = bytes.try_into() else {
            return wrong(&format!("an id has 16 bytes, not {}", bytes.len()));
        };
        return Ok(u128::from_be_bytes(id));
    }
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_cow().unwrap_or_default(); // text that UTF-8 cannot encode is not an id
        let id = from_kafka_text(&text).or_else(|| from_hexadecimal_text(&text));
        return id.map_or_else(
            || wrong("an id as text has 22 characters of URL-safe base64, or the form of str(uuid.UUID)"),
            Ok,
        );
    }
    if value.is_instance(UUID.get(value.py())?)? {
        return value.getattr("int")?.extract();
    }
    Err(wrong_type(&format!("topic_ids['{topic}']"), "a uuid.UUID, 16 bytes or a str", value))
}

/// URL-safe base64, as Kafka prints ids.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Characters of an id in base64: 128 bits, followed by four that have no meaning.
const CHARACTERS: u32 = 22;

fn from_kafka_text(text: &str) -> Option<u128> {
    if text.len() != CHARACTERS as usize {
        return None;
    }
    let mut id: u128 = 0;
    for (place, character) in text.bytes().enumerate() {
        let digit = ALPHABET.iter().position(|known| *known == character)? as u128;
        id = if place + 1 == CHARACTERS as usize { id << 2 | digit >> 4 } else { id << 6 | digit };
    }
    Some(id)
}

/// Parse the form of `str(uuid.UUID)`, such as `01234567-89ab-cdef-0123-456789abcdef`.
fn from_hexadecimal_text(text: &str) -> Option<u128> {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let digits = parts.concat();
    if lengths != [8, 4, 4, 4, 12] || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(&digits, 16).ok()
}

//! Ids of topics: a mapping of topic names to UUIDs in any of the forms that Python and Kafka have for them.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyString};
use rustc_hash::FxHashMap;

use super::values::{each_item, with_name};
use crate::group::Group;
use crate::python::error::{shown, wrong_type};
use crate::python::imports::{IllegalArgumentError, UUID};

/// Ids by topic name; no id is there twice. Names need not be those of topics.
#[derive(Default)]
pub(crate) struct TopicIds(Vec<(String, u128)>);

impl TopicIds {
    /// Parse a mapping, or None for no ids.
    pub(crate) fn read(given: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(given) = given else { return Ok(Self::default()) };
        let mut ids: Vec<(String, u128)> = Vec::with_capacity(given.len().unwrap_or(0));
        let mut places: FxHashMap<u128, usize> = FxHashMap::default();
        each_item(given, "topic_ids", "topic names to ids", |name, value| {
            let name = with_name(name, || "topic_ids: a topic name".into(), str::to_owned)?;
            let id = read_id(&name, value)?;
            if let Some(place) = places.insert(id, ids.len()) {
                let text = kafka_text(id);
                let reason = format!("topic_ids gives '{}' and '{name}' the same id: {text}", ids[place].0);
                return Err(IllegalArgumentError::new_err(reason));
            }
            ids.push((name, id));
            Ok(())
        })?;
        Ok(Self(ids))
    }

    /// Set the ids of a group's topics; names that are no topics have no effect.
    pub(crate) fn set_in(&self, group: &mut Group) {
        for (name, id) in &self.0 {
            let topic = group.topics().number(name);
            if let Some(topic) = topic {
                group.set_topic_id(topic, *id);
            }
        }
    }

    /// Return the ids as integers by topic name, as the reference takes them.
    pub(crate) fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.0.iter().map(|(name, id)| (name, *id)).into_py_dict(py)
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
        let text = text.to_cow().unwrap_or_default(); // text that UTF-8 cannot carry is no id
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

fn kafka_text(id: u128) -> String {
    let digit = |place: u32| {
        let digit = if place + 1 == CHARACTERS { id << 4 } else { id >> (122 - 6 * place) };
        char::from(ALPHABET[(digit & 63) as usize])
    };
    (0..CHARACTERS).map(digit).collect()
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

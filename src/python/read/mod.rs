//! Reads what Python hands over into a `Group`, and refuses with names what cannot be meant.
//!
//! User code may run while it is read (an iterable's `__iter__`, a mapping's `items`): mappings are listed first, their
//! size is checked once more, and what was learnt of objects by their identity is forgotten.

mod arrays;
mod columns;
mod fields;
mod joined;
mod members;
mod names;
mod objects;
mod racks;
mod restored;
mod topics;
mod values;

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(super) use fields::record;
pub(super) use joined::joined;
pub(super) use objects::Objects;
pub(super) use restored::restored;
pub(super) use topics::NamedTopics;
pub(super) use values::{is_int, is_text, iterate, with_name};

use super::topics::PyTopics;
use crate::group::Group;

/// A group, with the names of its members and topics as Python has them.
pub(super) struct Input {
    pub(super) group: Arc<Group>,
    pub(super) topics: Arc<NamedTopics>,
    pub(super) members: Arc<Objects>,
}

/// Reads both mappings.
pub(super) fn group(partitions_per_topic: &Bound<'_, PyAny>, subscriptions: &Bound<'_, PyAny>) -> PyResult<Input> {
    let topics = topics(partitions_per_topic)?;
    if !subscriptions.is_exact_instance_of::<PyDict>()
        && let Some(group) = columns::members(&topics, subscriptions)?
    {
        return Ok(Input { group: Arc::new(group), topics, members: Arc::default() });
    }
    let (group, members) = members::read(&topics, subscriptions)?;
    Ok(Input { group: Arc::new(group), topics, members: Arc::new(members.into()) })
}

/// Reads topics, or takes those that were read before.
pub(super) fn topics(partitions_per_topic: &Bound<'_, PyAny>) -> PyResult<Arc<NamedTopics>> {
    match partitions_per_topic.cast::<PyTopics>() {
        Ok(topics) => Ok(Arc::clone(&topics.get().0)),
        Err(_) => Ok(Arc::new(new_topics(partitions_per_topic)?)),
    }
}

/// Reads topics.
pub(super) fn new_topics(partitions_per_topic: &Bound<'_, PyAny>) -> PyResult<NamedTopics> {
    if !partitions_per_topic.is_exact_instance_of::<PyDict>()
        && let Some(topics) = columns::topics(partitions_per_topic)?
    {
        return Ok(topics);
    }
    topics::read(partitions_per_topic)
}

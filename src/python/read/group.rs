//! Reader of groups: topics and subscriptions as mappings or columns.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::name_objects::NameObjects;
use super::named_topics::NamedTopics;
use super::topic_ids::TopicIds;
use super::{member_columns, members};
use crate::group::Group;

/// Group with the names of its members and topics as Python objects.
pub(crate) struct GroupInput {
    pub(crate) group: Arc<Group>,
    pub(crate) topics: Arc<NamedTopics>,
    pub(crate) members: NameObjects,
}

/// Read the subscriptions of members: columns, or a mapping of member ids to subscriptions.
pub(crate) fn read(
    topics: Arc<NamedTopics>,
    subscriptions: &Bound<'_, PyAny>,
    topic_ids: Option<&TopicIds>,
) -> PyResult<GroupInput> {
    if !subscriptions.is_exact_instance_of::<PyDict>()
        && let Some(mut group) = member_columns::read(&topics, subscriptions)?
    {
        if let Some(topic_ids) = topic_ids {
            topic_ids.set_in(&mut group, &topics);
        }
        return Ok(GroupInput { group: Arc::new(group), topics, members: NameObjects::default() });
    }
    let (group, members) = members::read(&topics, subscriptions, topic_ids)?;
    Ok(GroupInput { group, topics, members: members.into() })
}

//! Reader of the members of a JoinGroup response, whose subscriptions are bytes.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::group::GroupInput;
use super::named_topics::NamedTopics;
use super::topic_ids::TopicIds;
use super::values::{iterate, plain, unique, with_name};
use crate::python::error::wrong_type;

use crate::group::GroupBuilder;

/// Read the members into a group.
pub(crate) fn read(
    topics: Arc<NamedTopics>,
    members: &Bound<'_, PyAny>,
    tolerant: bool,
    topic_ids: Option<&TopicIds>,
) -> PyResult<GroupInput> {
    let type_error = || wrong_type("members", "an iterable of (member id, group instance id, bytes)", members);
    let mut builder = GroupBuilder::new(Arc::clone(&topics.topics), tolerant);
    let mut objects = Vec::new();
    for (place, member) in iterate(members, type_error)?.enumerate() {
        let member = member?;
        let Ok((id, instance_id, subscription)) =
            member.extract::<(Bound<'_, PyAny>, Option<Bound<'_, PyAny>>, Bound<'_, PyAny>)>()
        else {
            return Err(wrong_type(&format!("members[{place}]"), "(member id, group instance id, bytes)", &member));
        };
        let id = plain(&id, || format!("members[{place}]: a member id"))?;
        let what = || format!("members[{place}]: a group instance id");
        let instance_id = instance_id.map(|name| with_name(&name, what, str::to_owned)).transpose()?;
        let Ok(subscription) = subscription.cast::<PyBytes>() else {
            return Err(wrong_type(&format!("members[{place}]: a subscription"), "bytes", &subscription));
        };
        let added = with_name(
            &id,
            || format!("members[{place}]: a member id"),
            |id| {
                builder
                    .push(id, instance_id.as_deref(), subscription.as_bytes())
                    .map_err(|error| error.within(&format!("member '{id}'")))
            },
        )?;
        added?;
        objects.push(id.unbind());
    }
    let mut group = builder.finish();
    unique("the group", group.members())?;
    if let Some(topic_ids) = topic_ids {
        topic_ids.set_in(&mut group, &topics);
    }
    Ok(GroupInput { group: Arc::new(group), topics, members: objects.into() })
}

//! Reads the members of a JoinGroup response, with their subscriptions as bytes.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::super::error::wrong_type;
use super::values::{is_text, iterate, plain, unique, with_name};
use super::{Input, topics};
use crate::group::GroupBuilder;

/// The group of these members.
pub(in crate::python) fn joined(
    partitions_per_topic: &Bound<'_, PyAny>,
    members: &Bound<'_, PyAny>,
    tolerant: bool,
) -> PyResult<Input> {
    let topics = topics(partitions_per_topic)?;
    let refused = || wrong_type("members", "an iterable of (member id, group instance id, bytes)", members);
    if is_text(members) {
        return Err(refused());
    }
    let mut builder = GroupBuilder::new(Arc::clone(&topics.topics), tolerant);
    let mut objects = Vec::new();
    for (place, member) in iterate(members, refused)?.enumerate() {
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
    let group = builder.finish();
    unique("the group", group.members())?;
    Ok(Input { group: Arc::new(group), topics, members: Arc::new(objects.into()) })
}

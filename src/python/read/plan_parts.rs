//! Reader of the parts of a plan, as `assignor.plan_json` documents them.

use std::sync::Arc;

use pyo3::prelude::*;

use super::group::GroupInput;
use super::name_objects::NameObjects;
use super::named_topics::NamedTopics;
use super::values::unique;
use crate::group::{FieldSizes, Group, Names, Partitions, Racks};
use crate::python::imports::IllegalArgumentError;

/// Id, subscription, instance id; sizes in bytes of user data, owned partitions and rack.
type PlanMember = (String, u32, Option<String>, usize, usize, usize);

/// Topics, subscriptions, members, columns of spans.
type PlanParts = (Vec<String>, Vec<Vec<String>>, Vec<PlanMember>, [Vec<i32>; 4]);

/// Return the group, and the columns of spans as given.
pub(crate) fn read(parts: &Bound<'_, PyAny>) -> PyResult<(GroupInput, [Vec<i32>; 4])> {
    let (names, subscriptions, members, columns): PlanParts = parts.extract()?;
    let wrong = |reason: String| Err(IllegalArgumentError::new_err(reason));
    let partitions = vec![Partitions::counted(0); names.len()];
    let names: Names = names.into_iter().collect();
    let topics = NamedTopics::new(NameObjects::default(), names, partitions, Racks::default().into_shared());
    if topics.order.is_some() {
        return wrong("topics have to be in Java's order".into());
    }
    unique("topics", topics.topics.names())?;
    let mut group = Group::new(Arc::clone(&topics.topics), members.len());
    let mut classes = Vec::new();
    for subscription in &subscriptions {
        let numbers: Vec<u32> = subscription.iter().map(|name| group.topic_number(name)).collect();
        classes.push(group.intern_subscription(&numbers));
    }
    for (id, subscription, instance_id, user_data, owned_partitions, rack) in &members {
        let Some(class) = classes.get(*subscription as usize) else {
            return wrong(format!("member '{id}': there is no subscription {subscription}"));
        };
        group.push(id, *class, instance_id.as_deref(), None);
        group.set_field_sizes(FieldSizes { user_data: *user_data, owned_partitions: *owned_partitions, rack: *rack });
    }
    unique("the plan", group.members())?;
    Ok((GroupInput { group: Arc::new(group), topics: Arc::new(topics), members: NameObjects::default() }, columns))
}

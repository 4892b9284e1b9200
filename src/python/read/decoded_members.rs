//! Reader of members whose subscriptions a Kafka client has decoded: a list per field of the subscription.

use std::borrow::Cow;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString};

use super::group::GroupInput;
use super::members::{Owner, intern_names, optional};
use super::named_topics::NamedTopics;
use super::subscriptions::SubscriptionInterner;
use super::topic_ids::TopicIds;
use super::values::{plain, unique, with_name};
use crate::group::Group;
use crate::python::error::wrong_type;
use crate::python::imports::IllegalArgumentError;
use crate::python::objects::ints;

/// Lists with an item for each member. Without a list, no member has such a value.
#[derive(FromPyObject)]
pub(crate) struct DecodedMembers<'py> {
    ids: Bound<'py, PyList>,
    topics: Bound<'py, PyList>,
    instance_ids: Option<Bound<'py, PyList>>,
    racks: Option<Bound<'py, PyList>>,
    user_data: Option<Bound<'py, PyList>>,
    /// Per member an iterable of (topic, partition ids).
    owned: Option<Bound<'py, PyList>>,
    generations: Option<Bound<'py, PyList>>,
}

/// The fields of `DecodedMembers`.
pub(crate) type Columns<'py> = (
    Bound<'py, PyList>,
    Bound<'py, PyList>,
    Option<Bound<'py, PyList>>,
    Option<Bound<'py, PyList>>,
    Option<Bound<'py, PyList>>,
    Option<Bound<'py, PyList>>,
    Option<Bound<'py, PyList>>,
);

impl<'py> From<Columns<'py>> for DecodedMembers<'py> {
    fn from((ids, topics, instance_ids, racks, user_data, owned, generations): Columns<'py>) -> Self {
        Self { ids, topics, instance_ids, racks, user_data, owned, generations }
    }
}

/// Read the members into a group. If `is_from_wire` is true, they own only the partitions that their subscriptions contain.
pub(crate) fn read(
    topics: Arc<NamedTopics>,
    members: &DecodedMembers<'_>,
    is_from_wire: bool,
    topic_ids: Option<&TopicIds>,
) -> PyResult<GroupInput> {
    let count = members.ids.len();
    check_length("topics", &members.topics, count)?;
    for (name, list) in [
        ("instance_ids", &members.instance_ids),
        ("racks", &members.racks),
        ("user_data", &members.user_data),
        ("owned", &members.owned),
        ("generations", &members.generations),
    ] {
        list.as_ref().map_or(Ok(()), |list| check_length(name, list, count))?;
    }
    ints::check(members.ids.py());
    let mut group = Group::new(Arc::clone(&topics.topics), count);
    if is_from_wire {
        group.set_from_wire();
    }
    let mut interner = SubscriptionInterner::new(topics.in_input_order());
    let mut objects = Vec::with_capacity(count);
    for place in 0..count {
        let id = plain(&members.ids.get_item(place)?, || format!("members.ids[{place}]"))?;
        with_name(
            &id,
            || format!("members.ids[{place}]"),
            |id| member(members, place, id, &mut group, &mut interner),
        )??;
        objects.push(id.unbind());
    }
    unique("the group", group.members())?;
    if let Some(topic_ids) = topic_ids {
        topic_ids.set_in(&mut group, &topics);
    }
    Ok(GroupInput { group: Arc::new(group), topics, members: objects.into() })
}

fn check_length(name: &str, list: &Bound<'_, PyList>, expected: usize) -> PyResult<()> {
    if list.len() == expected {
        return Ok(());
    }
    let reason = format!("members.{name} has {} items; members.ids has {expected}", list.len());
    Err(IllegalArgumentError::new_err(reason))
}

fn member(
    members: &DecodedMembers<'_>,
    place: usize,
    id: &str,
    group: &mut Group,
    interner: &mut SubscriptionInterner,
) -> PyResult<()> {
    let item = |list: &Option<_>| list.as_ref().map(|list: &Bound<'_, PyList>| list.get_item(place)).transpose();
    let subscription = intern_names(group, interner, &Owner::Member(id), &members.topics.get_item(place)?)?;
    let instance_id = item(&members.instance_ids)?;
    let instance_id = instance_id.as_ref().map_or(Ok(None), |value| optional(value, id, "group_instance_id"))?;
    let rack = item(&members.racks)?;
    let rack = rack.as_ref().map_or(Ok(None), |value| optional(value, id, "rack"))?;
    group.push(id, subscription, instance_id, rack);
    if let Some(owned) = item(&members.owned)? {
        push_owned(group, id, &owned)?;
        interner.forget_addresses(); // the objects of the client may run Python code
    }
    let user_data = item(&members.user_data)?;
    let user_data = user_data.as_ref().map_or(Ok(None), |value| {
        let type_error = |_| wrong_type(&format!("member '{id}': user_data"), "bytes or None", value);
        value.extract::<Option<Cow<'_, [u8]>>>().map_err(type_error)
    })?;
    let generation = item(&members.generations)?;
    let generation = generation.as_ref().map_or(Ok(None), |value| {
        let type_error = || wrong_type(&format!("member '{id}': generation"), "an int", value);
        if value.is_instance_of::<PyInt>() { Ok(value.extract::<i32>().ok()) } else { Err(type_error()) }
    })?;
    group.set_member_data(user_data.as_deref(), generation.filter(|generation: &i32| *generation >= 0));
    Ok(())
}

fn push_owned(group: &mut Group, id: &str, owned: &Bound<'_, PyAny>) -> PyResult<()> {
    for entry in owned.try_iter()? {
        let entry = entry?;
        let Ok((topic, ids)) = entry.extract::<(Bound<'_, PyString>, Bound<'_, PyAny>)>() else {
            return Err(wrong_type(&format!("member '{id}': an entry of owned"), "(topic, partition ids)", &entry));
        };
        let name = || format!("member '{id}': an owned topic");
        let topic = with_name(&topic, name, |name| group.owned_topic_number(name))?;
        for partition in ids.try_iter()? {
            group.push_owned_id(topic, partition?.extract().unwrap_or(-1)); // no partition has an id beyond int32
        }
    }
    Ok(())
}

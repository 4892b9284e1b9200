//! Puts a group together again from what a plan says it is made of (`assignor.plan_json` says what that is).

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::super::error::IllegalArgumentError;
use super::Input;
use super::topics::NamedTopics;
use crate::group::{Extra, Group, NameTable, Names, Partitions, Racks};

/// Id, subscription, instance id; bytes of user data, owned partitions and rack.
type Member = (String, u32, Option<String>, usize, usize, usize);

/// The group, and the columns of spans as they came.
pub(in super::super) fn restored(parts: &Bound<'_, PyAny>) -> PyResult<(Input, [Vec<i32>; 4])> {
    let py = parts.py();
    let (names, subscriptions, members, columns): (Vec<String>, Vec<Vec<String>>, Vec<Member>, [Vec<i32>; 4]) =
        parts.extract()?;
    let wrong = |reason: String| Err(IllegalArgumentError::new_err(reason));
    let objects = names.iter().map(|name| PyString::new(py, name).unbind()).collect();
    let partitions = vec![Partitions::counted(0); names.len()];
    let names: Names = names.into_iter().collect();
    let topics = NamedTopics::new(objects, names, partitions, Racks::default());
    if topics.order.is_some() {
        return wrong("topics have to be in Java's order".into());
    }
    let mut group = Group::new(Arc::clone(&topics.topics), members.len());
    let mut classes = Vec::new();
    for subscription in &subscriptions {
        let mut numbers = subscription.iter().map(|name| group.topic_number(name)).collect();
        classes.push(group.class(&mut numbers));
    }
    for (id, subscription, instance_id, user_data, owned_partitions, rack) in &members {
        let Some(class) = classes.get(*subscription as usize) else {
            return wrong(format!("member '{id}': there is no subscription {subscription}"));
        };
        group.push(id, *class, instance_id.as_deref(), None);
        if user_data + owned_partitions + rack > 0 {
            group.note_extra(Extra { user_data: *user_data, owned_partitions: *owned_partitions, rack: *rack });
        }
    }
    let table = NameTable::of(group.members());
    let twice = members.iter().enumerate().find(|(number, (id, ..))| {
        table.number(group.members(), id) != Some(*number as u32)
    });
    if let Some((_, (id, ..))) = twice {
        return wrong(format!("member '{id}' is there twice"));
    }
    let members = members.iter().map(|(id, ..)| PyString::new(py, id).unbind()).collect();
    Ok((Input { group: Arc::new(group), topics: Arc::new(topics), members: Arc::new(members) }, columns))
}

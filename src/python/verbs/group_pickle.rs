//! Pickling and copying of groups and topics, which cannot change.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use rustc_hash::FxHashMap;

use super::group::PyGroup;
use super::topics::{PyTopics, topics_of};
use crate::group::{Group, MemberData, MemberRack};
use crate::python::read::decoded_members::{self, Columns};
use crate::python::read::topic_ids::TopicIds;

#[pymethods]
impl PyTopics {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>,))> {
        Ok((slf.get_type().into_any(), (slf.get().as_given(slf.py())?,)))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        slf
    }
}

/// Arguments of `Group._restore`.
type Parts<'py> = (Bound<'py, PyAny>, Columns<'py>, Bound<'py, PyDict>, bool);

#[pymethods]
impl PyGroup {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let (py, this) = (slf.py(), slf.get());
        let topics = PyTopics(Arc::clone(&this.topics));
        let topics = if topics.0.shared.is_some() {
            Bound::new(py, topics)?.into_any()
        } else {
            topics.as_given(py)?.into_any()
        };
        let ids = PyDict::new(py);
        for (name, id) in this.group.given_topic_ids() {
            ids.set_item(name, PyBytes::new(py, &id.to_be_bytes()))?;
        }
        let restore = slf.get_type().getattr("_restore")?;
        Ok((restore, (topics, columns(py, &this.group)?, ids, this.group.is_from_wire())))
    }

    /// Return the group of the arguments that `__reduce__` returned.
    #[staticmethod]
    fn _restore(
        partitions_per_topic: &Bound<'_, PyAny>,
        members: Columns<'_>,
        topic_ids: &Bound<'_, PyAny>,
        is_from_wire: bool,
    ) -> PyResult<Self> {
        let topics = topics_of(partitions_per_topic)?;
        let input = decoded_members::read(topics, &members.into(), is_from_wire, Some(&TopicIds::read(topic_ids)?))?;
        Self::of(partitions_per_topic.py(), input)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        slf
    }
}

/// Return the members as columns. Members with the same topics share a list.
fn columns<'py>(py: Python<'py>, group: &Group) -> PyResult<Columns<'py>> {
    let members = 0..group.members().len();
    let mut lists: FxHashMap<(*const u32, usize), Bound<'py, PyList>> = FxHashMap::default();
    let topics = PyList::empty(py);
    let owned = PyList::empty(py);
    let (mut user_data, mut generations) = (Vec::new(), Vec::new());
    for member in members.clone() {
        let numbers = group.topics_as_given(member);
        let list = match lists.entry((numbers.as_ptr(), numbers.len())) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                place.insert(PyList::new(py, numbers.iter().map(|number| group.topic_name(*number)))?)
            }
        };
        topics.append(&*list)?;
        let data = group.member_data(member);
        let of_member = data.into_iter().flat_map(MemberData::owned);
        owned.append(PyList::new(py, of_member.map(|(topic, ids)| (group.owned_topic_name(topic), ids)))?)?;
        user_data.push(data.and_then(|data| data.user_data).map(|data| PyBytes::new(py, data)));
        generations.push(data.and_then(|data| data.generation).unwrap_or(-1));
    }
    Ok((
        PyList::new(py, group.members().iter())?,
        topics,
        Some(PyList::new(py, members.clone().map(|member| group.instance_id(member)))?),
        Some(PyList::new(py, members.map(|member| rack(group, member)))?),
        Some(PyList::new(py, user_data)?),
        Some(owned),
        Some(PyList::new(py, generations)?),
    ))
}

/// Return the rack of a member; for a rack without replicas, whose name the group does not keep, another name of this length.
fn rack(group: &Group, member: usize) -> Option<String> {
    let racks = group.topics().racks();
    match group.rack_of(member) {
        MemberRack::Unset => None,
        MemberRack::WithReplicas(rack) => Some(racks.name(rack).to_owned()),
        MemberRack::WithoutReplicas => {
            let length = group.field_sizes(member).rack;
            ('\x01'..='\x7f')
                .map(|character| character.to_string().repeat(length))
                .find(|name| racks.known(name).is_none())
        }
    }
}

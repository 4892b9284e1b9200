//! Reads what Python hands over into a `Group`, and refuses with names what cannot be meant.
//!
//! User code may run while it is read (an iterable's `__iter__`, a mapping's `items`): mappings are listed first, their
//! size is checked after every entry, and what was learnt of objects by their identity is forgotten.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFrozenSet, PyInt, PyIterator, PyList, PyMapping, PySet, PyString, PyTuple,
    PyType,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::error::{IllegalArgumentError, shown, wrong_type};
use crate::group::{Classes, Group, Member, Racks, Topic, Topics};

/// Reads both mappings.
pub(super) fn group(partitions_per_topic: &Bound<'_, PyAny>, subscriptions: &Bound<'_, PyAny>) -> PyResult<Group> {
    let mut racks = Racks::default();
    let topics = topics(partitions_per_topic, &mut racks)?;
    let mut reader = MemberReader {
        topics: &topics,
        racks: &mut racks,
        classes: Classes::default(),
        strings: FxHashMap::default(),
        containers: FxHashMap::default(),
    };
    let mut members = Vec::new();
    each_item(subscriptions, "subscriptions", "member ids to subscriptions", |name, subscription| {
        let id = name_of(&name, || "a member id".into())?;
        members.push(reader.member(id, subscription)?);
        Ok(())
    })?;
    let classes = reader.classes;
    Ok(Group { topics, members, classes, racks })
}

fn topics(partitions_per_topic: &Bound<'_, PyAny>, racks: &mut Racks) -> PyResult<Topics> {
    let mut topics = Vec::new();
    each_item(partitions_per_topic, "partitions_per_topic", "topics to partitions", |name, partitions| {
        topics.push(topic(name_of(&name, || "a topic name".into())?, &partitions, racks)?);
        Ok(())
    })?;
    Ok(Topics::new(topics))
}

fn topic(name: String, partitions: &Bound<'_, PyAny>, racks: &mut Racks) -> PyResult<Topic> {
    let refused = || wrong_type(&format!("topic '{name}': partitions"), "a count or an iterable of ids", partitions);
    if is_text(partitions) {
        return Err(refused());
    }
    if is_int(partitions)? {
        let count = int(partitions, || format!("topic '{name}': a partition count"))?;
        return Ok(Topic::counted(name, count as u32));
    }
    let entries = iterate(partitions, refused)?;
    let info = PARTITION_INFO.import(partitions.py(), "assignor.model", "PartitionInfo")?;
    let mut listed = Vec::new();
    for entry in entries {
        listed.push(partition(&name, &entry?, info, racks)?);
    }
    Ok(Topic::listed(name, listed, racks)?)
}

fn partition(
    topic: &str,
    entry: &Bound<'_, PyAny>,
    info: &Bound<'_, PyType>,
    racks: &mut Racks,
) -> PyResult<(i32, Vec<u32>)> {
    if !entry.is_instance(info)? {
        return Ok((int(entry, || format!("topic '{topic}': a partition id"))?, Vec::new()));
    }
    let id = int(&entry.getattr(intern!(entry.py(), "partition"))?, || format!("topic '{topic}': a partition id"))?;
    let replicas = entry.getattr(intern!(entry.py(), "racks"))?;
    let refused =
        || wrong_type(&format!("topic '{topic}', partition {id}: racks"), "an iterable of str or None", &replicas);
    if is_text(&replicas) {
        return Err(refused());
    }
    let mut on = Vec::new();
    for rack in iterate(&replicas, refused)? {
        let rack = rack?;
        if !rack.is_none() {
            let what = || format!("topic '{topic}', partition {id}: a rack");
            on.push(with_name(&rack, what, |rack| racks.number(rack))?);
        }
    }
    Ok((id, on))
}

/// Reads members, each distinct subscription once.
struct MemberReader<'a, 'py> {
    topics: &'a Topics,
    racks: &'a mut Racks,
    classes: Classes,
    /// Topic numbers of `str` objects seen, by identity; holding the object keeps its address from being used again.
    strings: FxHashMap<usize, (Bound<'py, PyAny>, Option<u32>)>,
    /// Classes of built-in containers seen, by identity, kept alive likewise; forgotten whenever user code has run.
    containers: FxHashMap<usize, (Bound<'py, PyAny>, u32)>,
}

impl<'py> MemberReader<'_, 'py> {
    fn member(&mut self, id: String, subscription: Bound<'py, PyAny>) -> PyResult<Member> {
        if !subscription.is_instance(SUBSCRIPTION.import(subscription.py(), "assignor.model", "Subscription")?)? {
            let class = self.class(&id, subscription)?;
            return Ok(Member { id, instance_id: None, rack: None, class });
        }
        if !subscription.get_type().is(SUBSCRIPTION.import(subscription.py(), "assignor.model", "Subscription")?) {
            self.containers.clear(); // its attributes may be user code too
        }
        let instance_id = subscription.getattr("group_instance_id")?;
        let instance_id = if instance_id.is_none() {
            None
        } else {
            Some(name_of(&instance_id, || format!("member '{id}': group_instance_id"))?)
        };
        let rack = subscription.getattr("rack")?;
        let rack = if rack.is_none() { None } else { Some(name_of(&rack, || format!("member '{id}': rack"))?) };
        let rack = rack.filter(|rack| !rack.is_empty()).map(|rack| self.racks.number(&rack));
        let class = self.class(&id, subscription.getattr("topics")?)?;
        Ok(Member { id, instance_id, rack, class })
    }

    fn class(&mut self, member: &str, names: Bound<'py, PyAny>) -> PyResult<u32> {
        let address = names.as_ptr() as usize;
        if let Some((_, class)) = self.containers.get(&address) {
            return Ok(*class);
        }
        let refused = || wrong_type(&format!("member '{member}': topics"), "an iterable of topic names", &names);
        if is_text(&names) {
            return Err(refused());
        }
        let remember = is_container(&names);
        if !remember {
            // Here user code runs, which may change any list that was read before.
            self.containers.clear();
        }
        let mut numbers = Vec::new();
        for name in iterate(&names, refused)? {
            numbers.extend(self.topic(member, name?, remember)?);
        }
        let class = self.classes.number(numbers);
        if remember {
            self.containers.insert(address, (names, class));
        }
        Ok(class)
    }

    /// The number of a topic; None for one that does not exist. `remember` it by the identity of its name.
    fn topic(&mut self, member: &str, name: Bound<'py, PyAny>, remember: bool) -> PyResult<Option<u32>> {
        let address = name.as_ptr() as usize;
        if let Some((_, number)) = self.strings.get(&address) {
            return Ok(*number);
        }
        let number = with_name(&name, || format!("member '{member}': a topic"), |name| self.topics.number(name))?;
        if remember {
            self.strings.insert(address, (name, number));
        }
        Ok(number)
    }
}

static PARTITION_INFO: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static SUBSCRIPTION: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Calls `read` with every entry of a mapping, and fails if its size changes meanwhile.
fn each_item<'py>(
    mapping: &Bound<'py, PyAny>,
    what: &str,
    wanted: &str,
    mut read: impl FnMut(Bound<'py, PyAny>, Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let Ok(mapping) = mapping.cast::<PyMapping>() else {
        return Err(wrong_type(what, &format!("a mapping of {wanted}"), mapping));
    };
    let size = mapping.len()?;
    // A dict whose keys are all plain strings has each of them once; anything else may say a name twice.
    let items: Vec<[Bound<'py, PyAny>; 2]> = mapping.items()?.extract()?;
    let once =
        mapping.is_exact_instance_of::<PyDict>() && items.iter().all(|[key, _]| key.is_exact_instance_of::<PyString>());
    let mut names = FxHashSet::default();
    for [key, value] in items {
        if !once
            && let Ok(name) = key.cast::<PyString>()
            && !names.insert(name.to_string_lossy().into_owned())
        {
            return Err(IllegalArgumentError::new_err(format!("{what} has '{name}' twice")));
        }
        read(key, value)?;
        let now = mapping.len()?;
        if now != size {
            return Err(IllegalArgumentError::new_err(format!(
                "{what} changed size while it was read: {size} entries, then {now}"
            )));
        }
    }
    Ok(())
}

/// Iterates, with an error of our own for what is no iterable.
pub(super) fn iterate<'py>(
    value: &Bound<'py, PyAny>,
    refused: impl FnOnce() -> PyErr,
) -> PyResult<Bound<'py, PyIterator>> {
    match value.try_iter() {
        Ok(entries) => Ok(entries),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) && !value.hasattr("__iter__")? => Err(refused()),
        Err(error) => Err(error),
    }
}

/// Whether it is an integer, of numpy perhaps; an array has `__index__` as well, but is there to be iterated.
pub(super) fn is_int(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_instance_of::<PyInt>() {
        return Ok(!value.is_instance_of::<PyBool>());
    }
    let kind = value.get_type();
    Ok(kind.hasattr("__index__")? && !kind.hasattr("__iter__")?)
}

fn int(value: &Bound<'_, PyAny>, what: impl Fn() -> String) -> PyResult<i32> {
    if !is_int(value)? {
        return Err(wrong_type(&what(), "an int", value));
    }
    let number = if value.is_instance_of::<PyInt>() { value.clone() } else { value.call_method0("__index__")? };
    let reason = match number.extract::<i32>() {
        Ok(number) if number >= 0 => return Ok(number),
        _ if number.lt(0)? => "cannot be negative".to_owned(),
        _ => format!("cannot be over {}", i32::MAX),
    };
    Err(IllegalArgumentError::new_err(format!("{} {reason}: {}", what(), shown(value))))
}

fn name_of(value: &Bound<'_, PyAny>, what: impl Fn() -> String) -> PyResult<String> {
    with_name(value, what, str::to_owned)
}

/// What `read` makes of a `str` that UTF-8 can carry.
pub(super) fn with_name<T>(
    value: &Bound<'_, PyAny>,
    what: impl Fn() -> String,
    read: impl FnOnce(&str) -> T,
) -> PyResult<T> {
    let Ok(name) = value.cast::<PyString>() else {
        return Err(wrong_type(&what(), "a str", value));
    };
    match name.to_cow() {
        Ok(name) => Ok(read(&name)),
        Err(_) => Err(IllegalArgumentError::new_err(format!(
            "{} has a lone surrogate, which UTF-8 cannot carry: {}",
            what(),
            shown(value)
        ))),
    }
}

/// Whether it is text or bytes, which can be iterated but is never meant to be.
pub(super) fn is_text(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>()
}

fn is_container(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyTuple>()
        || value.is_exact_instance_of::<PyList>()
        || value.is_exact_instance_of::<PySet>()
        || value.is_exact_instance_of::<PyFrozenSet>()
}

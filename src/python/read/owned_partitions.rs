//! Reader of assignments to check: a mapping of member ids to partitions, or a plan.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyTuple};

use super::values::{index, is_int, iterate, pairs, with_name};
use crate::check::{CheckedAssignment, IdSpan};
use crate::plan::Plan;
use crate::python::error::{shown, wrong_type};
use crate::python::imports::IllegalArgumentError;
use crate::python::objects::entries::{Entry, lend};
use crate::python::objects::tuple_class::TupleClass;

/// First of the numbers that replace ids from 2^62 on; no topic has a partition with such an id.
const LARGE: i64 = 1 << 62;

/// Python objects of an assignment.
#[derive(Default)]
pub(crate) struct OwnedObjects<'py> {
    /// Member ids, in the order of the assignment.
    pub(crate) members: Vec<Bound<'py, PyAny>>,
    /// Ids that are too large for the engine, ascending.
    large: Vec<Bound<'py, PyAny>>,
}

impl<'py> OwnedObjects<'py> {
    /// Return the objects of a plan, which has no large ids.
    pub(crate) fn of_plan(members: Vec<Bound<'py, PyAny>>) -> Self {
        Self { members, large: Vec::new() }
    }

    /// Return the id of a partition as a Python object.
    pub(crate) fn id(&self, py: Python<'py>, id: i64) -> PyResult<Bound<'py, PyAny>> {
        match id.checked_sub(LARGE).and_then(|place| self.large.get(usize::try_from(place).ok()?)) {
            Some(large) => Ok(large.clone()),
            None => Ok(id.into_pyobject(py)?.into_any()),
        }
    }
}

/// Read the spans of a plan; its members and topics may differ from those of the group.
pub(crate) fn read_plan(plan: &Plan, assignment: &mut CheckedAssignment<'_>) {
    let topics: Vec<u32> =
        (0..).zip(plan.topics().iter()).map(|(near, name)| assignment.topic_number(name, near)).collect();
    let columns = plan.columns();
    for (number, id) in plan.members().iter().enumerate() {
        assignment.push_member(id);
        for span in columns.spans_of(number) {
            let (topic, start) = (topics[span.topic as usize], i64::from(span.start));
            assignment.push_span(IdSpan { topic, start, end: span.end() });
        }
    }
}

/// Read a mapping of member ids to partitions.
pub(crate) fn read<'py>(
    given: &Bound<'py, PyAny>,
    class: &TupleClass,
    assignment: &mut CheckedAssignment<'_>,
) -> PyResult<OwnedObjects<'py>> {
    let Ok(mapping) = given.cast::<PyMapping>() else {
        return Err(wrong_type("assignment", "a mapping of member ids to partitions", given));
    };
    let mut found = OwnedObjects::default();
    let mut items = Vec::new();
    if let Ok(dict) = mapping.cast_exact::<PyDict>() {
        items.extend(dict.iter());
    } else {
        items = pairs(mapping, "assignment")?;
    }
    for (member, partitions) in items {
        with_name(&member, || "a member id".into(), |id| assignment.push_member(id))?;
        let read = lend(&partitions, |entries| read_entries(entries, class, assignment));
        if read != Some(true) {
            assignment.clear_member();
            read_iterable(&member, &partitions, assignment, &mut found.large)?;
        }
        found.members.push(member);
    }
    sort_large(&mut found.large, assignment)?;
    Ok(found)
}

/// Read pairs of a plain `str` and `int`; return false at the first entry of another kind.
fn read_entries(entries: &[Entry<'_>], class: &TupleClass, assignment: &mut CheckedAssignment<'_>) -> bool {
    let (mut topic, mut address) = (0, 0);
    let mut items = Vec::new();
    for entry in entries {
        let pair = entry.pair(class).or_else(|| {
            entry.tuple(&mut items)?;
            <[Entry<'_>; 2]>::try_from(items.as_slice()).ok()
        });
        let Some([name, id]) = pair else { return false };
        let Some(id) = id.int().filter(|id| *id >= 0) else { return false };
        if name.address() != address {
            let Some(text) = name.text() else { return false };
            topic = assignment.topic_number(text, topic);
            address = name.address();
        }
        assignment.push(topic, i64::from(id));
    }
    true
}

/// Read pairs one by one from an iterable, which may be user code; errors name the member.
fn read_iterable<'py>(
    member: &Bound<'py, PyAny>,
    partitions: &Bound<'py, PyAny>,
    assignment: &mut CheckedAssignment<'_>,
    large: &mut Vec<Bound<'py, PyAny>>,
) -> PyResult<()> {
    let owner = format!("member '{}'", member.str()?.to_cow()?);
    let wrong = || wrong_type(&format!("{owner}: partitions"), "an iterable of (topic, partition)", partitions);
    if !partitions.get_type().hasattr("__iter__")? {
        return Err(wrong()); // `iterate` accepts objects that are only indexed
    }
    for entry in iterate(partitions, wrong)? {
        let entry = entry?;
        let items: Vec<Bound<'py, PyAny>> = match entry.cast::<PyTuple>() {
            Ok(tuple) => tuple.iter().collect(),
            Err(_) => Vec::new(),
        };
        let [topic, id] = items.as_slice() else {
            return Err(wrong_type(&format!("{owner}: a partition"), "a (topic, partition) tuple", &entry));
        };
        let topic =
            with_name(topic, || format!("{owner}: a topic"), |name| assignment.topic_number(name, u32::MAX - 1))?;
        if !is_int(id)? {
            return Err(wrong_type(&format!("{owner}: a partition id"), "an int", id));
        }
        let given = id;
        let id = index(given, || format!("{owner}: a partition id"))?;
        if id.lt(0)? {
            let reason = format!("{owner}: a partition id cannot be negative: {}", shown(given));
            return Err(IllegalArgumentError::new_err(reason));
        }
        match id.extract::<i64>() {
            Ok(id) if id < LARGE => assignment.push(topic, id),
            _ => {
                let start = i64::MAX - 1 - large.len() as i64;
                assignment.push_span(IdSpan { topic, start, end: start + 1 });
                large.push(id);
            }
        }
    }
    Ok(())
}

/// Number large ids in ascending order; equal ids get the same number.
fn sort_large(large: &mut Vec<Bound<'_, PyAny>>, assignment: &mut CheckedAssignment<'_>) -> PyResult<()> {
    let given = std::mem::take(large);
    let mut ranks = vec![0; given.len()];
    let mut order: Vec<usize> = (0..given.len()).collect();
    order.sort_by(|left, right| given[*left].compare(&given[*right]).unwrap_or(std::cmp::Ordering::Equal));
    for place in order {
        if large.last().map(|last| last.eq(&given[place])).transpose()? != Some(true) {
            large.push(given[place].clone());
        }
        ranks[place] = large.len() as i64 - 1;
    }
    assignment.replace_ids(LARGE, |id| LARGE + ranks[(i64::MAX - 1 - id) as usize]);
    Ok(())
}

//! The function `check`.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use rustc_hash::FxHashMap;

use super::partition_lists::{ListBuilder, partition_class};
use super::plan::mapping::PyPlan;
use super::topics::topics_of;
use crate::assign::GroupProtocol;
use crate::check::{CheckedAssignment, Findings, IdSpan};
use crate::memory::{self, OutOfMemory};
use crate::plan::Span;
use crate::python::imports::TOPIC_PARTITION;
use crate::python::read;
use crate::python::read::group::GroupInput;
use crate::python::read::named_topics::NamedTopics;
use crate::python::read::owned_partitions::{self, OwnedObjects};

/// Memory for a partition with its id, its entry in a tuple and its entry in the list that the tuple is made of.
const BYTES_PER_PARTITION: u64 = 64 + 32 + 8 + 8;

/// Memory for a pair of member and partition: the partition, the pair, and its entries in a tuple and in the list that the tuple is
/// made of.
const BYTES_PER_PAIR: u64 = BYTES_PER_PARTITION + 64 + 8 + 16;

type PyFindings<'py> = (Bound<'py, PyTuple>, Bound<'py, PyTuple>, Bound<'py, PyTuple>, Bound<'py, PyTuple>);

/// Return the problems of an assignment as the four fields of `Findings`.
///
/// Arguments and errors are those of `assignor.check`. A `Plan` is read by its spans, without building lists.
#[pyfunction]
#[pyo3(
    signature = (assignment, partitions_per_topic, subscriptions, *, group_protocol = GroupProtocol::Classic),
    text_signature = "(assignment, partitions_per_topic, subscriptions, *, group_protocol='classic')"
)]
pub(crate) fn check<'py>(
    py: Python<'py>,
    assignment: &Bound<'py, PyAny>,
    partitions_per_topic: &Bound<'py, PyAny>,
    subscriptions: &Bound<'py, PyAny>,
    group_protocol: GroupProtocol,
) -> PyResult<PyFindings<'py>> {
    let GroupInput { group, topics, .. } = read::group::read(topics_of(partitions_per_topic)?, subscriptions, None)?;
    let mut found = CheckedAssignment::new(&group, group_protocol == GroupProtocol::Share);
    let objects = match assignment.cast::<PyPlan>() {
        Ok(plan) => {
            let plan = plan.get();
            let assigned = plan.with_columns()?;
            py.detach(|| owned_partitions::read_plan(assigned, &mut found));
            let members = plan.ids(py).iter().map(|id| id.bind(py).clone().into_any()).collect();
            OwnedObjects::of_plan(members)
        }
        Err(_) => owned_partitions::read(assignment, partition_class(py)?, &mut found)?,
    };
    let findings = py.detach(|| found.check());
    check_memory(&findings)?;
    let mut names = TopicNames { topics: &topics, assignment: &found, others: FxHashMap::default() };
    let (not_subscribed, unknown) = (&findings.not_subscribed, &findings.unknown);
    Ok((
        unowned(py, &topics, &findings.unowned)?,
        PyTuple::new(py, names.partitions(py, &objects, findings.doubly_owned.iter().copied())?)?,
        of_members(py, &objects, not_subscribed, &mut names)?,
        of_members(py, &objects, unknown, &mut names)?,
    ))
}

/// Check that findings fit into memory as Python objects.
fn check_memory(findings: &Findings) -> Result<(), OutOfMemory> {
    let count = |spans: &mut dyn Iterator<Item = &IdSpan>| {
        spans.fold(0_u64, |sum, span| sum.saturating_add(span.end.abs_diff(span.start)))
    };
    let partitions = count(&mut findings.unowned.iter().chain(&findings.doubly_owned));
    let pairs = count(&mut findings.not_subscribed.iter().chain(&findings.unknown).map(|(_, span)| span));
    let bytes = partitions.saturating_mul(BYTES_PER_PARTITION).saturating_add(pairs.saturating_mul(BYTES_PER_PAIR));
    memory::check("findings", "partitions", partitions.saturating_add(pairs), bytes)
}

/// Return the partitions of spans of existing topics.
fn unowned<'py>(py: Python<'py>, topics: &NamedTopics, spans: &[IdSpan]) -> PyResult<Bound<'py, PyTuple>> {
    if spans.is_empty() {
        return Ok(PyTuple::empty(py));
    }
    let spans: Vec<Span> = spans
        .iter()
        .map(|span| Span { topic: span.topic, start: span.start as i32, count: (span.end - span.start) as i32 })
        .collect();
    Ok(ListBuilder::new(py, topics)?.list(&spans)?.to_tuple())
}

/// Return pairs of member id and partition.
fn of_members<'py>(
    py: Python<'py>,
    objects: &OwnedObjects<'py>,
    spans: &[(u32, IdSpan)],
    names: &mut TopicNames<'_, 'py>,
) -> PyResult<Bound<'py, PyTuple>> {
    let mut pairs = Vec::new();
    for (member, span) in spans {
        for partition in names.partitions(py, objects, [*span])? {
            pairs.push((&objects.members[*member as usize], partition));
        }
    }
    PyTuple::new(py, pairs)
}

/// Names of existing and unknown topics as Python objects.
struct TopicNames<'a, 'py> {
    topics: &'a NamedTopics,
    assignment: &'a CheckedAssignment<'a>,
    others: FxHashMap<u32, Bound<'py, PyString>>,
}

impl<'py> TopicNames<'_, 'py> {
    fn partitions(
        &mut self,
        py: Python<'py>,
        objects: &OwnedObjects<'py>,
        spans: impl IntoIterator<Item = IdSpan>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let class = TOPIC_PARTITION.get(py)?;
        let mut found = Vec::new();
        for span in spans {
            let topic = if let Some(topic) = self.topics.objects(py).get(span.topic as usize) {
                topic.bind(py).clone()
            } else {
                let name = || PyString::new(py, self.assignment.topic_name(span.topic));
                self.others.entry(span.topic).or_insert_with(name).clone()
            };
            for id in span.start..span.end {
                found.push(class.call1((&topic, objects.id(py, id)?))?);
            }
        }
        Ok(found)
    }
}

//! Reads groups that come as columns: Arrow tables, or arrays of numpy and Arrow put together as `TopicColumns` and
//! `MemberColumns`.
//!
//! Nothing here makes a Python object for a partition, a member or a name.

use std::sync::Arc;

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use super::super::error::{IllegalArgumentError, wrong_type};
use super::super::patterns::{Resolved, unknown_dialect};
use super::arrays::{Numbers, Texts, arrow_array, batches, names_in_lists, racks_in_lists};
use super::members::{Owner, class_of};
use super::names::Resolver;
use super::objects::Objects;
use super::racks::Combinations;
use super::topics::NamedTopics;
use super::values::{iterate, unique};
use crate::group::{Group, Ids, Names, Partitions};
use crate::matching::dialect::Dialect;

/// The topics of columns; None for what is none.
pub(super) fn topics(given: &Bound<'_, PyAny>) -> PyResult<Option<NamedTopics>> {
    static TOPIC_COLUMNS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = given.py();
    let mut found = TopicReader::default();
    if given.get_type().is(TOPIC_COLUMNS.import(py, "assignor.columns", "TopicColumns")?) {
        let field = |name: &str| given.getattr(name);
        let sets = found.rack_sets(&field("rack_sets")?)?;
        let racks = field("rack_set")?;
        let racks = if racks.is_none() { None } else { Some(Numbers::read(&racks, "rack_set")?) };
        found.names("topic", &Texts::read(&field("topic")?, "topic")?)?;
        found.counts("partitions", &Numbers::read(&field("partitions")?, "partitions")?)?;
        found.set_racks(racks.as_ref(), &sets)?;
    } else if let Some(batches) = batches(given)? {
        for batch in batches {
            let column = |name: &str| batch.column_by_name(name).cloned();
            let (Some(names), Some(counts)) = (column("topic"), column("partitions")) else {
                return Err(lacking(
                    &batch,
                    "topics as a table need the columns topic and partitions, and may have racks",
                ));
            };
            found.names("topic", &Texts::of(&names, "topic")?)?;
            let counts = Numbers::of(&counts, "partitions")?;
            found.counts("partitions", &counts)?;
            if let Some(racks) = column("racks") {
                found.list_racks(&racks_in_lists(&racks)?, &counts)?;
            }
        }
    } else {
        return Ok(None);
    }
    found.finish().map(Some)
}

#[derive(Default)]
struct TopicReader {
    names: Names,
    partitions: Vec<Partitions>,
    combinations: Combinations,
}

impl TopicReader {
    fn names(&mut self, column: &str, texts: &Texts) -> PyResult<()> {
        for row in 0..texts.len() {
            self.names.push(texts.required(row, column)?);
        }
        Ok(())
    }

    fn counts(&mut self, column: &str, counts: &Numbers) -> PyResult<()> {
        self.partitions.extend(counts.0.iter().map(|count| Partitions::counted(*count as u32)));
        same_length(column, self.partitions.len(), "topic", self.names.len())
    }

    /// The distinct sets of racks, by number of the set in the column.
    fn rack_sets(&mut self, given: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        let refused = || wrong_type("rack_sets", "an iterable of racks", given);
        let mut sets = Vec::new();
        for racks in iterate(given, refused)? {
            let what = || format!("rack_sets[{}]", sets.len());
            let set = self.combinations.set_of(&racks?, what, what)?;
            sets.push(set);
        }
        Ok(sets)
    }

    /// Gives each partition, topic after topic, the set that the column says.
    fn set_racks(&mut self, column: Option<&Numbers>, sets: &[u32]) -> PyResult<()> {
        let Some(Numbers(column)) = column else { return Ok(()) };
        let total: usize = self.partitions.iter().map(|partitions| partitions.ids.len()).sum();
        same_length("rack_set", column.len(), "all partitions", total)?;
        if let Some(row) = column.iter().position(|set| *set as usize >= sets.len()) {
            let (set, sets) = (column[row], sets.len());
            return Err(IllegalArgumentError::new_err(format!("rack_set[{row}] is {set}, and rack_sets has {sets}")));
        }
        let mut rest = &column[..];
        for partitions in &mut self.partitions {
            let (of_topic, after) = rest.split_at(partitions.ids.len());
            rest = after;
            partitions.racks = Some(of_topic.iter().map(|set| sets[*set as usize]).collect());
        }
        Ok(())
    }

    /// Gives each partition the racks listed for it; `racks` are of the topics that were read last.
    fn list_racks(&mut self, racks: &[Option<Vec<Vec<String>>>], counts: &Numbers) -> PyResult<()> {
        let first = self.partitions.len() - counts.0.len();
        for (row, of_topic) in racks.iter().enumerate() {
            let Some(of_topic) = of_topic else { continue };
            let partitions = &mut self.partitions[first + row];
            let topic = self.names.get(first + row);
            same_length(&format!("racks of topic '{topic}'"), of_topic.len(), "its partitions", partitions.ids.len())?;
            let set = |racks: &Vec<String>| self.combinations.set_of_texts(racks.iter().map(String::as_str));
            partitions.racks = Some(of_topic.iter().map(set).collect());
        }
        Ok(())
    }

    fn finish(self) -> PyResult<NamedTopics> {
        unique("column topic", &self.names)?;
        let racks = self.combinations.into_racks();
        let mut partitions = self.partitions;
        for partitions in &mut partitions {
            debug_assert!(matches!(partitions.ids, Ids::Count(_)));
            // Where no replica is on any rack, there are none to look at.
            partitions.racks =
                partitions.racks.take().filter(|column| column.iter().any(|set| !racks.sets().get(*set).is_empty()));
        }
        Ok(NamedTopics::new(Objects::default(), self.names, partitions, racks))
    }
}

/// The members of columns; None for what is none.
pub(super) fn members(topics: &NamedTopics, given: &Bound<'_, PyAny>) -> PyResult<Option<Group>> {
    static MEMBER_COLUMNS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = given.py();
    let mut group = Group::new(Arc::clone(&topics.topics), 0);
    let mut resolver = Resolver::new(topics.as_they_came());
    let mut patterns_met = Resolved::default();
    if given.get_type().is(MEMBER_COLUMNS.import(py, "assignor.columns", "MemberColumns")?) {
        let ids = Texts::read(&given.getattr("member_id")?, "member_id")?;
        let subscription = Numbers::read(&given.getattr("subscription")?, "subscription")?;
        let classes = subscriptions(&mut group, &mut resolver, &given.getattr("subscriptions")?)?;
        let optional = |name: &str| {
            let column = given.getattr(name)?;
            if column.is_none() { Ok(None) } else { Texts::read(&column, name).map(Some) }
        };
        let (instance_ids, racks) = (optional("group_instance_id")?, optional("rack")?);
        same_length("subscription", subscription.0.len(), "member_id", ids.len())?;
        let class = |row: usize| {
            let number = subscription.0[row] as usize;
            classes.get(number).copied().ok_or_else(|| {
                let known = classes.len();
                IllegalArgumentError::new_err(format!("subscription[{row}] is {number}, and there are {known}"))
            })
        };
        push(&mut group, &ids, class, instance_ids.as_ref(), racks.as_ref())?;
    } else if let Some(batches) = batches(given)? {
        for batch in batches {
            let column = |name: &str| batch.column_by_name(name).cloned();
            let (ids, wanted) = (column("member_id"), column("topics"));
            let (Some(ids), true) = (ids, wanted.is_some() || column("pattern").is_some()) else {
                return Err(lacking(
                    &batch,
                    "members as a table need the columns member_id and topics or pattern, and may have dialect, \
                     group_instance_id and rack",
                ));
            };
            let optional = |name: &str| column(name).map(|column| Texts::of(&column, name)).transpose();
            let (patterns, dialects) = (optional("pattern")?, optional("dialect")?);
            let pattern = |row: usize| patterns.as_ref().and_then(|patterns| patterns.get(row));
            let mut read = |names: &[&str]| resolver.class_of_texts(&mut group, names.iter().copied());
            let mut classes = match wanted {
                Some(wanted) => names_in_lists(&wanted, &|row| pattern(row).is_some(), &mut read)?,
                None => vec![read(&[]); ids.len()],
            };
            let ids = Texts::of(&ids, "member_id")?;
            for (row, class) in classes.iter_mut().enumerate() {
                let Some(pattern) = pattern(row) else { continue };
                let owner = Owner::Member(ids.required(row, "member_id")?).to_string();
                if !group.subscriptions().get(*class).is_empty() {
                    let reason = format!("{owner}: give topics or a pattern, not both: the pattern is '{pattern}'");
                    return Err(IllegalArgumentError::new_err(reason));
                }
                let dialect = dialects.as_ref().and_then(|dialects| dialects.get(row)).unwrap_or("java");
                let dialect = Dialect::named(dialect)
                    .ok_or_else(|| unknown_dialect(&format!("{owner}: dialect"), &format!("'{dialect}'")))?;
                *class = patterns_met.class(py, &mut group, topics, (pattern, dialect), &owner)?;
            }
            let (instance_ids, racks) = (optional("group_instance_id")?, optional("rack")?);
            push(&mut group, &ids, |row| Ok(classes[row]), instance_ids.as_ref(), racks.as_ref())?;
        }
    } else {
        return Ok(None);
    }
    unique("column member_id", group.members())?;
    Ok(Some(group))
}

/// The classes of the distinct subscriptions, which are lists of names in Python or an Arrow column of lists.
fn subscriptions(group: &mut Group, resolver: &mut Resolver, given: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    if let Some(lists) = arrow_array(given)? {
        let mut read = |names: &[&str]| resolver.class_of_texts(group, names.iter().copied());
        return names_in_lists(&lists, &|_| false, &mut read);
    }
    let refused = || wrong_type("subscriptions", "an iterable of subscriptions", given);
    let mut classes = Vec::new();
    // Held until all are read, since they are known by address.
    let all = iterate(given, refused)?.collect::<PyResult<Vec<_>>>()?;
    for names in &all {
        classes.push(class_of(group, resolver, &Owner::Subscription(classes.len()), names)?);
    }
    Ok(classes)
}

fn push(
    group: &mut Group,
    ids: &Texts,
    class: impl Fn(usize) -> PyResult<u32>,
    instance_ids: Option<&Texts>,
    racks: Option<&Texts>,
) -> PyResult<()> {
    for (name, column) in [("group_instance_id", instance_ids), ("rack", racks)] {
        if let Some(column) = column {
            same_length(name, column.len(), "member_id", ids.len())?;
        }
    }
    for row in 0..ids.len() {
        let (instance_id, rack) =
            (instance_ids.and_then(|texts| texts.get(row)), racks.and_then(|texts| texts.get(row)));
        group.push(ids.required(row, "member_id")?, class(row)?, instance_id, rack);
    }
    Ok(())
}

/// The error for a table that lacks a column.
fn lacking(batch: &RecordBatch, needed: &str) -> PyErr {
    let columns: Vec<String> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    IllegalArgumentError::new_err(format!("{needed}; found {}", columns.join(", ")))
}

fn same_length(column: &str, length: usize, other: &str, wanted: usize) -> PyResult<()> {
    if length == wanted {
        return Ok(());
    }
    Err(IllegalArgumentError::new_err(format!("{column} has {length} entries, and {other} has {wanted}")))
}

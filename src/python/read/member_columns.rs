//! Reader of members in columns: an Arrow table, or arrays of numpy and Arrow in a `MemberColumns`.
//!
//! It creates no Python object for a member or a name.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::ArrayRef;
use pyo3::prelude::*;

use super::arrow::{arrow_array, batches, missing_columns, not_of, same_length};
use super::arrow_types::Texts;
use super::integer_column::IntegerColumn;
use super::list_columns::{names_in_lists, names_in_row, text_lists};
use super::member_data_columns::MemberDataColumns;
use super::members::{Owner, intern_names};
use super::named_topics::NamedTopics;
use super::pattern_column::{PatternColumn, split};
use super::pattern_subscriptions::{PatternSubscriptions, Wanted};
use super::patterns::unknown_dialect;
use super::subscriptions::SubscriptionInterner;
use super::text_column::TextColumn;
use super::values::{iterate, twice};
use crate::group::Group;
use crate::matching::dialect::Dialect;
use crate::python::error::wrong_type;
use crate::python::imports::{IllegalArgumentError, MEMBER_COLUMNS};
use crate::python::interrupt::Steps;

/// Read members in columns; return None for any other object.
pub(crate) fn read(topics: &NamedTopics, given: &Bound<'_, PyAny>) -> PyResult<Option<Group>> {
    let py = given.py();
    let mut group = Group::new(Arc::clone(&topics.topics), 0);
    let mut interner = SubscriptionInterner::new(topics.in_input_order());
    let mut pattern_subscriptions = PatternSubscriptions::default();
    if given.get_type().is(MEMBER_COLUMNS.get(py)?) {
        let ids = TextColumn::read(&given.getattr("member_id")?, "member_id")?;
        let subscription = IntegerColumn::read(&given.getattr("subscription")?, "subscription")?;
        let numbers = subscriptions(&mut group, &mut interner, &given.getattr("subscriptions")?)?;
        let optional = |name: &str| {
            let column = given.getattr(name)?;
            if column.is_none() { Ok(None) } else { TextColumn::read(&column, name).map(Some) }
        };
        let (instance_ids, racks) = (optional("group_instance_id")?, optional("rack")?);
        same_length("subscription", subscription.0.len(), ids.len(), "member")?;
        let number = |(row, index): (usize, &i32)| {
            numbers.get(*index as usize).copied().ok_or_else(|| {
                let known = numbers.len();
                let reason = format!("subscription[{row}] is {index}, and subscriptions has {known} entries");
                IllegalArgumentError::new_err(reason)
            })
        };
        let numbers = subscription.0.iter().enumerate().map(number).collect::<PyResult<Vec<u32>>>()?;
        let data = MemberDataColumns::read(|name| given.getattr(name))?;
        push(py, &mut group, ids, &numbers, [instance_ids.as_ref(), racks.as_ref()], &data)?;
    } else if let Some(batches) = batches(given, "subscriptions")? {
        for batch in batches {
            let column = |name: &str| batch.column_by_name(name).cloned();
            let (ids, wanted) = (column("member_id"), column("topics"));
            let (Some(ids), true) = (ids, wanted.is_some() || column("pattern").is_some()) else {
                return Err(missing_columns(
                    &batch,
                    "members as a table need the columns member_id and topics or pattern, and may have dialect, \
                     group_instance_id, rack, generation, owned_partitions and user_data",
                ));
            };
            let optional = |name: &str| column(name).map(|column| TextColumn::of(&column, name)).transpose();
            let ids = TextColumn::of(&ids, "member_id")?;
            let by_pattern = patterns_of(&ids, wanted.as_ref(), column("pattern").as_ref(), optional("dialect")?)?;
            let mut read = |names: &[&str]| interner.intern_texts(&mut group, names.iter().copied());
            let mut numbers = match wanted {
                Some(wanted) => names_in_lists(py, &wanted, &|row| by_pattern.contains_key(&row), &mut read)?,
                None => vec![read(&[]); ids.len()],
            };
            for (row, wanted) in by_pattern {
                let owner = Owner::Member(ids.required(row, "member_id")?).to_string();
                numbers[row] = pattern_subscriptions.intern(py, &mut group, topics, wanted, &owner)?;
            }
            let (instance_ids, racks) = (optional("group_instance_id")?, optional("rack")?);
            let data = MemberDataColumns::of_table(column)?;
            push(py, &mut group, ids, &numbers, [instance_ids.as_ref(), racks.as_ref()], &data)?;
        }
    } else {
        return Ok(None);
    }
    twice("column member_id", group.members(), group.first_duplicate())?;
    Ok(Some(group))
}

/// Return the names and patterns of the rows that have a pattern, in the order of rows.
fn patterns_of(
    ids: &TextColumn,
    topics: Option<&ArrayRef>,
    patterns: Option<&ArrayRef>,
    dialects: Option<TextColumn>,
) -> PyResult<BTreeMap<usize, Wanted>> {
    let mut found = BTreeMap::new();
    if patterns.is_none() && dialects.is_none() {
        return Ok(found);
    }
    let texts = |array: &ArrayRef| Texts::of(array).ok_or_else(|| not_of("text or lists of text", array, "pattern"));
    let lists = |array: &ArrayRef| text_lists(array, "pattern");
    let patterns = patterns.map(|patterns| PatternColumn::read(patterns, texts, lists)).transpose()?;
    let topics = topics.map(|topics| text_lists(topics, "topics")).transpose()?;
    for row in 0..ids.len() {
        let of_row = patterns.as_ref().map(|patterns| patterns.get(row)).unwrap_or_default();
        let dialect = dialects.as_ref().and_then(|dialects| dialects.get(row)).unwrap_or("java");
        let known = Dialect::named(dialect);
        if of_row.is_empty() && known != Some(Dialect::Librdkafka) {
            continue; // the dialect has no effect
        }
        let owner = Owner::Member(ids.required(row, "member_id")?);
        let dialect = known.ok_or_else(|| unknown_dialect(&format!("{owner}: dialect"), &format!("'{dialect}'")))?;
        let of_row: Option<Vec<&str>> = of_row.into_iter().collect();
        let of_row = of_row.ok_or_else(|| IllegalArgumentError::new_err(format!("{owner}: a pattern is null")))?;
        let names = topics.as_ref().map(|topics| names_in_row(topics, row)).transpose()?.flatten();
        let (names, patterns) = split(names.unwrap_or_default(), of_row, dialect);
        if !patterns.is_empty() {
            let [names, patterns] = [names, patterns].map(|texts| texts.into_iter().map(str::to_owned).collect());
            found.insert(row, Wanted { names, patterns, dialect });
        }
    }
    Ok(found)
}

/// Return the numbers of distinct subscriptions, given as lists of names in Python or as an Arrow column of lists.
fn subscriptions(
    group: &mut Group,
    interner: &mut SubscriptionInterner,
    given: &Bound<'_, PyAny>,
) -> PyResult<Vec<u32>> {
    if let Some(lists) = arrow_array(given)? {
        let mut read = |names: &[&str]| interner.intern_texts(group, names.iter().copied());
        return names_in_lists(given.py(), &lists, &|_| false, &mut read);
    }
    let type_error = || wrong_type("subscriptions", "an iterable of subscriptions", given);
    let mut numbers = Vec::new();
    // Keep all subscriptions alive until the last one is read, because the interner identifies them by address.
    let all = iterate(given, type_error)?.collect::<PyResult<Vec<_>>>()?;
    let mut steps = Steps::default();
    for names in &all {
        if steps.count(given.py())? {
            interner.forget_addresses();
        }
        numbers.push(intern_names(group, interner, &Owner::Subscription(numbers.len()), names)?);
    }
    Ok(numbers)
}

fn push(
    py: Python<'_>,
    group: &mut Group,
    mut ids: TextColumn,
    numbers: &[u32],
    [instance_ids, racks]: [Option<&TextColumn>; 2],
    data: &MemberDataColumns<'_>,
) -> PyResult<()> {
    for (name, column) in [("group_instance_id", instance_ids), ("rack", racks)] {
        if let Some(column) = column {
            same_length(name, column.len(), ids.len(), "member")?;
        }
    }
    data.check_lengths(ids.len())?;
    let rack = |row: usize| racks.and_then(|texts| texts.get(row));
    if instance_ids.is_none() && data.are_absent() {
        match ids.into_names() {
            Ok(names) => {
                let rows = 0..racks.map_or(0, TextColumn::len);
                group.push_all(names, numbers.iter().copied(), rows.map(rack));
                return Ok(());
            }
            Err(given) => ids = given,
        }
    }
    let mut steps = Steps::default();
    for (row, number) in numbers.iter().enumerate() {
        steps.count(py)?;
        let instance_id = instance_ids.and_then(|texts| texts.get(row));
        group.push(ids.required(row, "member_id")?, *number, instance_id, rack(row));
        data.set_in(group, row)?;
    }
    Ok(())
}

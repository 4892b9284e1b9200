//! Reader of topics in columns: an Arrow table, or arrays of numpy and Arrow in a `TopicColumns`.
//!
//! It creates no Python object for a partition or a name.

use pyo3::prelude::*;

use super::arrow::{batches, missing_columns, same_length};
use super::arrow_types::RackLists;
use super::integer_column::IntegerColumn;
use super::list_columns::racks_in_lists;
use super::name_objects::NameObjects;
use super::named_topics::NamedTopics;
use super::rack_sets::RackSetInterner;
use super::text_column::TextColumn;
use super::values::{iterate, unique};
use crate::group::{Ids, Names, Partitions};
use crate::python::error::wrong_type;
use crate::python::imports::{IllegalArgumentError, TOPIC_COLUMNS};

/// Read topics in columns; return None for any other object.
pub(crate) fn read(given: &Bound<'_, PyAny>) -> PyResult<Option<NamedTopics>> {
    let py = given.py();
    let mut found = TopicColumnsReader::default();
    if given.get_type().is(TOPIC_COLUMNS.get(py)?) {
        let field = |name: &str| given.getattr(name);
        let sets = found.rack_sets(&field("rack_sets")?)?;
        let racks = field("rack_set")?;
        let racks = if racks.is_none() { None } else { Some(IntegerColumn::read(&racks, "rack_set")?) };
        found.names("topic", &TextColumn::read(&field("topic")?, "topic")?)?;
        found.counts("partitions", &IntegerColumn::read(&field("partitions")?, "partitions")?)?;
        found.set_racks(racks.as_ref(), &sets)?;
    } else if let Some(batches) = batches(given, "partitions_per_topic")? {
        for batch in batches {
            let column = |name: &str| batch.column_by_name(name).cloned();
            let (Some(names), Some(counts)) = (column("topic"), column("partitions")) else {
                return Err(missing_columns(
                    &batch,
                    "topics as a table need the columns topic and partitions, and may have racks",
                ));
            };
            found.names("topic", &TextColumn::of(&names, "topic")?)?;
            let counts = IntegerColumn::of(&counts, "partitions")?;
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
struct TopicColumnsReader {
    names: Names,
    partitions: Vec<Partitions>,
    combinations: RackSetInterner,
}

impl TopicColumnsReader {
    fn names(&mut self, column: &str, texts: &TextColumn) -> PyResult<()> {
        for row in 0..texts.len() {
            self.names.push(texts.required(row, column)?);
        }
        Ok(())
    }

    fn counts(&mut self, column: &str, counts: &IntegerColumn) -> PyResult<()> {
        self.partitions.extend(counts.0.iter().map(|count| Partitions::counted(*count as u32)));
        same_length(column, self.partitions.len(), self.names.len(), "topic")
    }

    /// Read the distinct sets of racks; the column refers to them by index.
    fn rack_sets(&mut self, given: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        let type_error = || wrong_type("rack_sets", "an iterable of racks", given);
        let mut sets = Vec::new();
        for racks in iterate(given, type_error)? {
            let what = || format!("rack_sets[{}]", sets.len());
            let set = self.combinations.set_of(&racks?, what, what)?;
            sets.push(set);
        }
        Ok(sets)
    }

    /// Set the racks of all partitions; the column has a row per partition, topic by topic.
    fn set_racks(&mut self, column: Option<&IntegerColumn>, sets: &[u32]) -> PyResult<()> {
        let Some(IntegerColumn(column)) = column else { return Ok(()) };
        let total: usize = self.partitions.iter().map(|partitions| partitions.ids.len()).sum();
        same_length("rack_set", column.len(), total, "partition")?;
        let highest = column.iter().fold(-1, |highest, set| highest.max(*set));
        if highest >= 0 && highest as usize >= sets.len() {
            let row = column.iter().position(|set| *set as usize >= sets.len()).unwrap_or_default();
            let (set, sets) = (column[row], sets.len());
            let reason = format!("rack_set[{row}] is {set}, and rack_sets has {sets} entries");
            return Err(IllegalArgumentError::new_err(reason));
        }
        let are_same = sets.iter().zip(0..).all(|(set, index)| *set == index);
        let mut rest = &column[..];
        for partitions in &mut self.partitions {
            let (of_topic, after) = rest.split_at(partitions.ids.len());
            rest = after;
            partitions.racks = Some(if are_same {
                of_topic.iter().map(|set| *set as u32).collect()
            } else {
                of_topic.iter().map(|set| sets[*set as usize]).collect()
            });
        }
        Ok(())
    }

    /// Set the racks of the topics that were read last, as listed for each partition.
    fn list_racks(&mut self, racks: &RackLists, counts: &IntegerColumn) -> PyResult<()> {
        let first = self.partitions.len() - counts.0.len();
        for row in 0..counts.0.len() {
            let Some(of_topic) = racks.of_topic(row) else { continue };
            let partitions = &mut self.partitions[first + row];
            let topic = self.names.get(first + row);
            same_length(&format!("racks of topic '{topic}'"), of_topic.len(), partitions.ids.len(), "partition")?;
            partitions.racks = Some(of_topic.map(|racks| self.combinations.set_of_texts(racks)).collect());
        }
        Ok(())
    }

    fn finish(self) -> PyResult<NamedTopics> {
        unique("column topic", &self.names)?;
        let racks = self.combinations.into_racks();
        let mut partitions = self.partitions;
        for partitions in &mut partitions {
            debug_assert!(matches!(partitions.ids, Ids::Count(_)));
            // A topic without any rack needs no racks per partition.
            partitions.racks =
                partitions.racks.take().filter(|column| column.iter().any(|set| !racks.sets().get(*set).is_empty()));
        }
        Ok(NamedTopics::new(NameObjects::default(), self.names, partitions, racks.into_shared()))
    }
}

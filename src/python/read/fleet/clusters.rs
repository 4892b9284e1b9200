//! Reader of the topics of a fleet's clusters, and the topics that patterns match in each cluster.

use std::collections::hash_map::Entry;
use std::sync::Mutex;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, ListArray, StringArray};
use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use super::arrays::{bounds, field, known_field, lists, rows, texts, type_error};
use crate::fleet::Cluster;
use crate::group::{NameTable, Names, Partitions, Racks, Topics};
use crate::matching::catalog::is_matchable;
use crate::matching::dialect::Dialect;
use crate::matching::pattern::Pattern;
use crate::offsets::json::uuid_from_text;
use crate::python::error::match_error;
use crate::python::imports::IllegalArgumentError;
use crate::python::read::patterns;

/// All clusters by name, and the patterns that were matched against their topics.
pub(crate) struct ClusterColumn {
    by_name: FxHashMap<String, Cluster>,
    /// Cluster without topics, for groups whose cluster is not in `by_name`.
    empty: Cluster,
    patterns: Mutex<Patterns>,
}

#[derive(Default)]
struct Patterns {
    numbers: FxHashMap<(String, Dialect), u32>,
    read: Vec<Pattern>,
    /// Topics that a pattern matches, by cluster and pattern.
    matched: FxHashMap<(String, u32), Vec<u32>>,
}

impl ClusterColumn {
    /// Read a column with one list of structs of cluster and topics; topics are structs of topic,
    /// partitions, racks and topic_id; the last two are optional.
    pub(crate) fn read(given: &ArrayRef) -> PyResult<Self> {
        let given = lists(given, "clusters")?;
        let all = rows(given.values(), "clusters")?;
        let names = texts(&field(&all, "cluster", "clusters")?, "cluster")?;
        let topics = lists(&field(&all, "topics", "clusters")?, "topics")?;
        let mut clusters = FxHashMap::default();
        for row in (0..given.len()).flat_map(|row| bounds(&given, row)) {
            if names.is_null(row) {
                return Err(IllegalArgumentError::new_err("clusters: a cluster has no name"));
            }
            let name = names.value(row).to_owned();
            let of_cluster = bounds(&topics, row);
            let Entry::Vacant(entry) = clusters.entry(name) else {
                let name = names.value(row);
                return Err(IllegalArgumentError::new_err(format!("cluster '{name}' is given twice")));
            };
            let found = read_topics(&topics.values().slice(of_cluster.start, of_cluster.len()), entry.key())?;
            entry.insert(found);
        }
        Ok(Self { by_name: clusters, empty: Cluster::default(), patterns: Mutex::default() })
    }

    /// Return the cluster with this name.
    pub(crate) fn get(&self, name: &str) -> &Cluster {
        self.by_name.get(name).unwrap_or(&self.empty)
    }

    /// Return the number of a pattern and the topics of a cluster that it matches; errors name its `owner`.
    pub(crate) fn matching(
        &self,
        cluster: &str,
        text: &str,
        dialect: Dialect,
        owner: &dyn Fn() -> String,
    ) -> PyResult<(u32, Vec<u32>)> {
        // A panic leaves no partial change, so the value of a poisoned lock is valid.
        let mut known = self.patterns.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let key = (text.to_owned(), dialect);
        let number = if let Some(number) = known.numbers.get(&key) {
            *number
        } else {
            let pattern = patterns::parse(text, dialect, false, Some(&owner()))?;
            let number = known.read.len() as u32;
            known.read.push(pattern);
            known.numbers.insert(key, number);
            number
        };
        let key = (cluster.to_owned(), number);
        if let Some(found) = known.matched.get(&key) {
            return Ok((number, found.clone()));
        }
        let found = self
            .get(cluster)
            .matching(&known.read[number as usize])
            .map_err(|error| match_error(error, Some(owner())))?;
        known.matched.insert(key, found.clone());
        Ok((number, found))
    }

    /// Return true if a pattern, given by number, matches a topic; false if matching takes too long.
    pub(crate) fn matches(&self, pattern: u32, topic: &str) -> bool {
        let known = self.patterns.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        is_matchable(topic) && known.read[pattern as usize].matches(topic).unwrap_or_default()
    }
}

fn read_topics(given: &ArrayRef, cluster: &str) -> PyResult<Cluster> {
    let given = rows(given, "topics")?;
    let names = texts(&field(&given, "topic", "topics")?, "topic")?;
    let wrong = |row: usize, reason: String| {
        IllegalArgumentError::new_err(format!("cluster '{cluster}', topic '{}': {reason}", names.value(row)))
    };
    let counts = field(&given, "partitions", "topics")?;
    let counts = counts.as_primitive_opt::<Int32Type>().ok_or_else(|| type_error(&counts, "partitions", "int"))?;
    let racks = known_field(&given, "racks").map(|racks| lists(&racks, "racks")).transpose()?;
    let racks = racks.map(Replicas::read).transpose()?;
    let texts_of_ids = known_field(&given, "topic_id").map(|ids| texts(&ids, "topic_id")).transpose()?;
    let (mut ids, mut by_id) = (Vec::new(), FxHashMap::default());
    let (mut known, mut partitions) = (Racks::default(), Vec::with_capacity(given.len()));
    for row in 0..given.len() {
        if names.is_null(row) {
            return Err(IllegalArgumentError::new_err(format!("cluster '{cluster}': a topic has no name")));
        }
        if counts.is_null(row) || counts.value(row) < 0 {
            let found = if counts.is_null(row) { "null".to_owned() } else { counts.value(row).to_string() };
            return Err(wrong(row, format!("partitions must be 0 or more, not {found}")));
        }
        let mut of_topic = Partitions::counted(counts.value(row) as u32);
        if let Some(racks) = racks.as_ref().filter(|racks| racks.topics.is_valid(row)) {
            let (found, wanted) = (bounds(&racks.topics, row).len(), counts.value(row) as usize);
            if found != wanted {
                return Err(wrong(row, format!("racks are given for {found} partitions, but the topic has {wanted}")));
            }
            of_topic.racks = racks.of_topic(row, &mut known);
        }
        partitions.push(of_topic);
        if let Some(texts) = &texts_of_ids {
            let id = texts.is_valid(row).then(|| topic_id(texts.value(row))).transpose();
            let id = id.map_err(|reason| wrong(row, reason))?;
            if let Some(other) =
                id.and_then(|id| by_id.insert(id, row)).filter(|other| names.value(*other) != names.value(row))
            {
                let (other, text) = (names.value(other), texts.value(row));
                return Err(wrong(row, format!("topic '{other}' has the same topic_id '{text}'")));
            }
            ids.push(id);
        }
    }
    let names: Names = (0..given.len()).map(|row| names.value(row)).collect();
    if let Some(twice) = NameTable::first_duplicate(&names) {
        return Err(wrong(twice, "the topic is given twice".into()));
    }
    let (topics, order) = Topics::sorted(names, partitions, known);
    if let (Some(order), false) = (order, ids.is_empty()) {
        ids = order.iter().map(|row| ids[*row as usize]).collect();
    }
    Ok(Cluster::new(topics, ids))
}

/// Parse a topic id as Kafka prints it.
fn topic_id(text: &str) -> Result<u128, String> {
    let id = uuid_from_text(text).map(u128::from_be_bytes);
    id.ok_or_else(|| format!("topic_id '{text}' must have Kafka's form: 22 characters of URL-safe base64"))
}

/// Racks of the replicas of a cluster: for each topic a list, with a list of racks for each partition.
struct Replicas {
    topics: ListArray,
    partitions: ListArray,
    racks: StringArray,
}

impl Replicas {
    fn read(topics: ListArray) -> PyResult<Self> {
        let partitions = lists(&items(&topics), "racks")?;
        Ok(Self { racks: texts(&items(&partitions), "racks")?, partitions, topics })
    }

    /// Return the rack set of each partition of a topic; None if no replica has a rack.
    fn of_topic(&self, row: usize, known: &mut Racks) -> Option<Vec<u32>> {
        let (partitions, before) = (bounds(&self.topics, row), (first(&self.topics), first(&self.partitions)));
        let (mut sets, mut on) = (Vec::with_capacity(partitions.len()), Vec::new());
        for partition in partitions {
            let replicas = bounds(&self.partitions, partition - before.0).map(|place| place - before.1);
            on.clear();
            on.extend(
                replicas.filter(|place| self.racks.is_valid(*place)).map(|place| known.number(self.racks.value(place))),
            );
            sets.push(known.set(&mut on));
        }
        let any = sets.iter().any(|set| !known.sets().get(*set).is_empty());
        any.then_some(sets)
    }
}

/// Return the index of the first item of these lists, which may be a slice of a longer column.
fn first(lists: &ListArray) -> usize {
    lists.value_offsets()[0] as usize
}

/// Return the items of these lists only.
fn items(lists: &ListArray) -> ArrayRef {
    lists.values().slice(first(lists), lists.value_offsets()[lists.len()] as usize - first(lists))
}

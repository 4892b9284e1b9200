//! Reader of the topics of a fleet's clusters, and the topics that patterns match in each cluster.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{Array, ArrayRef, Float64Array, Int32Array, StructArray};
use pyo3::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::arrays::{field, floats, lists, numbers, optional, rows, texts};
use crate::cancellation;
use crate::error::{MatchError, PatternError};
use crate::fleet::{Cluster, Patterns};
use crate::group::{Names, Partitions, Racks, Topics};
use crate::matching::catalog::is_matchable;
use crate::matching::dialect::Dialect;
use crate::matching::pattern::Pattern;
use crate::offsets::json::uuid_from_text;
use crate::python::error::match_error;
use crate::python::imports::IllegalArgumentError;
use crate::python::read::arrow_types::{Lists, RackLists, Texts};
use crate::python::read::patterns;

/// All clusters by name, and the patterns that were matched against their topics.
pub(crate) struct ClusterColumn {
    by_name: FxHashMap<String, Cluster>,
    /// Cluster without topics, for groups whose cluster is not in `by_name`.
    empty: Cluster,
    /// Invalid topics by cluster; None if an invalid row is an error.
    invalid: Option<FxHashMap<String, InvalidTopics>>,
    patterns: Mutex<KnownPatterns>,
}

/// Invalid topics of a cluster, with the reasons. Only groups that subscribe to them are invalid, too.
pub(crate) type InvalidTopics = BTreeMap<String, Vec<String>>;

#[derive(Default)]
struct KnownPatterns {
    numbers: FxHashMap<(String, Dialect), u32>,
    read: Vec<Pattern>,
    /// Topics that a pattern matches, by cluster and pattern.
    matched: FxHashMap<(String, u32), Vec<u32>>,
}

impl ClusterColumn {
    /// Read a column with one list of structs of cluster and topics; topics are structs of topic,
    /// partitions, racks, topic_id, weights and unreadable; the last four are optional. An invalid topic is an error unless invalid rows
    /// are left out.
    pub(crate) fn read(given: &ArrayRef, leave_out_invalid: bool) -> PyResult<Self> {
        let given = lists(given, "clusters")?;
        let all = rows(&given.items, "clusters")?;
        let names = texts(&field(&all, "cluster", "clusters")?, "cluster")?;
        let topics = lists(&field(&all, "topics", "clusters")?, "topics")?;
        let columns = TopicColumns::read(&rows(&topics.items, "topics")?)?;
        let mut clusters = FxHashMap::default();
        let mut invalid = leave_out_invalid.then(FxHashMap::default);
        for row in (0..given.len()).flat_map(|row| given.get(row).unwrap_or_default()) {
            let Some(name) = names.get(row) else {
                return Err(IllegalArgumentError::new_err("clusters: a cluster has no name"));
            };
            let Entry::Vacant(entry) = clusters.entry(name.to_owned()) else {
                return Err(IllegalArgumentError::new_err(format!("cluster '{name}' is given twice")));
            };
            let of_cluster = invalid.as_mut().map(|invalid| invalid.entry(name.to_owned()).or_default());
            entry.insert(columns.cluster(name, topics.get(row).unwrap_or_default(), of_cluster)?);
        }
        Ok(Self { by_name: clusters, empty: Cluster::default(), invalid, patterns: Mutex::default() })
    }

    /// Return true if invalid topics and groups are left out.
    pub(crate) fn leaves_out_invalid(&self) -> bool {
        self.invalid.is_some()
    }

    /// Return the invalid topics of a cluster, if it has any.
    pub(crate) fn invalid_topics(&self, cluster: &str) -> Option<&InvalidTopics> {
        self.invalid.as_ref()?.get(cluster).filter(|topics| !topics.is_empty())
    }

    /// Return cluster, name and reason of all invalid topics, in this order; a topic may have several reasons.
    pub(crate) fn all_invalid_topics(&self) -> Vec<(String, String, String)> {
        let of_clusters = self.invalid.iter().flatten();
        let mut found: Vec<_> = of_clusters
            .flat_map(|(cluster, topics)| topics.iter().map(move |(name, reasons)| (cluster, name, reasons)))
            .flat_map(|(cluster, name, reasons)| reasons.iter().map(|why| (cluster.clone(), name.clone(), why.clone())))
            .collect();
        found.sort_unstable();
        found
    }

    /// Return the cluster with this name.
    pub(crate) fn get(&self, name: &str) -> &Cluster {
        self.by_name.get(name).unwrap_or(&self.empty)
    }

    /// Return the patterns, with the topics of a cluster that they match.
    pub(crate) fn patterns<'a>(&'a self, cluster: &'a str) -> ClusterPatterns<'a> {
        ClusterPatterns { clusters: self, cluster }
    }

    /// Return the number of a pattern and the topics of a cluster that it matches; errors name its `owner`.
    pub(crate) fn matching(
        &self,
        cluster: &str,
        text: &str,
        dialect: Dialect,
        owner: &dyn Fn() -> String,
    ) -> PyResult<(u32, Vec<u32>)> {
        let mut known = self.known();
        let parsed = known.number(text, dialect, |text| patterns::parse(text, dialect, false, Some(&owner())));
        let number = parsed?;
        let found = known.matching(cluster, self.get(cluster), number);
        Ok((number, found.map_err(|error| match_error(error, Some(owner())))?))
    }

    fn known(&self) -> MutexGuard<'_, KnownPatterns> {
        // A panic leaves no partial change, so the value of a poisoned lock is valid.
        self.patterns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownPatterns {
    /// Return the number of a pattern, which `parse` parses if it is new.
    fn number<E>(
        &mut self,
        text: &str,
        dialect: Dialect,
        parse: impl FnOnce(&str) -> Result<Pattern, E>,
    ) -> Result<u32, E> {
        let key = (text.to_owned(), dialect);
        if let Some(number) = self.numbers.get(&key) {
            return Ok(*number);
        }
        cancellation::check(); // parsing may take milliseconds
        let number = self.read.len() as u32;
        self.read.push(parse(text)?);
        self.numbers.insert(key, number);
        Ok(number)
    }

    /// Return the topics of a cluster that a pattern matches.
    fn matching(&mut self, name: &str, cluster: &Cluster, number: u32) -> Result<Vec<u32>, MatchError> {
        let key = (name.to_owned(), number);
        if let Some(found) = self.matched.get(&key) {
            return Ok(found.clone());
        }
        let found = cluster.matching(&self.read[number as usize])?;
        self.matched.insert(key, found.clone());
        Ok(found)
    }
}

/// Patterns, with the topics of one cluster that they match.
pub(crate) struct ClusterPatterns<'a> {
    clusters: &'a ClusterColumn,
    cluster: &'a str,
}

impl Patterns for ClusterPatterns<'_> {
    fn pattern(&self, number: u32) -> (String, Dialect) {
        let known = self.clusters.known();
        let pattern = &known.read[number as usize];
        (pattern.text().to_owned(), pattern.dialect())
    }

    fn broker_pattern(&self, text: &str) -> Result<u32, PatternError> {
        self.clusters.known().number(text, Dialect::Re2j, |text| Pattern::new(Dialect::Re2j, text, false))
    }

    fn matches(&self, pattern: u32, topic: &str) -> bool {
        is_matchable(topic)
            && self.clusters.known().read[pattern as usize]
                .matches(topic, &mut cancellation::proceed)
                .unwrap_or_default()
    }

    fn matching(&self, pattern: u32) -> Result<Vec<u32>, MatchError> {
        self.clusters.known().matching(self.cluster, self.clusters.get(self.cluster), pattern)
    }
}

/// Topics of all clusters.
struct TopicColumns {
    names: Texts,
    counts: Int32Array,
    racks: Option<RackLists>,
    ids: Option<Texts>,
    weights: Option<(Lists, Float64Array)>,
    /// Why a row cannot be read.
    unreadable: Option<Texts>,
}

impl TopicColumns {
    fn read(given: &StructArray) -> PyResult<Self> {
        let rack_lists = |racks: &ArrayRef, name: &str| {
            RackLists::read(racks, |given| lists(given, name), |given| texts(given, name))
        };
        Ok(Self {
            names: texts(&field(given, "topic", "topics")?, "topic")?,
            counts: numbers(&field(given, "partitions", "topics")?, "partitions")?,
            racks: optional(given, "racks", rack_lists)?,
            ids: optional(given, "topic_id", texts)?,
            weights: optional(given, "weights", |column, name| {
                let weights = lists(column, name)?;
                let items = floats(&weights.items, name)?;
                Ok((weights, items))
            })?,
            unreadable: optional(given, "unreadable", texts)?,
        })
    }

    /// Read the topics of a cluster from its rows. Without `invalid`, an invalid topic is an error; else it is added there.
    fn cluster(&self, cluster: &str, rows: Range<usize>, mut invalid: Option<&mut InvalidTopics>) -> PyResult<Cluster> {
        let (mut names, mut partitions) = (Names::default(), Vec::with_capacity(rows.len()));
        let (mut ids, mut by_id) = (Vec::new(), FxHashMap::default());
        let (mut known, mut weights) = (Racks::default(), Vec::new());
        let mut seen = FxHashSet::default();
        let mut report = |name: &str, reason: String| match &mut invalid {
            None => Err(wrong(cluster, name, &reason)),
            Some(invalid) => {
                let reasons = invalid.entry(name.to_owned()).or_default();
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
                Ok(())
            }
        };
        for row in rows {
            let Some(name) = self.names.get(row) else {
                return Err(IllegalArgumentError::new_err(format!("cluster '{cluster}': a topic has no name")));
            };
            if !seen.insert(name) {
                report(name, "the topic is given twice".to_owned())?;
                continue;
            }
            let unreadable = self.unreadable.as_ref().and_then(|column| column.get(row));
            unreadable.map_or(Ok(()), |why| report(name, why.to_owned()))?;
            let mut is_counted = true;
            let of_topic = self.partitions(row, &mut known).or_else(|reason| {
                is_counted = false;
                report(name, reason).map(|()| Partitions::counted(0))
            })?;
            if let Some(texts) = &self.ids {
                let text = texts.get(row).filter(|_| unreadable.is_none());
                let id = text.map(topic_id).transpose();
                let id = id.or_else(|reason| report(name, reason).map(|()| None))?;
                if let (Some(other), Some(text)) = (id.and_then(|id| by_id.insert(id, name)), text) {
                    for (name, other) in [(name, other), (other, name)] {
                        report(name, format!("topic '{other}' has the same topic_id '{text}'"))?;
                    }
                }
                ids.push(id);
            }
            if let Some(columns) = &self.weights {
                let of_row = if is_counted { weights_of(columns, row, of_topic.ids.len()) } else { Ok(None) };
                weights.push(of_row.or_else(|reason| report(name, reason).map(|()| None))?);
            }
            partitions.push(of_topic);
            names.push(name);
        }
        let (topics, order) = Topics::sorted(names, partitions, known);
        if let Some(order) = order {
            let rows = || order.iter().map(|row| *row as usize);
            ids = if ids.is_empty() { ids } else { rows().map(|row| ids[row]).collect() };
            weights = if weights.is_empty() { weights } else { rows().map(|row| weights[row].clone()).collect() };
        }
        let is_weighted = weights.iter().any(Option::is_some);
        let cluster = Cluster::new(topics, ids);
        Ok(if is_weighted { cluster.with_weights(weights) } else { cluster })
    }

    /// Read the partitions of a topic and their racks.
    fn partitions(&self, row: usize, known: &mut Racks) -> Result<Partitions, String> {
        let count = self.counts.is_valid(row).then(|| self.counts.value(row));
        let Some(count) = count.filter(|count| *count >= 0) else {
            let found = count.map_or_else(|| "null".to_owned(), |count| count.to_string());
            return Err(format!("partitions must be 0 or more, not {found}"));
        };
        let mut partitions = Partitions::counted(count as u32);
        if let Some(racks) = self.racks.as_ref().and_then(|racks| racks.of_topic(row)) {
            if racks.len() != count as usize {
                let found = racks.len();
                return Err(format!("racks are given for {found} partitions, but the topic has {count}"));
            }
            let mut on = Vec::new();
            let sets: Vec<u32> = racks
                .map(|racks| {
                    on.clear();
                    on.extend(racks.map(|rack| known.number(rack)));
                    known.set(&mut on)
                })
                .collect();
            let any = sets.iter().any(|set| !known.sets().get(*set).is_empty());
            partitions.racks = any.then_some(sets);
        }
        Ok(partitions)
    }
}

/// Read the weights of a topic's partitions; null is an unknown weight.
fn weights_of(columns: &(Lists, Float64Array), row: usize, count: usize) -> Result<Option<Arc<[f64]>>, String> {
    let (lists, items) = columns;
    let Some(places) = lists.get(row) else { return Ok(None) };
    if places.len() != count {
        let found = places.len();
        return Err(format!("weights are given for {found} partitions, but the topic has {count}"));
    }
    let first = places.start;
    let weight = |place: usize| {
        if items.is_null(place) {
            return Ok(f64::NAN);
        }
        let weight = items.value(place);
        let is_valid = weight.is_finite() && weight >= 0.0;
        is_valid
            .then_some(weight)
            .ok_or_else(|| format!("weights[{}] must be a number >= 0, got {weight}", place - first))
    };
    places.map(weight).collect::<Result<Vec<f64>, String>>().map(|weights| Some(weights.into()))
}

fn wrong(cluster: &str, topic: &str, reason: &str) -> PyErr {
    IllegalArgumentError::new_err(format!("cluster '{cluster}', topic '{topic}': {reason}"))
}

/// Parse a topic id as Kafka prints it.
fn topic_id(text: &str) -> Result<u128, String> {
    let id = uuid_from_text(text).map(u128::from_be_bytes);
    id.ok_or_else(|| format!("topic_id '{text}' must have Kafka's form: 22 characters of URL-safe base64"))
}

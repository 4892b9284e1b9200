//! Topics of a cluster, and changes of them in scenarios.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::cancellation;
use crate::error::MatchError;
use crate::group::{Group, Ids, Partitions, Topics};
use crate::matching::catalog::{Catalog, is_matchable};
use crate::matching::pattern::Pattern;
use crate::plan::Weights;

/// Topics of a cluster.
#[derive(Default)]
pub struct Cluster {
    topics: Topics,
    /// Topic ids by topic number; empty if no id is known.
    topic_ids: Vec<Option<u128>>,
    /// Weights of the partitions by topic number; empty if no weight is known.
    weights: Vec<Option<Arc<[f64]>>>,
    catalog: OnceLock<Catalog>,
}

impl Cluster {
    /// Create a cluster from topics and their ids by topic number; `topic_ids` is empty if no id is known.
    #[must_use]
    pub fn new(topics: Topics, topic_ids: Vec<Option<u128>>) -> Self {
        Self { topics, topic_ids, weights: Vec::new(), catalog: OnceLock::new() }
    }

    /// Set the weights of the partitions by topic number. NaN is an unknown weight.
    #[must_use]
    pub fn with_weights(self, weights: Vec<Option<Arc<[f64]>>>) -> Self {
        Self { weights, ..self }
    }

    /// Return true if the weight of a partition of the cluster may be known.
    #[must_use]
    pub fn has_weights(&self) -> bool {
        !self.weights.is_empty()
    }

    /// Return the weights of the partitions of a group's topics; None if no weight of the cluster is known.
    #[must_use]
    pub fn weights(&self, group: &Group) -> Option<Weights> {
        if self.weights.is_empty() {
            return None;
        }
        let of_topic = |name: &str| self.weights[self.topics.number(name)? as usize].clone();
        Some(Weights::new(group.topics().names().iter().map(of_topic).collect()))
    }

    /// Return the id of a topic, if it is known.
    #[must_use]
    pub fn topic_id(&self, topic: &str) -> Option<u128> {
        let number = if self.topic_ids.is_empty() { None } else { self.topics.number(topic) };
        self.topic_ids.get(number? as usize).copied().flatten()
    }

    /// Return the topics.
    #[must_use]
    pub fn topics(&self) -> &Topics {
        &self.topics
    }

    /// Return the topics that match a pattern, in Java's order; names that `is_matchable` rejects never match.
    ///
    /// # Errors
    ///
    /// Matching takes too many steps.
    pub fn matching(&self, pattern: &Pattern) -> Result<Vec<u32>, MatchError> {
        let names = self.topics.names();
        let catalog = self.catalog.get_or_init(|| Catalog::new(names.iter().filter(|name| is_matchable(name))));
        let found = pattern.select(catalog, &mut cancellation::proceed)?;
        let number = |number: &u32| self.topics.number(std::str::from_utf8(catalog.bytes(*number)).unwrap_or_default());
        let mut found: Vec<u32> = found.iter().filter_map(number).collect();
        found.sort_unstable();
        Ok(found)
    }
}

/// Why a step of a scenario does not change a topic.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoChange {
    /// The topic that should grow does not exist.
    #[error("topic '{0}' does not exist, so it does not grow")]
    NoTopic(String),
    /// The topic has more partitions than it should grow to.
    #[error("topic '{topic}' has {now} partitions and cannot shrink to {count}")]
    Smaller {
        /// The name of the topic.
        topic: String,
        /// Its number of partitions.
        now: u64,
        /// The number that it should have.
        count: u64,
    },
    /// The topic that should be added exists.
    #[error("topic '{topic}' exists with {now} partitions, so it is not added with {count}")]
    Exists {
        /// The name of the topic.
        topic: String,
        /// Its number of partitions.
        now: u64,
        /// The number that it should have.
        count: u64,
    },
}

/// Changes of a cluster's topics in a scenario.
#[derive(Debug, Clone)]
pub struct Changed {
    /// Factor of the number of partitions of each topic that is not in `counts`.
    factor: u64,
    /// Numbers of partitions of single topics, including new topics.
    counts: FxHashMap<String, u64>,
}

impl Default for Changed {
    fn default() -> Self {
        Self { factor: 1, counts: FxHashMap::default() }
    }
}

impl Changed {
    /// Multiply the current number of partitions of each topic; 0 and 1 change nothing.
    pub fn multiply(&mut self, factor: u32) {
        let factor = u64::from(factor.max(1));
        self.factor = self.factor.saturating_mul(factor);
        self.counts.values_mut().for_each(|count| *count = count.saturating_mul(factor));
    }

    /// Increase the number of partitions of a topic to `count`.
    ///
    /// # Errors
    /// The topic does not exist, or has more partitions. Nothing changes.
    pub fn grow(&mut self, cluster: &Cluster, topic: &str, count: u32) -> Result<(), NoChange> {
        let now = self.count(cluster, topic).ok_or_else(|| NoChange::NoTopic(topic.to_owned()))?;
        let count = u64::from(count);
        if count < now {
            return Err(NoChange::Smaller { topic: topic.to_owned(), now, count });
        }
        self.counts.insert(topic.to_owned(), count);
        Ok(())
    }

    /// Add a topic.
    ///
    /// # Errors
    /// The topic exists, with another number of partitions. Nothing changes.
    pub fn add(&mut self, cluster: &Cluster, topic: &str, count: u32) -> Result<(), NoChange> {
        let count = u64::from(count);
        match self.count(cluster, topic) {
            Some(now) if now != count => return Err(NoChange::Exists { topic: topic.to_owned(), now, count }),
            Some(_) => {}
            None => drop(self.counts.insert(topic.to_owned(), count)),
        }
        Ok(())
    }

    /// Return the topics that do not exist in the cluster without the changes.
    pub(super) fn added(&self, cluster: &Cluster) -> impl Iterator<Item = String> {
        self.counts.keys().filter(|topic| cluster.topics.number(topic).is_none()).cloned()
    }

    /// Return the number of partitions of a topic after the changes; None if there is no such topic.
    #[must_use]
    pub fn count(&self, cluster: &Cluster, topic: &str) -> Option<u64> {
        let found = || {
            let number = cluster.topics.number(topic)? as usize;
            Some((cluster.topics.partitions()[number].ids.len() as u64).saturating_mul(self.factor))
        };
        self.counts.get(topic).copied().or_else(found)
    }

    /// Return the partitions of a topic after the changes; None if there is no such topic.
    #[must_use]
    pub fn partitions(&self, cluster: &Cluster, topic: &str) -> Option<Partitions> {
        let count = u32::try_from(self.count(cluster, topic)?).unwrap_or(u32::MAX);
        let found = cluster.topics.number(topic).map(|number| &cluster.topics.partitions()[number as usize]);
        Some(found.map_or_else(|| Partitions::counted(count), |found| grown(found, count)))
    }
}

/// Return a topic's partitions with another count; new partitions repeat the racks of the existing ones.
fn grown(partitions: &Partitions, count: u32) -> Partitions {
    if partitions.ids.len() == count as usize {
        return partitions.clone();
    }
    let racks = partitions.racks.as_ref().map(|sets| sets.iter().copied().cycle().take(count as usize).collect());
    Partitions { ids: Ids::Count(count), racks }
}

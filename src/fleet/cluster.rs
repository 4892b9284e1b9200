//! The topics of one cluster: as they are, and as they would be.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::error::MatchError;
use crate::group::{Ids, Partitions, Topics};
use crate::matching::catalog::{Catalog, can_be_tried};
use crate::matching::pattern::Pattern;

/// A cluster's topics, where groups find what they subscribe to.
#[derive(Default)]
pub struct Cluster {
    topics: Topics,
    catalog: OnceLock<Catalog>,
}

impl Cluster {
    /// A cluster with these topics.
    #[must_use]
    pub fn new(topics: Topics) -> Self {
        Self { topics, catalog: OnceLock::new() }
    }

    /// The topics.
    #[must_use]
    pub fn topics(&self) -> &Topics {
        &self.topics
    }

    /// The topics that a pattern matches, in Java's order; names that Kafka could not have are left out.
    ///
    /// # Errors
    ///
    /// Where that takes too many steps.
    pub fn matching(&self, pattern: &Pattern) -> Result<Vec<u32>, MatchError> {
        let names = self.topics.names();
        let catalog = self.catalog.get_or_init(|| Catalog::new(names.iter().filter(|name| can_be_tried(name))));
        let found = pattern.select(catalog, &mut || true)?;
        let number = |number: &u32| self.topics.number(std::str::from_utf8(catalog.bytes(*number)).unwrap_or_default());
        let mut found: Vec<u32> = found.iter().filter_map(number).collect();
        found.sort_unstable();
        Ok(found)
    }
}

/// What would be different about the topics of a cluster.
#[derive(Debug, Clone, Default)]
pub struct Changed {
    /// Each topic has so many times the partitions; 0 and 1 change nothing.
    pub factor: u32,
    /// Topics with another number of partitions, new ones among them.
    pub counts: FxHashMap<String, u32>,
}

impl Changed {
    /// The partitions that a topic of the cluster would have; None if there still is no such topic.
    #[must_use]
    pub fn partitions(&self, cluster: &Cluster, topic: &str) -> Option<Partitions> {
        let found = cluster.topics.number(topic).map(|number| &cluster.topics.partitions()[number as usize]);
        let count = self.counts.get(topic).copied();
        let Some(found) = found else {
            return count.map(|count| Partitions::counted(count.saturating_mul(self.factor.max(1))));
        };
        let now = found.ids.len() as u32;
        let count = count.map_or(now, |count| count.max(now)).saturating_mul(self.factor.max(1));
        Some(if count == now { found.clone() } else { grown(found, count) })
    }
}

/// More partitions; what is added is placed on racks as the ones before are, over and over.
fn grown(partitions: &Partitions, count: u32) -> Partitions {
    let racks = partitions.racks.as_ref().map(|sets| sets.iter().copied().cycle().take(count as usize).collect());
    Partitions { ids: Ids::Count(count), racks }
}

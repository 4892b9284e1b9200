//! Rebalance storms: many rebalances within a short time that leave the membership unchanged.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::events::{Partition, sorted};
use super::times::deadline_after;

/// Latest rebalances with unchanged membership, and the storm that they form.
///
/// A storm is found when `threshold` rebalances lie within `window` milliseconds. The storm contains at least the later half of these
/// rebalances. It also contains earlier ones, back to the latest pause of more than a quarter of the window. It ends when fewer than
/// half of `threshold` rebalances lie in the last `window` milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Storm {
    /// Times of the last `threshold` rebalances.
    pub(super) times: VecDeque<i64>,
    /// Start; None if there is no storm.
    pub(super) since: Option<i64>,
    /// Number of rebalances of the storm.
    pub(super) count: usize,
    /// Time of the last generation in which a partition had no owner or another owner than before.
    pub(super) changed: FxHashMap<Partition, i64>,
}

impl Storm {
    /// Add the partitions that have no owner, or another owner than before, in a generation.
    pub(super) fn change(&mut self, at: i64, partitions: impl IntoIterator<Item = Partition>) {
        let partitions = partitions.into_iter();
        if self.changed.is_empty() {
            // In the first generation, all of them changed.
            self.changed.reserve(partitions.size_hint().1.unwrap_or(0));
        }
        self.changed.extend(partitions.map(|partition| (partition, at)));
    }

    /// Add a rebalance; return true if a storm starts with it.
    pub(super) fn add(&mut self, at: i64, threshold: usize, window: i64) -> bool {
        self.times.push_back(at);
        while self.times.len() > threshold {
            self.times.pop_front();
        }
        if self.since.is_some() {
            self.count += 1;
            return false;
        }
        if self.times.len() < threshold || at.saturating_sub(self.times[0]) >= window {
            return false;
        }
        let pause = window / 4;
        let mut first = self.times.len() / 2;
        while first > 0 && self.times[first].saturating_sub(self.times[first - 1]) <= pause {
            first -= 1;
        }
        self.since = Some(self.times[first]);
        self.count = self.times.len() - first;
        true
    }

    /// Return the time at which the storm ends; None without a storm, or if it never ends.
    pub(super) fn deadline(&self, window: i64) -> Option<i64> {
        let middle = self.times.len() / 2;
        self.since.and(self.times.get(middle)).and_then(|time| deadline_after(*time, window))
    }

    /// End the storm.
    pub(super) fn end(&mut self) {
        (self.since, self.count) = (None, 0);
    }

    /// Return the partitions that changed since the storm began.
    pub(super) fn partitions(&self) -> Vec<Partition> {
        let Some(since) = self.since else { return Vec::new() };
        sorted(self.changed.iter().filter(|(_, at)| **at >= since).map(|(partition, _)| partition.clone()))
    }
}

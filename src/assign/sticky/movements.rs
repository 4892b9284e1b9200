//! Record of the partitions that moved during balancing.
//!
//! Moving one partition of a topic from A to B and another one from B to A costs two moves and changes no size. So if a partition
//! is about to move from A to B and another one has moved from B to A before, that one moves back instead.
//!
//! Source: `PartitionMovements` in `AbstractStickyAssignor` of kafka-clients 4.4.0.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::assign::table_order::{
    DEFAULT_CAPACITY, MIN_TREEIFY_CAPACITY, TREEIFY_THRESHOLD, bucket, is_full, partition_hash,
};
use crate::group::{Group, string_hash};
use crate::plan::Owners;

/// Partition that has moved.
#[derive(Debug, Clone, Copy)]
struct Movement {
    /// The owner before the balancing.
    source: u32,
    /// The index in the order of all movements.
    number: u32,
}

/// A topic and two members: partitions of the topic have moved from the first to the second.
type Direction = (u32, u32, u32);

/// Partitions that balancing has moved away from their first owner. A partition that has returned to it does not count as moved.
#[derive(Debug, Default)]
pub(super) struct Movements {
    moved: FxHashMap<u32, Movement>,
    tables: FxHashMap<Direction, Table>,
    /// The number of movements so far.
    count: u32,
    /// Hash of the owners of all partitions that have moved.
    state: u64,
    /// True if no partition is replaced by another one.
    is_direct: bool,
}

impl Movements {
    /// Move a partition to another member. If another partition of the same topic has moved in the opposite direction,
    /// move that one back instead. Return the member that loses the partition.
    pub(super) fn make(&mut self, group: &Group, owners: &mut Owners, topic: u32, partition: u32, target: u32) -> u32 {
        let moved = self.actual(owners, topic, partition, target);
        let owner = std::mem::replace(&mut owners.members[moved as usize], target);
        let position = moved - owners.starts[topic as usize];
        let hash = partition_hash(string_hash(group.topics().names().get(topic as usize)), position as i32);
        self.record(topic, moved, hash, owner, target);
        owner
    }

    /// Stop replacing a partition by another one.
    pub(super) fn stop_substituting(&mut self) {
        self.is_direct = true;
    }

    /// Return the current state as a hash of the owners.
    pub(super) fn state(&self) -> u64 {
        self.state
    }

    /// Return the partitions that have moved, each with its owner before the balancing.
    pub(super) fn sources(&self) -> impl Iterator<Item = (u32, u32)> {
        self.moved.iter().map(|(partition, movement)| (*partition, movement.source))
    }

    /// Return the partition to move: one that has moved in the opposite direction, if any, else the given one.
    fn actual(&self, owners: &Owners, topic: u32, partition: u32, target: u32) -> u32 {
        if self.is_direct {
            return partition;
        }
        let movement = self.moved.get(&partition);
        let source = movement.map_or(owners.members[partition as usize], |movement| movement.source);
        self.tables.get(&(topic, target, source)).map_or(partition, Table::first)
    }

    /// Record a move.
    fn record(&mut self, topic: u32, partition: u32, hash: i32, owner: u32, target: u32) {
        let mut source = owner;
        if let Some(before) = self.moved.remove(&partition) {
            source = before.source;
            self.state ^= mixed(partition, owner);
            let direction = (topic, source, owner);
            if let Some(table) = self.tables.get_mut(&direction)
                && table.remove(before.number, partition, hash)
            {
                self.tables.remove(&direction);
            }
        }
        if source != target {
            self.moved.insert(partition, Movement { source, number: self.count });
            self.state ^= mixed(partition, target);
            self.tables.entry((topic, source, target)).or_default().insert(self.count, partition, hash);
            self.count += 1;
        }
    }
}

/// Java `HashSet` of partitions of one topic.
///
/// Not modelled: a bucket that becomes a tree. That takes eleven moves between the same two members, of partitions in one bucket.
#[derive(Debug)]
struct Table {
    /// (Bucket, index of the movement, partition, hash code), sorted in the iteration order of the set.
    keys: BTreeSet<(usize, u32, u32, i32)>,
    /// The number of buckets, which never shrinks.
    buckets: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self { keys: BTreeSet::new(), buckets: DEFAULT_CAPACITY }
    }
}

impl Table {
    /// Return the first partition in iteration order.
    fn first(&self) -> u32 {
        self.keys.first().expect("a table without keys is dropped").2
    }

    /// Insert a partition.
    fn insert(&mut self, number: u32, partition: u32, hash: i32) {
        let before = self.buckets;
        let own = bucket(hash, before);
        if before < MIN_TREEIFY_CAPACITY
            && self.keys.range((own, 0, 0, 0)..(own + 1, 0, 0, 0)).count() >= TREEIFY_THRESHOLD as usize
        {
            self.buckets *= 2;
        }
        if is_full(self.keys.len() + 1, self.buckets) {
            self.buckets *= 2;
        }
        self.keys.insert((own, number, partition, hash));
        if self.buckets != before {
            let rehashed = |(_, number, partition, hash)| (bucket(hash, self.buckets), number, partition, hash);
            self.keys = std::mem::take(&mut self.keys).into_iter().map(rehashed).collect();
        }
    }

    /// Remove a partition; return true if the set is then empty.
    fn remove(&mut self, number: u32, partition: u32, hash: i32) -> bool {
        self.keys.remove(&(bucket(hash, self.buckets), number, partition, hash));
        self.keys.is_empty()
    }
}

/// States of balancing, one after each pass through the partitions.
#[derive(Debug, Default)]
pub(super) struct States(FxHashSet<u64>);

impl States {
    /// Add a state; return false if it was added before.
    pub(super) fn add(&mut self, movements: &Movements) -> bool {
        self.0.insert(movements.state())
    }
}

/// Hash a partition and its owner with the finalizer of `SplitMix64`.
fn mixed(partition: u32, owner: u32) -> u64 {
    let mut bits = (u64::from(partition) << 32 | u64::from(owner)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_iterates_like_a_java_hash_set() {
        // Multiples of 16 share a bucket in a table of 16 buckets. A ninth key in a bucket doubles the table, and keys keep their
        // order.
        let mut table = Table::default();
        for (number, hash) in (0..).zip([48, 16, 32, 1, 0]) {
            table.insert(number, hash as u32, hash);
        }
        assert_eq!((48, 16), (table.first(), table.buckets));

        for (number, hash) in (5..).zip([64, 80, 96, 112, 128]) {
            table.insert(number, hash as u32, hash);
        }

        assert_eq!((32, 32), (table.first(), table.buckets));
        for (number, hash) in [(2, 32), (4, 0), (5, 64), (7, 96), (9, 128)] {
            assert!(!table.remove(number, hash as u32, hash));
        }
        assert_eq!((1, 32), (table.first(), table.buckets));
        for (number, hash, is_last) in [(0, 48, false), (1, 16, false), (3, 1, false), (6, 80, false), (8, 112, true)] {
            assert_eq!(is_last, table.remove(number, hash as u32, hash));
        }
    }
}

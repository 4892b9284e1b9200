//! Topics of a cluster: their partitions, and the racks of the replicas.

use std::sync::{Arc, LazyLock, OnceLock};

use super::names::{NameTable, Names, sorted_by_name};
use super::sets::Sets;
use crate::error::GroupError;

/// Partition ids of a topic, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ids {
    /// 0 to n-1.
    Count(u32),
    /// The ids themselves.
    Listed(Vec<i32>),
}

impl Ids {
    /// Return the number of partitions.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Count(count) => *count as usize,
            Self::Listed(ids) => ids.len(),
        }
    }

    /// Return true if there are no partitions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the id at a position.
    #[must_use]
    pub fn at(&self, position: usize) -> i32 {
        match self {
            Self::Count(_) => position as i32,
            Self::Listed(ids) => ids[position],
        }
    }

    /// Return one past the highest id; 0 if there are no partitions.
    #[must_use]
    pub fn end(&self) -> usize {
        match self {
            Self::Count(count) => *count as usize,
            Self::Listed(ids) => ids.last().map_or(0, |last| *last as usize + 1),
        }
    }

    /// Return the position of an id; None if the topic does not have it.
    #[must_use]
    pub fn position(&self, id: i32) -> Option<usize> {
        match self {
            Self::Count(count) => usize::try_from(id).ok().filter(|position| *position < *count as usize),
            Self::Listed(ids) => ids.binary_search(&id).ok(),
        }
    }

    /// Return the end of the run of consecutive ids that starts at position `first`; at most `end`.
    pub(crate) fn end_of_run(&self, first: usize, end: usize) -> usize {
        match self {
            Self::Listed(ids) if (ids[end - 1] - ids[first]) as usize != end - 1 - first => {
                let run = ids[first..end].windows(2).take_while(|pair| pair[1] == pair[0] + 1).count();
                first + run + 1
            }
            _ => end,
        }
    }
}

/// Racks by number, and the distinct sets of racks that the replicas of a partition are on.
#[derive(Debug, Clone, Default)]
pub struct Racks {
    names: Names,
    table: NameTable,
    sets: Sets,
}

impl Racks {
    /// Return the number of a rack; add the rack if it is new.
    pub fn number(&mut self, rack: &str) -> u32 {
        let new = self.names.len() as u32;
        let number = self.table.number_or_insert(&self.names, rack, new);
        if number == new {
            self.names.push(rack);
        }
        number
    }

    /// Return the racks as a shared value. All topics without racks share one, which has no sets.
    #[must_use]
    pub fn into_shared(self) -> Arc<Self> {
        static NONE: LazyLock<Arc<Racks>> = LazyLock::new(Arc::default);
        if self.is_empty() { Arc::clone(&NONE) } else { Arc::new(self) }
    }

    /// Return the name of a rack.
    #[must_use]
    pub fn name(&self, number: u32) -> &str {
        self.names.get(number as usize)
    }

    /// Return true if a rack has this name.
    #[must_use]
    #[inline]
    pub fn is(&self, number: u32, name: &str) -> bool {
        self.names.is(number as usize, name)
    }

    /// Return the number of a rack; None if no replica is on it.
    #[must_use]
    pub fn known(&self, rack: &str) -> Option<u32> {
        self.table.number(&self.names, rack)
    }

    /// Return the number of a set of racks. `racks` may have any order and repetitions; it is sorted in place.
    pub fn set(&mut self, racks: &mut Vec<u32>) -> u32 {
        self.sets.number(racks)
    }

    /// Return the distinct sets of racks.
    #[must_use]
    pub fn sets(&self) -> &Sets {
        &self.sets
    }

    /// Return the number of distinct racks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Return true if there are no racks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// Partitions of a topic, and the racks of their replicas.
#[derive(Debug, Clone)]
pub struct Partitions {
    /// Partition ids, ascending.
    pub ids: Ids,
    /// By position in `ids`, the number of a rack set; None if no replica has a rack.
    pub racks: Option<Vec<u32>>,
}

impl Partitions {
    /// Return the partitions 0 to count-1, without racks.
    #[must_use]
    pub fn counted(count: u32) -> Self {
        Self { ids: Ids::Count(count), racks: None }
    }

    /// Return the partitions with the given ids, in any order, each with the number of its rack set.
    ///
    /// # Errors
    /// An id is given twice.
    pub fn listed(topic: &str, mut listed: Vec<(i32, u32)>, racks: &Racks) -> Result<Self, GroupError> {
        if !listed.is_sorted_by(|left, right| left.0 < right.0) {
            listed.sort_by_key(|(id, _)| *id);
            if let Some(pair) = listed.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(GroupError::DuplicatePartition { topic: topic.to_owned(), partition: pair[0].0 });
            }
        }
        let counted = listed.last().is_none_or(|(last, _)| *last as usize + 1 == listed.len());
        let ids = if counted {
            Ids::Count(listed.len() as u32)
        } else {
            Ids::Listed(listed.iter().map(|(id, _)| *id).collect())
        };
        let has_racks = !racks.is_empty() && listed.iter().any(|(_, set)| !racks.sets.get(*set).is_empty());
        let racks = has_racks.then(|| listed.into_iter().map(|(_, set)| set).collect());
        Ok(Self { ids, racks })
    }
}

/// Topics of a cluster in Java's order, and the racks of their replicas.
#[derive(Debug, Default)]
pub struct Topics {
    names: Names,
    partitions: Vec<Partitions>,
    racks: Arc<Racks>,
    table: OnceLock<NameTable>,
}

impl Topics {
    /// Sort topics by name and number them; also return the given place of each topic, unless the topics were sorted.
    #[must_use]
    pub fn sorted(
        names: Names,
        mut partitions: Vec<Partitions>,
        racks: impl Into<Arc<Racks>>,
    ) -> (Self, Option<Vec<u32>>) {
        let racks = racks.into();
        if names.are_sorted() {
            return (Self { names, partitions, racks, table: OnceLock::new() }, None);
        }
        let order = sorted_by_name(names.len(), |number| names.get(number as usize)).numbers;
        let sorted = order.iter().map(|number| names.get(*number as usize)).collect();
        let partitions = order
            .iter()
            .map(|number| std::mem::replace(&mut partitions[*number as usize], Partitions::counted(0)))
            .collect();
        (Self { names: sorted, partitions, racks, table: OnceLock::new() }, Some(order))
    }

    /// Return topics, given as pairs of name and partitions in any order.
    #[must_use]
    pub fn new<S: AsRef<str>>(topics: impl IntoIterator<Item = (S, Partitions)>, racks: impl Into<Arc<Racks>>) -> Self {
        let (names, partitions): (Vec<S>, Vec<Partitions>) = topics.into_iter().unzip();
        Self::sorted(names.into_iter().collect(), partitions, racks).0
    }

    /// Return the number of a topic; None if it does not exist.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u32> {
        self.table.get_or_init(|| NameTable::of(&self.names)).number(&self.names, name)
    }

    /// Return the number of topics.
    #[must_use]
    pub fn len(&self) -> usize {
        self.partitions.len()
    }

    /// Return true if there are no topics.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.partitions.is_empty()
    }

    /// Return the names, by number.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Return the partitions, by number of the topic.
    #[must_use]
    pub fn partitions(&self) -> &[Partitions] {
        &self.partitions
    }

    /// Return the number of partitions of all topics.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.partitions.iter().map(|partitions| partitions.ids.len() as u64).sum()
    }

    /// Return the racks of all replicas.
    #[must_use]
    pub fn racks(&self) -> &Arc<Racks> {
        &self.racks
    }
}

/// Names of topics that do not exist; their numbers follow those of the topics.
#[derive(Debug, Default)]
pub(super) struct UnknownTopics {
    pub(super) names: Names,
    pub(super) table: NameTable,
}

impl UnknownTopics {
    /// Return the number of a name; add the name if it is new.
    pub(super) fn number(&mut self, topics: &Topics, name: &str) -> u32 {
        let new = self.names.len() as u32;
        let number = self.table.number_or_insert(&self.names, name, new);
        if number == new {
            self.names.push(name);
        }
        topics.len() as u32 + number
    }

    /// Return the number of a name; None if it was not added.
    pub(super) fn known_number(&self, topics: &Topics, name: &str) -> Option<u32> {
        self.table.number(&self.names, name).map(|number| topics.len() as u32 + number)
    }
}

/// Return the id of a topic whose id is not known: the 128-bit FNV-1a hash of its name in UTF-8.
#[must_use]
pub fn topic_id_of_name(name: &str) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    name.bytes().fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

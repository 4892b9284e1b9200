//! A group as the engine sees it: topics and members as dense numbers, equal subscriptions interned once.
//!
//! A *class* is a set of topics that some members subscribe to; every member is of exactly one class. An *audience* is the
//! set of classes that subscribe to a topic: topics with the same audience have the same consumers in the same order, so
//! the members are sorted once and ranked once per audience, never per topic.

use std::cmp::Ordering;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::error::GroupError;

/// Compares as Java's `String.compareTo` does: by UTF-16 code unit.
///
/// UTF-8 order is code point order. The two differ only where one string has a character of two code units (lead byte
/// `F0` and up) and the other one from U+E000 to U+FFFF (lead byte `EE` or `EF`): surrogates sort before those.
#[must_use]
pub fn java_order(left: &str, right: &str) -> Ordering {
    let weight = |byte: u8| if byte == 0xEE || byte == 0xEF { byte + 0x10 } else { byte };
    left.bytes().map(weight).cmp(right.bytes().map(weight))
}

/// The ids of a topic's partitions, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ids {
    /// 0 to n-1.
    Count(u32),
    /// The ids themselves.
    Listed(Vec<i32>),
}

impl Ids {
    /// How many partitions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Count(count) => *count as usize,
            Self::Listed(ids) => ids.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id at a position.
    #[must_use]
    pub fn at(&self, position: usize) -> i32 {
        match self {
            Self::Count(_) => position as i32,
            Self::Listed(ids) => ids[position],
        }
    }

    /// Whether the ids from one position to another (both included) have no hole.
    #[must_use]
    pub fn contiguous(&self, first: usize, last: usize) -> bool {
        match self {
            Self::Count(_) => true,
            Self::Listed(ids) => (ids[last] - ids[first]) as usize == last - first,
        }
    }
}

/// Racks as numbers, and the distinct sets of them that replicas or members are on.
#[derive(Debug, Clone, Default)]
pub struct Racks {
    numbers: FxHashMap<String, u32>,
    sets: Sets,
}

impl Racks {
    /// The number of a rack.
    pub fn number(&mut self, rack: &str) -> u32 {
        if let Some(number) = self.numbers.get(rack) {
            return *number;
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(rack.to_owned(), number);
        number
    }

    /// The number of a set of racks, given in any order and with repetitions.
    pub fn set(&mut self, racks: Vec<u32>) -> u32 {
        self.sets.number(racks)
    }

    /// The racks of a set, ascending.
    #[must_use]
    pub fn racks_of(&self, set: u32) -> &[u32] {
        &self.sets.all()[set as usize]
    }

    /// How many distinct racks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

/// A topic: its partitions, and for each the set of racks its replicas are on (None when no replica has a rack).
#[derive(Debug, Clone)]
pub struct Topic {
    /// The name.
    pub name: String,
    /// Partition ids, ascending.
    pub ids: Ids,
    /// Per position in `ids` the number of a rack set.
    pub racks: Option<Vec<u32>>,
}

impl Topic {
    /// A topic of `count` partitions, 0 to count-1, without racks.
    #[must_use]
    pub fn counted(name: String, count: u32) -> Self {
        Self { name, ids: Ids::Count(count), racks: None }
    }

    /// A topic of the partitions listed, in any order, each with the racks of its replicas.
    ///
    /// # Errors
    /// An id that is given twice.
    pub fn listed(name: String, mut partitions: Vec<(i32, Vec<u32>)>, racks: &mut Racks) -> Result<Self, GroupError> {
        partitions.sort_by_key(|(id, _)| *id);
        if let Some(pair) = partitions.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(GroupError::DuplicatePartition { topic: name, partition: pair[0].0 });
        }
        let has_racks = partitions.iter().any(|(_, replicas)| !replicas.is_empty());
        let ids: Vec<i32> = partitions.iter().map(|(id, _)| *id).collect();
        let sets = has_racks.then(|| partitions.into_iter().map(|(_, replicas)| racks.set(replicas)).collect());
        let counted = ids.iter().enumerate().all(|(position, id)| *id as usize == position);
        let ids = if counted { Ids::Count(ids.len() as u32) } else { Ids::Listed(ids) };
        Ok(Self { name, ids, racks: sets })
    }
}

/// The topics of a cluster in Java's order.
#[derive(Debug, Clone, Default)]
pub struct Topics {
    topics: Vec<Topic>,
    numbers: FxHashMap<String, u32>,
}

impl Topics {
    /// Sorts and numbers the topics.
    #[must_use]
    pub fn new(mut topics: Vec<Topic>) -> Self {
        topics.sort_by(|left, right| java_order(&left.name, &right.name));
        let numbers = topics.iter().enumerate().map(|(number, topic)| (topic.name.clone(), number as u32)).collect();
        Self { topics, numbers }
    }

    /// The number of a topic, if it exists.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The topics, by number.
    #[must_use]
    pub fn all(&self) -> &[Topic] {
        &self.topics
    }
}

/// A member: who it is and what it subscribes to.
#[derive(Debug, Clone)]
pub struct Member {
    /// The member id.
    pub id: String,
    /// Set for static members; `""` is one too.
    pub instance_id: Option<String>,
    /// Number of its rack; None for a member without.
    pub rack: Option<u32>,
    /// Number of its class.
    pub class: u32,
}

/// Distinct subscriptions, each a sorted set of topic numbers.
pub type Classes = Sets;

/// Distinct sets of numbers, each sorted and numbered itself.
#[derive(Debug, Clone, Default)]
pub struct Sets {
    sets: Vec<Vec<u32>>,
    numbers: FxHashMap<Vec<u32>, u32>,
}

impl Sets {
    /// The number of a set, given in any order and with repetitions.
    pub fn number(&mut self, mut members: Vec<u32>) -> u32 {
        if !members.is_sorted_by(|left, right| left < right) {
            members.sort_unstable();
            members.dedup();
        }
        match self.numbers.entry(members) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let number = self.sets.len() as u32;
                self.sets.push(entry.key().clone());
                *entry.insert(number)
            }
        }
    }

    /// The sets, by number.
    #[must_use]
    pub fn all(&self) -> &[Vec<u32>] {
        &self.sets
    }
}

/// Topics and members with everything interned: what an assignor works on.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// The topics.
    pub topics: Topics,
    /// The members, in the order given.
    pub members: Vec<Member>,
    /// The distinct subscriptions.
    pub classes: Classes,
    /// The racks of members and replicas.
    pub racks: Racks,
}

/// The consumers of the topics, ranked.
#[derive(Debug)]
pub struct Audiences {
    /// Per audience its members (indices into the group's) in Kafka's order.
    pub members: Vec<Vec<u32>>,
    /// Per topic its audience; None when nobody subscribes or the topic has no partitions.
    pub of_topic: Vec<Option<u32>>,
}

impl Group {
    /// The members in Kafka's order: static ones by instance id, then dynamic ones by member id; equal ones as given.
    #[must_use]
    pub fn member_order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.members.len() as u32).collect();
        let compare = |left: &u32, right: &u32| {
            let (left, right) = (&self.members[*left as usize], &self.members[*right as usize]);
            match (&left.instance_id, &right.instance_id) {
                (Some(left), Some(right)) => java_order(left, right),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => java_order(&left.id, &right.id),
            }
        };
        order.sort_by(compare);
        order
    }

    /// Who consumes each topic, in order.
    #[must_use]
    pub fn audiences(&self) -> Audiences {
        let order = self.member_order();
        let mut ranks_of_class: Vec<Vec<u32>> = vec![Vec::new(); self.classes.all().len()];
        for (rank, member) in order.iter().enumerate() {
            ranks_of_class[self.members[*member as usize].class as usize].push(rank as u32);
        }
        let mut classes_of_topic: Vec<Vec<u32>> = vec![Vec::new(); self.topics.all().len()];
        for (class, topics) in self.classes.all().iter().enumerate() {
            if !ranks_of_class[class].is_empty() {
                for topic in topics {
                    classes_of_topic[*topic as usize].push(class as u32);
                }
            }
        }
        let mut numbers: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        let mut members = Vec::new();
        let mut of_topic = Vec::with_capacity(classes_of_topic.len());
        for (topic, classes) in self.topics.all().iter().zip(classes_of_topic) {
            if classes.is_empty() || topic.ids.is_empty() {
                of_topic.push(None);
                continue;
            }
            of_topic.push(Some(match numbers.entry(classes) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => {
                    let mut ranks = Vec::new();
                    for class in entry.key() {
                        ranks.extend_from_slice(&ranks_of_class[*class as usize]);
                    }
                    ranks.sort_unstable();
                    members.push(ranks.into_iter().map(|rank| order[rank as usize]).collect());
                    *entry.insert(members.len() as u32 - 1)
                }
            }));
        }
        Audiences { members, of_topic }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_order_is_that_of_utf16_code_units() {
        let names = [
            "",
            "B",
            "a1",
            "a10",
            "a2",
            "b",
            "é",
            "\u{D7FF}",
            "\u{E000}",
            "\u{FF5E}",
            "\u{10000}",
            "\u{1F600}",
            "a\u{1F600}",
        ];
        for left in names {
            for right in names {
                let by_units = left.encode_utf16().cmp(right.encode_utf16());

                assert_eq!(by_units, java_order(left, right), "{left:?} against {right:?}");
            }
        }
    }

    #[test]
    fn listed_ids_from_zero_without_holes_are_a_count() {
        let mut racks = Racks::default();

        let topic = Topic::listed("t".into(), vec![(1, vec![]), (0, vec![]), (2, vec![])], &mut racks).unwrap();

        assert_eq!(Ids::Count(3), topic.ids);
        assert!(topic.racks.is_none());
    }

    #[test]
    fn a_partition_given_twice_is_named() {
        let twice = Topic::listed("t".into(), vec![(4, vec![]), (4, vec![])], &mut Racks::default());

        assert_eq!("topic 't': partition 4 is given twice", twice.unwrap_err().to_string());
    }

    #[test]
    fn equal_subscriptions_share_a_class_whatever_their_order() {
        let mut classes = Classes::default();

        assert_eq!(classes.number(vec![2, 0, 2]), classes.number(vec![0, 2]));
        assert_ne!(classes.number(vec![0, 2]), classes.number(vec![0]));
    }
}

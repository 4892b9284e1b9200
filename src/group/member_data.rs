//! What a member reports besides its topics: the partitions it owns, their generation, and user data.
//!
//! Range reads none of it; sticky assignors do, and the size of a group's record depends on it. Most members report nothing, so a
//! group keeps these values for the others only.

use rustc_hash::FxHashSet;

/// Values of a member's subscription besides topics, instance id and rack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberData {
    /// What the member's assignor added; empty and absent are different.
    pub user_data: Option<Vec<u8>>,
    /// The generation in which the member got what it owns.
    pub generation: Option<i32>,
    /// Per run of ids of one topic, in the order given, the topic's number and where its ids end.
    topics: Vec<(u32, usize)>,
    /// The ids of owned partitions, run by run.
    ids: Vec<i32>,
}

impl MemberData {
    /// Values of a member that owns no partitions yet.
    #[must_use]
    pub fn new(user_data: Option<Vec<u8>>, generation: Option<i32>) -> Self {
        Self { user_data, generation, ..Self::default() }
    }

    /// Add ids of a topic, given by a number of `Group::owned_topic_number`; a topic may come more than once.
    pub fn push_owned(&mut self, topic: u32, ids: impl IntoIterator<Item = i32>) {
        self.ids.extend(ids);
        self.topics.push((topic, self.ids.len()));
    }

    /// The owned partitions as (topic number, ids), in the order given.
    pub fn owned(&self) -> impl Iterator<Item = (u32, &[i32])> {
        let mut start = 0;
        self.topics.iter().map(move |(topic, end)| (*topic, &self.ids[std::mem::replace(&mut start, *end)..*end]))
    }

    /// Whether there is no value at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.user_data.is_none() && self.generation.is_none() && self.topics.is_empty()
    }

    /// The sizes of these values, without the rack; `name_length` is that of a topic's name in bytes.
    pub(super) fn sizes(&self, name_length: impl Fn(u32) -> usize) -> FieldSizes {
        // An encoded subscription has each topic once.
        let topics: FxHashSet<u32> = self.topics.iter().map(|(topic, _)| *topic).collect();
        let of_topic = |topic| 2 + name_length(topic) + 4;
        FieldSizes {
            user_data: self.user_data.as_ref().map_or(0, Vec::len),
            owned_partitions: topics.into_iter().map(of_topic).sum::<usize>() + 4 * self.ids.len(),
            rack: 0,
        }
    }
}

/// Sizes in bytes of fields of a `ConsumerProtocol` subscription, without the lengths that precede them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FieldSizes {
    /// The user data.
    pub user_data: usize,
    /// The owned partitions: names of topics and ids, each with its length.
    pub owned_partitions: usize,
    /// The rack.
    pub rack: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owned_partitions_keep_their_topics_and_order() {
        let mut data = MemberData::new(Some(vec![1, 2, 3]), None);
        data.push_owned(7, [2, 0]);
        data.push_owned(1, []);
        data.push_owned(4, [9]);
        data.push_owned(7, [1]);

        assert_eq!(vec![(7, &[2, 0][..]), (1, &[]), (4, &[9]), (7, &[1])], data.owned().collect::<Vec<_>>());
        let expected = FieldSizes { user_data: 3, owned_partitions: 3 * (2 + 5 + 4) + 4 * 4, rack: 0 };
        assert_eq!(expected, data.sizes(|_| 5));
        assert!(!data.is_empty() && MemberData::default().is_empty());
    }
}

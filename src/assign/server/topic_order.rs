//! Order in which the broker's assignors read topics: that of tables of names, and of tables of topic ids.

use crate::assign::table_order::{DEFAULT_CAPACITY, presized_capacity, table_order_by, uuid_hash, uuid_order};
use crate::group::{Group, MemberData, java_order, string_hash};

/// Return the indices of ids in the order of a table.
pub(super) fn order_of_ids(ids: &[u128], capacity: usize) -> Vec<u32> {
    let hashes: Vec<i32> = ids.iter().map(|id| uuid_hash(*id)).collect();
    table_order_by(&hashes, capacity, |left, right| uuid_order(ids[left as usize], ids[right as usize]))
}

/// Topics of a member's subscription in the order of its set of names.
pub(super) struct TopicsByName {
    /// The topics that exist.
    pub(super) topics: Vec<u32>,
    /// Initial number of buckets of the set of names, in which names of topics that do not exist have places.
    pub(super) capacity: usize,
}

/// Return the topics of a member's subscription in the order of its set of names.
pub(super) fn topics_by_name(group: &Group, member: usize) -> TopicsByName {
    let given = group.topics_as_given(member);
    let mut is_seen = vec![false; group.topics().len() + group.absent().len()];
    let is_new = |topic: &u32| !std::mem::replace(&mut is_seen[*topic as usize], true);
    let topics: Vec<u32> = given.iter().copied().filter(is_new).collect();
    let hashes: Vec<i32> = topics.iter().map(|topic| string_hash(group.topic_name(*topic))).collect();
    let capacity = presized_capacity(topics.len());
    let compare = |left: u32, right: u32| {
        java_order(group.topic_name(topics[left as usize]), group.topic_name(topics[right as usize]))
    };
    let by_name = table_order_by(&hashes, capacity, compare).into_iter().map(|index| topics[index as usize]);
    TopicsByName { topics: by_name.filter(|topic| (*topic as usize) < group.topics().len()).collect(), capacity }
}

/// Return the topics of a member's previous target, existing or not, in the order of a table of topic ids; each with its partition ids.
pub(super) fn previous_topics_by_id<'g>(group: &Group, data: MemberData<'g>) -> Vec<(u32, Vec<&'g [i32]>)> {
    let mut owned = data.owned();
    if let (Some((topic, ids)), None) = (owned.next(), owned.next()) {
        return vec![(topic, vec![ids])];
    }
    let mut runs: Vec<(u32, usize, &[i32])> =
        data.owned().enumerate().map(|(run, (topic, ids))| (topic, run, ids)).collect();
    runs.sort_by_key(|(topic, ..)| *topic);
    let mut topics: Vec<&[(u32, usize, &[i32])]> = runs.chunk_by(|left, right| left.0 == right.0).collect();
    topics.sort_by_key(|runs| runs[0].1);
    let ids: Vec<u128> = if topics.len() > 1 {
        topics.iter().map(|runs| group.topic_id(runs[0].0)).collect()
    } else {
        vec![0; topics.len()]
    };
    let found = order_of_ids(&ids, DEFAULT_CAPACITY).into_iter().map(|index| topics[index as usize]);
    found.map(|runs| (runs[0].0, runs.iter().map(|(.., ids)| *ids).collect())).collect()
}

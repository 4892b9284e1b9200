//! Order in which the broker's assignors read topics: that of tables of names, and of tables of topic ids.

use crate::assign::table_order::{
    DEFAULT_CAPACITY, TREEIFY_THRESHOLD, bucket, presized_capacity, table_order_by, uuid_hash, uuid_order,
};
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

/// Read the topics of a member's previous target, existing or not, in the order of a table of topic ids. `found` becomes their runs of
/// partition ids: those of a topic are next to each other, in the order given.
pub(super) fn previous_topics_by_id<'g>(group: &Group, data: MemberData<'g>, found: &mut Vec<(u32, &'g [i32])>) {
    const FEW: usize = TREEIFY_THRESHOLD as usize;
    found.clear();
    found.extend(data.owned());
    if found.len() <= 1 {
        return;
    }
    if found.len() <= FEW {
        // So few topics leave a table at its first size and without trees. A run's place is the bucket of its topic, then the
        // topic's first run.
        let mut places = [(0, 0, 0); FEW];
        for (run, (topic, _)) in found.iter().enumerate() {
            places[run] = match found[..run].iter().position(|(before, _)| before == topic) {
                Some(first) => (places[first].0, first, run),
                None => (bucket(uuid_hash(group.topic_id(*topic)), DEFAULT_CAPACITY), run, run),
            };
        }
        let places = &mut places[..found.len()];
        if !places.is_sorted() {
            places.sort_unstable();
            let mut given = [(0, [].as_slice()); FEW];
            given[..found.len()].copy_from_slice(found);
            for (run, (.., from)) in found.iter_mut().zip(places) {
                *run = given[*from];
            }
        }
        return;
    }
    let mut runs: Vec<(u32, usize, &[i32])> =
        found.iter().enumerate().map(|(run, (topic, ids))| (*topic, run, *ids)).collect();
    runs.sort_by_key(|(topic, ..)| *topic);
    let mut topics: Vec<&[(u32, usize, &[i32])]> = runs.chunk_by(|left, right| left.0 == right.0).collect();
    topics.sort_by_key(|runs| runs[0].1);
    let ids: Vec<u128> = topics.iter().map(|runs| group.topic_id(runs[0].0)).collect();
    let order = order_of_ids(&ids, DEFAULT_CAPACITY);
    found.clear();
    found.extend(order.into_iter().flat_map(|index| topics[index as usize]).map(|(topic, _, ids)| (*topic, *ids)));
}

//! Assignment of a share group whose members all subscribe to the same topics.

use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::shares::Shares;
use super::target::{place_order, push_numbers};
use super::{quotas, sharing};
use crate::assign::server::topic_order::{previous_topics_by_id, topics_by_name};
use crate::assign::table_order::{
    DEFAULT_CAPACITY, computed_order_by, expected_capacity, id_partition_hash, member_order, table_order_by, uuid_hash,
};
use crate::error::NoAnswer;
use crate::group::Group;
use crate::plan::{Plan, SharedOwners};

/// Marks a topic that no member subscribes to.
const NONE: u32 = u32::MAX;

/// Assign the partitions of a group in which all members have the same subscription.
pub(super) fn assign(group: &Arc<Group>) -> Result<Plan, NoAnswer> {
    let order = member_order(group);
    let topics = topics_by_name(group, order[0] as usize).topics;
    if topics.is_empty() {
        return Ok(Plan::from_shared(Arc::clone(group), SharedOwners::default()));
    }
    let mut pairs = Pairs::new(group, order[0] as usize);
    let assignable = pairs.keys.len();
    let mut shares = Shares::new(order.len());
    shares.start(sharing(order.len(), assignable), assignable);
    for (quota, of_member) in shares.quotas.iter_mut().zip(quotas(order.len(), assignable)) {
        *quota = of_member;
    }
    let is_equal = Cell::new(false);
    if group.has_owned_partitions() {
        let (mut runs, mut ids) = (Vec::new(), Vec::new());
        for place in place_order(order.len()) {
            let Some(data) = group.member_data(order[place as usize] as usize) else { continue };
            let first = shares.claims();
            previous_topics_by_id(group, data, &mut runs);
            for of_topic in runs.chunk_by(|left, right| left.0 == right.0) {
                let topic = of_topic[0].0;
                if pairs.starts.get(topic as usize).is_some_and(|start| *start != NONE) {
                    ids.clear();
                    push_numbers(of_topic.iter().map(|(_, ids)| ids), &mut ids);
                    for id in &ids {
                        shares.claim(pairs.number(group, topic, *id), place);
                    }
                }
            }
            shares.shed_excess(first, |partitions| {
                let hashes: Vec<i32> = partitions.iter().map(|pair| pairs.hash(*pair)).collect();
                table_order_by(&hashes, DEFAULT_CAPACITY, not_compared(&is_equal))
            });
        }
        shares.shed_shared();
    }
    let unfilled = shares.unfilled(0..order.len() as u32);
    if !unfilled.is_empty() {
        for topic in &topics {
            pairs.insert_all(*topic, group);
        }
        let hashes: Vec<i32> = pairs.inserted.iter().map(|pair| pairs.hash(*pair)).collect();
        let capacity = expected_capacity(assignable);
        let table = computed_order_by(&hashes, capacity, pairs.is_called_again, not_compared(&is_equal));
        let table: Vec<u32> = table.into_iter().map(|index| pairs.inserted[index as usize]).collect();
        if !is_equal.get() {
            shares.hand_out(&table, unfilled).map_err(|left| {
                let (topic, partition) = pairs.keys[left.partition as usize];
                NoAnswer::NoMemberLeft { topic: group.topics().names().get(topic as usize).to_owned(), partition }
            })?;
        }
    }
    if is_equal.get() {
        return Err(NoAnswer::NotDetermined);
    }
    let mut owners = shares.owners(|place| order[place as usize]);
    let mut found = SharedOwners::default();
    for pair in pairs.sorted() {
        let (topic, id) = pairs.keys[pair as usize];
        found.push(topic, id, owners.of(pair));
    }
    Ok(Plan::from_shared(Arc::clone(group), found))
}

/// Return the comparison of pairs, which Java cannot compare. Java then uses identity hash codes; this is reported in `is_equal`.
fn not_compared(is_equal: &Cell<bool>) -> impl Fn(u32, u32) -> Ordering + '_ {
    |_, _| {
        is_equal.set(true);
        Ordering::Equal
    }
}

/// Pairs of topic and partition id, numbered: the assignable ones by topic and id, then other ones that members had.
struct Pairs {
    keys: Vec<(u32, i32)>,
    /// Per topic, the number of its first assignable pair; `NONE` for a topic that no member subscribes to.
    starts: Vec<u32>,
    /// Hash codes of the topics' ids.
    topic_hashes: Vec<i32>,
    /// Numbers of the other pairs.
    others: FxHashMap<(u32, i32), u32>,
    /// Number of assignable pairs.
    assignable: u32,
    /// Pairs in the order in which they are added to Kafka's table.
    inserted: Vec<u32>,
    is_inserted: Vec<bool>,
    /// True if a pair was looked up in the table after the last one was added.
    is_called_again: bool,
}

impl Pairs {
    /// Number the assignable partitions of the topics that a member subscribes to.
    fn new(group: &Group, member: usize) -> Self {
        let topics = group.topics_of(group.subscription_of(member));
        let mut starts = vec![NONE; group.topics().len()];
        let mut topic_hashes = vec![0; starts.len()];
        let mut keys = Vec::new();
        for topic in topics {
            starts[*topic as usize] = keys.len() as u32;
            topic_hashes[*topic as usize] = uuid_hash(group.topic_id(*topic));
            let ids = &group.topics().partitions()[*topic as usize].ids;
            keys.extend((0..ids.len()).map(|position| (*topic, ids.at(position))));
        }
        let assignable = keys.len();
        Self {
            keys,
            starts,
            topic_hashes,
            others: FxHashMap::default(),
            assignable: assignable as u32,
            inserted: Vec::with_capacity(assignable),
            is_inserted: vec![false; assignable],
            is_called_again: false,
        }
    }

    fn hash(&self, pair: u32) -> i32 {
        let (topic, id) = self.keys[pair as usize];
        id_partition_hash(self.topic_hashes[topic as usize], id)
    }

    /// Return the number of a pair, and add it to the table if it is new.
    fn number(&mut self, group: &Group, topic: u32, id: i32) -> u32 {
        let position = group.topics().partitions()[topic as usize].ids.position(id);
        let number = if let Some(position) = position {
            self.starts[topic as usize] + position as u32
        } else {
            let new = self.keys.len() as u32;
            let number = *self.others.entry((topic, id)).or_insert(new);
            if number == new {
                self.keys.push((topic, id));
                self.is_inserted.push(false);
            }
            number
        };
        self.insert(number);
        number
    }

    /// Add a pair to the table if it is new.
    fn insert(&mut self, pair: u32) {
        let is_known = std::mem::replace(&mut self.is_inserted[pair as usize], true);
        self.is_called_again = is_known;
        if !is_known {
            self.inserted.push(pair);
        }
    }

    /// Add the assignable pairs of a topic to the table.
    fn insert_all(&mut self, topic: u32, group: &Group) {
        let start = self.starts[topic as usize];
        let end = start + group.topics().partitions()[topic as usize].ids.len() as u32;
        (start..end).for_each(|pair| self.insert(pair));
    }

    /// Return the pairs by topic and id.
    fn sorted(&self) -> Vec<u32> {
        let mut pairs: Vec<u32> = (0..self.keys.len() as u32).collect();
        if pairs.len() > self.assignable as usize {
            pairs.sort_unstable_by_key(|pair| self.keys[*pair as usize]);
        }
        pairs
    }
}

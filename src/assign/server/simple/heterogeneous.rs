//! Assignment of a share group whose members subscribe to different topics: topic by topic.
//!
//! Members keep partitions of topics that no member subscribes to, and of topics that do not exist: Kafka does not look at them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::shares::Shares;
use super::target::{place_order, push_numbers};
use super::{quotas, sharing};
use crate::assign::table_order::{DEFAULT_CAPACITY, computed_order_by, expected_capacity, member_order, table_order};
use crate::cancellation;
use crate::error::NoAnswer;
use crate::group::{ConsumerSets, ExtendedGroup, Group, Ids, Lists};
use crate::plan::{Plan, SharedOwners};

/// Assign the partitions of a group topic by topic.
pub(super) fn assign(group: &Arc<Group>) -> Result<Plan, NoAnswer> {
    let order = member_order(group);
    let is_subscribed = group.subscribed_topics();
    if !is_subscribed.contains(&true) {
        return Ok(Plan::from_shared(Arc::clone(group), SharedOwners::default()));
    }
    let previous = Previous::of(group, order);
    // A plan has the topics whose partitions members keep, also those that do not exist.
    let existing = group.topics().len();
    let absent = existing as u32..previous.ends.len().max(existing) as u32;
    let absent: Vec<u32> = absent.filter(|topic| !previous.of_topic(*topic).is_empty()).collect();
    let ExtendedGroup { group: planned, topics } = ExtendedGroup::of(group, &absent);

    let sets = ConsumerSets::of(group);
    let pairs = (0..).zip(order).flat_map(|(place, member)| {
        sets.of_subscription(group.subscription_of(*member as usize)).iter().map(move |set| (*set, place))
    });
    let subscribers = Lists::by_key(sets.len(), pairs);
    let mut shares = Shares::new(order.len());
    let mut found = SharedOwners::default();
    for (number, topic) in (0..).zip(topics) {
        let claims = previous.of_topic(topic);
        if is_subscribed.get(topic as usize) != Some(&true) {
            keep(claims, number, order, &mut found);
            continue;
        }
        // A topic without partitions has no consumer set, and members lose what they had of it.
        let Some(set) = sets.of_topic(topic as usize) else { continue };
        cancellation::check();
        let ids = &group.topics().partitions()[topic as usize].ids;
        let subscribers = subscribers.get(set as usize);
        let keys = assign_topic(&mut shares, ids, subscribers, claims).map_err(|partition| NoAnswer::NoMemberLeft {
            topic: group.topics().names().get(topic as usize).to_owned(),
            partition,
        })?;
        let mut owners = shares.owners(|place| order[place as usize]);
        for (id, key) in keys {
            found.push(number, id, owners.of(key));
        }
    }
    Ok(Plan::from_shared(planned, found))
}

/// Keep the partitions of a topic that no member subscribes to.
fn keep(claims: &[Claim], topic: u32, order: &[u32], found: &mut SharedOwners) {
    let mut pairs: Vec<(i32, u32)> = claims.iter().map(|(place, id)| (*id, order[*place as usize])).collect();
    pairs.sort_unstable();
    pairs.dedup();
    for of_id in pairs.chunk_by(|left, right| left.0 == right.0) {
        let members: Vec<u32> = of_id.iter().map(|(_, member)| *member).collect();
        found.push(topic, of_id[0].0, &members);
    }
}

/// Assign the partitions of a topic; return the ids and their numbers in `shares`, by id. On failure, return the partition that no
/// member is left for.
fn assign_topic(shares: &mut Shares, ids: &Ids, subscribers: &[u32], claims: &[Claim]) -> Result<Vec<(i32, u32)>, i32> {
    shares.start(sharing(subscribers.len(), ids.len()), ids.len());
    for (place, quota) in subscribers.iter().zip(quotas(subscribers.len(), ids.len())) {
        shares.quotas[*place as usize] = quota;
    }
    let mut numbers = Numbers::new(ids);
    let mut of_member_ids = Vec::new();
    for of_member in claims.chunk_by(|left, right| left.0 == right.0) {
        let first = shares.claims();
        of_member_ids.clear();
        push_numbers(of_member.iter().map(|(_, id)| [*id]), &mut of_member_ids);
        for id in &of_member_ids {
            shares.claim(numbers.number(*id), of_member[0].0);
        }
        shares.shed_excess(first, |partitions| {
            let hashes: Vec<i32> = partitions.iter().map(|number| numbers.id(*number)).collect();
            table_order(&hashes, DEFAULT_CAPACITY)
        });
    }
    shares.shed_shared();
    let unfilled = shares.unfilled(subscribers.iter().copied());
    let handed_out = shares.hand_out(&numbers.table_order(), unfilled);
    for place in subscribers {
        shares.quotas[*place as usize] = 0;
    }
    handed_out.map_err(|left| numbers.id(left.partition))?;
    Ok(numbers.by_id())
}

/// Partition ids of a topic, numbered: the assignable ones by position, then other ones that members had.
struct Numbers<'a> {
    ids: &'a Ids,
    others: Vec<i32>,
    /// Numbers of the other ids.
    known: FxHashMap<i32, u32>,
    /// Numbers in the order in which claims add them to Kafka's table.
    claimed: Vec<u32>,
    is_claimed: Vec<bool>,
    /// True if a number was claimed again after the last one was added.
    is_called_again: bool,
}

impl<'a> Numbers<'a> {
    fn new(ids: &'a Ids) -> Self {
        Self {
            ids,
            others: Vec::new(),
            known: FxHashMap::default(),
            claimed: Vec::new(),
            is_claimed: Vec::new(),
            is_called_again: false,
        }
    }

    fn id(&self, number: u32) -> i32 {
        let number = number as usize;
        if number < self.ids.len() { self.ids.at(number) } else { self.others[number - self.ids.len()] }
    }

    /// Return the number of a claimed id.
    fn number(&mut self, id: i32) -> u32 {
        let number = self.ids.position(id).map_or_else(
            || {
                let new = (self.ids.len() + self.others.len()) as u32;
                let number = *self.known.entry(id).or_insert(new);
                if number == new {
                    self.others.push(id);
                }
                number
            },
            |position| position as u32,
        );
        if self.is_claimed.len() <= number as usize {
            self.is_claimed.resize(self.ids.len().max(number as usize + 1), false);
        }
        self.is_called_again = std::mem::replace(&mut self.is_claimed[number as usize], true);
        if !self.is_called_again {
            self.claimed.push(number);
        }
        number
    }

    /// Return the numbers in the order of Kafka's table: claimed ids are added first, then the other assignable ones.
    fn table_order(&self) -> Vec<u32> {
        let assignable = 0..self.ids.len() as u32;
        let capacity = expected_capacity(self.ids.len());
        if self.others.is_empty() && self.ids.end() <= capacity.min(1 << 16) {
            return assignable.collect(); // each id has a bucket of its own
        }
        let mut inserted = self.claimed.clone();
        let mut is_called_again = self.is_called_again;
        for number in assignable {
            is_called_again = self.is_claimed.get(number as usize) == Some(&true);
            if !is_called_again {
                inserted.push(number);
            }
        }
        let hashes: Vec<i32> = inserted.iter().map(|number| self.id(*number)).collect();
        let compare = |left: u32, right: u32| hashes[left as usize].cmp(&hashes[right as usize]);
        let order = computed_order_by(&hashes, capacity, is_called_again, compare);
        order.into_iter().map(|index| inserted[index as usize]).collect()
    }

    /// Return the ids, ascending, with their numbers.
    fn by_id(&self) -> Vec<(i32, u32)> {
        let count = self.ids.len() + self.others.len();
        let mut found: Vec<(i32, u32)> = (0..count as u32).map(|number| (self.id(number), number)).collect();
        if !self.others.is_empty() {
            found.sort_unstable();
        }
        found
    }
}

/// Place of a member, and the id of a partition that it had.
type Claim = (u32, i32);

/// Partitions that members had, by topic; per topic by member, in the order in which Kafka reads the members. Ids of a member come in
/// the order given, some perhaps twice.
#[derive(Default)]
struct Previous {
    claims: Vec<Claim>,
    /// Per topic, existing or not, the end of its claims; empty if there are no claims.
    ends: Vec<usize>,
}

impl Previous {
    fn of(group: &Group, order: &[u32]) -> Self {
        let mut found = Self::default();
        if !group.has_owned_partitions() {
            return found;
        }
        let places = place_order(order.len());
        let data =
            || places.iter().filter_map(|place| Some((*place, group.member_data(order[*place as usize] as usize)?)));
        found.ends = vec![0; group.owned_topics() as usize];
        for (topic, ids) in data().flat_map(|(_, data)| data.owned()) {
            found.ends[topic as usize] += ids.iter().filter(|id| **id >= 0).count();
        }
        // Each end becomes the start of the topic's claims. Each written claim advances it by one, until it is their end.
        let mut total = 0;
        for end in &mut found.ends {
            total += std::mem::replace(end, total);
        }
        found.claims = vec![(0, 0); total];
        for (place, data) in data() {
            for (topic, ids) in data.owned() {
                let end = &mut found.ends[topic as usize];
                for id in ids.iter().filter(|id| **id >= 0) {
                    found.claims[*end] = (place, *id);
                    *end += 1;
                }
            }
        }
        found
    }

    /// Return what members had of a topic.
    fn of_topic(&self, topic: u32) -> &[Claim] {
        let end = self.ends.get(topic as usize).copied().unwrap_or(0);
        let start = topic.checked_sub(1).and_then(|before| self.ends.get(before as usize)).copied().unwrap_or(0);
        &self.claims[start.min(end)..end]
    }
}

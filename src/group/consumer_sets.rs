//! Consumer set of each topic, and rank of each member in its consumer sets.

use super::sets::{Lists, Sets};
use super::{Group, Topics};

/// Marks a topic without a consumer set.
const NONE: u32 = u32::MAX;

/// Consumer sets of a group. A consumer set is the set of members that subscribe to a topic, stored as the set of their subscriptions.
/// Topics with the same subscriptions share a consumer set. A member has a rank in each consumer set of its subscription.
#[derive(Debug, Default)]
pub struct ConsumerSets {
    /// Consumer set of each topic.
    of_topic: Vec<u32>,
    /// Topics of each consumer set, ascending.
    topics: Lists,
    /// Subscriptions of each consumer set.
    subscriptions: Sets,
    /// Number of consumers of each consumer set.
    sizes: Vec<u32>,
    /// Consumer sets of each subscription, ascending.
    of_subscription: Lists,
}

impl ConsumerSets {
    /// Return the consumer sets of a group; topics without partitions or consumers have none.
    #[must_use]
    pub fn of(group: &Group) -> Self {
        let members_per_subscription = group.members_per_subscription();
        let mut found = Self::sort_topics(group.topics(), &subscriptions_of_topics(group, &members_per_subscription));
        let sum = |subscriptions: &[u32]| {
            subscriptions.iter().map(|subscription| members_per_subscription[*subscription as usize]).sum()
        };
        found.sizes = found.subscriptions.all().iter().map(sum).collect();
        let pairs = (0..found.sizes.len() as u32)
            .flat_map(|set| found.subscriptions.get(set).iter().map(move |subscription| (*subscription, set)));
        found.of_subscription = Lists::by_key(group.subscriptions.len(), pairs);
        found
    }

    /// Return the consumer sets of topics: topics with the same subscriptions share one.
    fn sort_topics(topics: &Topics, subscriptions_of_topic: &Lists) -> Self {
        let mut found = Self { of_topic: vec![NONE; topics.len()], ..Self::default() };
        let mut last = NONE;
        for (topic, subscriptions) in subscriptions_of_topic.iter().enumerate() {
            if subscriptions.is_empty() {
                continue;
            }
            if last == NONE || found.subscriptions.get(last) != subscriptions {
                last = found.subscriptions.number_of(subscriptions);
            }
            found.of_topic[topic] = last;
        }
        let of_topic = found.of_topic.iter().enumerate().filter(|(_, set)| **set != NONE);
        found.topics = Lists::by_key(found.subscriptions.len(), of_topic.map(|(topic, set)| (*set, topic as u32)));
        found
    }

    /// Return the consumer set of a topic; None if no member subscribes or the topic has no partitions.
    #[must_use]
    pub fn of_topic(&self, topic: usize) -> Option<u32> {
        Some(self.of_topic[topic]).filter(|set| *set != NONE)
    }

    /// Return the number of consumer sets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Return true if there are no consumer sets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Return the number of consumers of a consumer set.
    #[must_use]
    pub fn size(&self, set: u32) -> usize {
        self.sizes[set as usize] as usize
    }

    /// Return true if the members of a subscription belong to a consumer set.
    #[must_use]
    pub fn has_subscription(&self, set: u32, subscription: u32) -> bool {
        self.subscriptions.get(set).binary_search(&subscription).is_ok()
    }

    /// Return the consumer sets of a subscription, ascending.
    #[must_use]
    pub fn of_subscription(&self, subscription: u32) -> &[u32] {
        self.of_subscription.get(subscription as usize)
    }

    /// Return the value of each consumer of each consumer set, by rank.
    #[must_use]
    pub fn consumers(&self, group: &Group, value: impl Fn(u32) -> u32) -> Lists {
        let value = &value;
        let pairs = group.order().iter().flat_map(|member| {
            let sets = self.of_subscription(group.subscription_of(*member as usize));
            sets.iter().map(move |set| (*set, value(*member)))
        });
        Lists::by_key(self.len(), pairs)
    }
}

/// Consumer sets of a group, and the rank of each member in its consumer sets.
#[derive(Debug)]
pub struct RankedConsumerSets(Form);

/// Form of the sets and ranks. In most groups all members subscribe to the same topics: such a group needs two arrays.
#[derive(Debug)]
enum Form {
    One(OnlyConsumerSet),
    Several(Box<Ranked>),
}

/// The consumer set of a group in which all members subscribe to the same topics.
#[derive(Debug)]
struct OnlyConsumerSet {
    /// Topics, ascending; at least one.
    topics: Vec<u32>,
    /// Rank of each member.
    ranks: Vec<u32>,
}

/// Any number of consumer sets.
#[derive(Debug)]
struct Ranked {
    sets: ConsumerSets,
    /// Ranks of all members; those of one member are in the order of its subscription's consumer sets.
    ranks: Vec<u32>,
    /// Start of each member's ranks.
    starts: Vec<usize>,
}

impl RankedConsumerSets {
    /// Return the consumer sets of a group with the ranks of its members.
    #[must_use]
    pub fn of(group: &Group) -> Self {
        match OnlyConsumerSet::of(group) {
            Some(only) => Self(Form::One(only)),
            None => Self(Form::Several(Box::new(Ranked::of(group)))),
        }
    }

    /// Return the consumer set of a topic; None if no member subscribes or the topic has no partitions.
    #[must_use]
    pub fn of_topic(&self, topic: usize) -> Option<u32> {
        match &self.0 {
            Form::One(only) => only.topics.binary_search(&(topic as u32)).ok().map(|_| 0),
            Form::Several(several) => several.sets.of_topic(topic),
        }
    }

    /// Return the number of consumer sets.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::One(_) => 1,
            Form::Several(several) => several.sets.len(),
        }
    }

    /// Return true if there are no consumer sets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the number of consumers of a consumer set.
    #[must_use]
    pub fn size(&self, set: u32) -> usize {
        match &self.0 {
            Form::One(only) => only.ranks.len(),
            Form::Several(several) => several.sets.size(set),
        }
    }

    /// Return the topics of a consumer set, ascending.
    #[must_use]
    pub fn topics(&self, set: u32) -> &[u32] {
        match &self.0 {
            Form::One(only) => &only.topics,
            Form::Several(several) => several.sets.topics.get(set as usize),
        }
    }

    /// Return the consumer sets of a subscription, ascending.
    #[must_use]
    #[inline]
    pub fn of_subscription(&self, subscription: u32) -> &[u32] {
        match &self.0 {
            Form::One(_) => &[0],
            Form::Several(several) => several.sets.of_subscription(subscription),
        }
    }

    /// Return the ranks of a member, in the order of the consumer sets of its subscription.
    #[must_use]
    #[inline]
    pub fn ranks(&self, group: &Group, member: usize) -> &[u32] {
        match &self.0 {
            Form::One(only) => std::slice::from_ref(&only.ranks[member]),
            Form::Several(several) => {
                let start = several.starts[member];
                &several.ranks[start..start + several.sets.of_subscription(group.subscription_of(member)).len()]
            }
        }
    }

    /// Return the value of each consumer of each consumer set, by rank.
    #[must_use]
    pub fn consumers(&self, group: &Group, value: impl Fn(u32) -> u32) -> Lists {
        match &self.0 {
            Form::One(_) => Lists::single(group.order().iter().map(|member| value(*member)).collect()),
            Form::Several(several) => several.sets.consumers(group, value),
        }
    }
}

impl OnlyConsumerSet {
    /// Return the only consumer set of a group; None if its members subscribe to different topics, or to none that has partitions.
    fn of(group: &Group) -> Option<Self> {
        let members = group.subscription_of.len();
        if group.subscriptions.len() != 1 || members == 0 {
            return None;
        }
        let partitions = group.topics().partitions();
        let wanted = group.topics_of(0);
        let mut topics = Vec::with_capacity(wanted.len());
        topics.extend(wanted.iter().filter(|topic| !partitions[**topic as usize].ids.is_empty()));
        if topics.is_empty() {
            return None;
        }
        let mut ranks: Vec<u32> = (0..members as u32).collect();
        for (rank, member) in (0..).zip(group.order()) {
            ranks[*member as usize] = rank;
        }
        Some(Self { topics, ranks })
    }
}

impl Ranked {
    /// Rank the members of a group: in Kafka's order, each gets the next rank of each of its consumer sets.
    fn of(group: &Group) -> Self {
        let sets = ConsumerSets::of(group);
        let mut end = 0;
        let mut starts = Vec::with_capacity(group.subscription_of.len());
        for subscription in &group.subscription_of {
            starts.push(end);
            end += sets.of_subscription(*subscription).len();
        }
        let mut ranks = vec![0; end];
        let mut next = vec![0; sets.len()];
        for member in group.order() {
            let of_member = sets.of_subscription(group.subscription_of[*member as usize]);
            let start = starts[*member as usize];
            for (rank, set) in ranks[start..].iter_mut().zip(of_member) {
                *rank = next[*set as usize];
                next[*set as usize] += 1;
            }
        }
        Self { sets, ranks, starts }
    }
}

/// Return the subscriptions to each topic, ascending, without those that no member has. The list of a topic without
/// partitions is empty.
fn subscriptions_of_topics(group: &Group, members_per_subscription: &[u32]) -> Lists {
    let partitions = group.topics().partitions();
    let subscriptions = (0..group.subscriptions.len() as u32)
        .filter(|subscription| members_per_subscription[*subscription as usize] > 0);
    let pairs = subscriptions.flat_map(|subscription| {
        let wanted = group.topics_of(subscription).iter().filter(|topic| !partitions[**topic as usize].ids.is_empty());
        wanted.map(move |topic| (*topic, subscription))
    });
    Lists::by_key(partitions.len(), pairs)
}

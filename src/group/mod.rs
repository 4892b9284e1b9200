//! Group: topics and members as dense numbers, and each distinct subscription once.
//!
//! A *subscription* is a distinct set of topics, and each member stores the number of its subscription. A *consumer set* is the set of
//! members that subscribe to a topic. Topics with the same consumer set have the same consumers in the same order, so members are sorted
//! once and ranked once per consumer set, not once per topic.

mod builder;
mod consumer_sets;
mod extended;
mod member_data;
mod names;
mod sets;
mod topic_lists;
mod topics;

use std::sync::{Arc, OnceLock};

pub use builder::GroupBuilder;
pub use consumer_sets::{ConsumerSets, RankedConsumerSets};
pub(crate) use extended::ExtendedGroup;
use member_data::MemberDataTable;
pub use member_data::{FieldSizes, MemberData};
use names::Sorted;
pub use names::{NameTable, Names, folded_hash, java_order, string_hash};
pub use sets::{Lists, Sets};
use topic_lists::TopicLists;
use topics::UnknownTopics;
pub use topics::{Ids, Partitions, Racks, Topics, topic_id_of_name};

/// The rack of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberRack {
    /// The member has no rack: all replicas are equally near.
    Unset,
    /// The rack with this number; at least one replica is on it.
    WithReplicas(u32),
    /// A rack that no replica is on.
    WithoutReplicas,
}

/// Topics and members of a group: the input of an assignor.
#[derive(Debug)]
pub struct Group {
    topics: Arc<Topics>,
    /// Topics that members subscribe to and that do not exist.
    absent: UnknownTopics,
    /// Topics that members own partitions of and that do not exist.
    absent_owned: UnknownTopics,
    members: Names,
    /// Number of each member's subscription.
    subscription_of: Vec<u32>,
    subscriptions: Sets,
    topic_lists: TopicLists,
    /// Static members and their instance ids, by member.
    instance_ids: Vec<(u32, String)>,
    /// Rack of each member; empty while no member has a rack.
    member_racks: Vec<MemberRack>,
    /// For each rack A, the rack of the member that followed the most recent member on A. Members are often on racks in
    /// turn. So if the last member is on A, this rack is tried first for the next member.
    next_rack: Vec<u32>,
    last_rack: u32,
    /// Lengths of the names of racks without replicas, by member.
    other_racks: Vec<(u32, usize)>,
    /// Values that members report besides topics.
    member_data: MemberDataTable,
    /// Sizes of fields with unknown values, by member.
    field_sizes: Vec<(u32, FieldSizes)>,
    /// Topic ids by number of the topic, also of topics that do not exist and that members own partitions of; empty if no id is given.
    /// A topic without an id gets one made from its name.
    topic_ids: Vec<Option<u128>>,
    /// True if the subscriptions were read from their encoded form.
    is_from_wire: bool,
    /// Topics that do not exist and whose partitions members keep, ascending; only in the group of a plan.
    kept_topics: Vec<u32>,
    order: OnceLock<Vec<u32>>,
    by_id: OnceLock<Sorted>,
    table_orders: OnceLock<TableOrders>,
    topic_table_order: OnceLock<Vec<u32>>,
    reported_target: OnceLock<ReportedTarget>,
}

/// The members of a group in the order of a Java hash table, and of a copy that is filled in this order.
#[derive(Debug, Clone)]
pub(crate) struct TableOrders {
    pub(crate) table: Vec<u32>,
    /// None if it is the same.
    pub(crate) copy: Option<Vec<u32>>,
}

/// The assignment that the members of a group report, for an assignor that starts from it.
///
/// Members are given by their place in the order of a Java hash table.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReportedTarget {
    /// Owner of each partition, `u32::MAX` if it has none; topics in Java's order, positions ascending.
    pub(crate) owners: Vec<u32>,
    /// By place, the number of partitions that the member owns.
    pub(crate) sizes: Vec<u32>,
    /// Partitions that one member reports and a later one owns, as distinct pairs (place of the first member, partition).
    pub(crate) lost: Vec<(u32, u32)>,
}

impl Group {
    /// Return a group without members, with capacity for `members` members.
    #[must_use]
    pub fn new(topics: Arc<Topics>, members: usize) -> Self {
        Self {
            topics,
            members: Names::with_capacity(members),
            subscription_of: Vec::with_capacity(members),
            absent: UnknownTopics::default(),
            absent_owned: UnknownTopics::default(),
            subscriptions: Sets::default(),
            topic_lists: TopicLists::default(),
            instance_ids: Vec::new(),
            member_racks: Vec::new(),
            next_rack: Vec::new(),
            last_rack: 0,
            other_racks: Vec::new(),
            member_data: MemberDataTable::default(),
            field_sizes: Vec::new(),
            topic_ids: Vec::new(),
            is_from_wire: false,
            kept_topics: Vec::new(),
            order: OnceLock::new(),
            by_id: OnceLock::new(),
            table_orders: OnceLock::new(),
            topic_table_order: OnceLock::new(),
            reported_target: OnceLock::new(),
        }
    }

    /// Return the number of a topic that members may subscribe to; it need not exist.
    pub fn topic_number(&mut self, name: &str) -> u32 {
        self.topics.number(name).unwrap_or_else(|| self.absent.number(&self.topics, name))
    }

    /// Return the number of a topic that exists or that members subscribe to; None for other names.
    #[must_use]
    pub fn known_topic_number(&self, name: &str) -> Option<u32> {
        self.topics.number(name).or_else(|| self.absent.known_number(&self.topics, name))
    }

    /// Return the number of a topic that members may own partitions of; it need not exist. Only topics that exist have the same number
    /// as in subscriptions.
    pub fn owned_topic_number(&mut self, name: &str) -> u32 {
        self.topics.number(name).unwrap_or_else(|| self.absent_owned.number(&self.topics, name))
    }

    /// Return the number of a topic that exists or that members own partitions of; None for other names.
    #[must_use]
    pub fn known_owned_topic_number(&self, name: &str) -> Option<u32> {
        self.topics.number(name).or_else(|| self.absent_owned.known_number(&self.topics, name))
    }

    /// Return the topic name for a number that `owned_topic_number` returned.
    #[must_use]
    pub fn owned_topic_name(&self, number: u32) -> &str {
        match (number as usize).checked_sub(self.topics.len()) {
            None => self.topics.names().get(number as usize),
            Some(absent) => self.absent_owned.names.get(absent),
        }
    }

    /// Return the number of topics that exist or that members own partitions of.
    #[must_use]
    pub fn owned_topics(&self) -> u32 {
        (self.topics.len() + self.absent_owned.names.len()) as u32
    }

    /// Return the number of existing topics.
    #[must_use]
    pub fn existing_topics(&self) -> usize {
        self.topics.len() - self.kept_topics.len()
    }

    /// Return the number of topics that members subscribe to and that do not exist.
    #[must_use]
    pub fn unknown_topics(&self) -> usize {
        let is_subscribed = if self.kept_topics.is_empty() { Vec::new() } else { self.subscribed_topics() };
        self.absent.names.len() + self.kept_topics.iter().filter(|topic| is_subscribed[**topic as usize]).count()
    }

    /// Return true for a topic that does not exist and whose partitions members keep (`ExtendedGroup`).
    #[must_use]
    pub(crate) fn is_kept(&self, topic: u32) -> bool {
        self.kept_topics.binary_search(&topic).is_ok()
    }

    /// Return a number for `push` that identifies these topics, given by number in any order, with repetitions.
    ///
    /// Lists of the same topics are one subscription; the order of each list is kept.
    pub fn intern_subscription(&mut self, topics: &[u32]) -> u32 {
        if topics.is_sorted_by(|left, right| left < right) {
            return self.subscriptions.number_of(topics);
        }
        self.topic_lists.intern(topics, &mut self.subscriptions)
    }

    /// Add a member. It is static if it has an instance id, which may be `""`. The rack `""` counts as no rack.
    pub fn push(&mut self, id: &str, subscription: u32, instance_id: Option<&str>, rack: Option<&str>) {
        let member = self.members.len() as u32;
        self.members.push(id);
        self.subscription_of.push(self.topic_lists.push(member, subscription));
        if let Some(instance_id) = instance_id {
            self.instance_ids.push((member, instance_id.to_owned()));
        }
        self.push_rack(member, rack);
    }

    /// Add dynamic members with their subscriptions and racks; `racks` may end early, and the other members have none then.
    pub fn push_all<'r>(
        &mut self,
        ids: Names,
        subscriptions: impl IntoIterator<Item = u32>,
        racks: impl Iterator<Item = Option<&'r str>>,
    ) {
        let members = self.members.len() as u32..;
        let subscriptions = members.clone().zip(subscriptions);
        self.subscription_of
            .extend(subscriptions.map(|(member, subscription)| self.topic_lists.push(member, subscription)));
        self.members.append(ids);
        members.zip(racks).for_each(|(member, rack)| self.push_rack(member, rack));
    }

    /// Add the rack of a member. Members before it without a rack may be left out.
    #[inline]
    fn push_rack(&mut self, member: u32, rack: Option<&str>) {
        let rack = rack.filter(|rack| !rack.is_empty());
        let member_rack = rack.map_or(MemberRack::Unset, |rack| self.member_rack(rack));
        if member_rack != MemberRack::Unset || !self.member_racks.is_empty() {
            if self.member_racks.len() < member as usize {
                self.member_racks.resize(member as usize, MemberRack::Unset);
            }
            self.member_racks.push(member_rack);
        }
        if let (MemberRack::WithoutReplicas, Some(rack)) = (member_rack, rack) {
            self.other_racks.push((member, rack.len()));
        }
    }

    #[inline]
    fn member_rack(&mut self, rack: &str) -> MemberRack {
        let racks = self.topics.racks();
        if let Some(next) = self.next_rack.get(self.last_rack as usize)
            && racks.is(*next, rack)
        {
            self.last_rack = *next;
            return MemberRack::WithReplicas(*next);
        }
        let Some(number) = racks.known(rack) else { return MemberRack::WithoutReplicas };
        self.next_rack.resize(racks.len(), number);
        self.next_rack[self.last_rack as usize] = number;
        self.last_rack = number;
        MemberRack::WithReplicas(number)
    }

    /// Add ids that the last added member owns; `owned_topic_number` returns the number of the topic.
    pub fn push_owned(&mut self, topic: u32, ids: impl IntoIterator<Item = i32>) {
        self.member_data.push_owned(topic, ids);
    }

    /// Add one id that the last added member owns.
    #[inline]
    pub fn push_owned_id(&mut self, topic: u32, id: i32) {
        self.member_data.push_owned_id(topic, id);
    }

    /// Set the other values of the last added member; call this after its owned partitions are added.
    pub fn set_member_data(&mut self, user_data: Option<&[u8]>, generation: Option<i32>) {
        self.member_data.finish(self.members.len() as u32 - 1, user_data, generation);
    }

    /// Set the sizes of fields of the last added member, if their values are not known.
    pub fn set_field_sizes(&mut self, sizes: FieldSizes) {
        if sizes != FieldSizes::default() {
            self.field_sizes.push((self.members.len() as u32 - 1, sizes));
        }
    }

    /// Set the id of a topic that exists or that members own partitions of; `owned_topic_number` returns the number of the topic.
    pub fn set_topic_id(&mut self, topic: u32, id: u128) {
        let numbers = self.topics.len().max(topic as usize + 1);
        if self.topic_ids.len() < numbers {
            self.topic_ids.resize(numbers, None);
        }
        self.topic_ids[topic as usize] = Some(id);
    }

    /// Return the id of a topic that exists or that members own partitions of; if it is not known, the id that `topic_id_of_name`
    /// makes.
    #[must_use]
    pub fn topic_id(&self, topic: u32) -> u128 {
        let given = self.topic_ids.get(topic as usize).copied().flatten();
        given.unwrap_or_else(|| topic_id_of_name(self.owned_topic_name(topic)))
    }

    /// Iterate over the topics whose ids are given, with their ids.
    pub fn given_topic_ids(&self) -> impl Iterator<Item = (&str, u128)> {
        (0..).zip(&self.topic_ids).filter_map(|(topic, id)| id.map(|id| (self.owned_topic_name(topic), id)))
    }

    /// Record that the subscriptions were read from their encoded form: members then claim only what their bytes contain.
    pub fn set_from_wire(&mut self) {
        self.is_from_wire = true;
    }

    /// Return true if the subscriptions were read from their encoded form.
    #[must_use]
    pub fn is_from_wire(&self) -> bool {
        self.is_from_wire
    }

    /// Return the topics.
    #[must_use]
    pub fn topics(&self) -> &Arc<Topics> {
        &self.topics
    }

    /// Return the member ids, in the order given.
    #[must_use]
    pub fn members(&self) -> &Names {
        &self.members
    }

    /// Return the distinct subscriptions: sets of numbers of topics, including topics that do not exist.
    #[must_use]
    pub fn subscriptions(&self) -> &Sets {
        &self.subscriptions
    }

    /// Return the existing topics of a subscription.
    #[must_use]
    pub fn topics_of(&self, subscription: u32) -> &[u32] {
        let wanted = self.subscriptions.get(subscription);
        &wanted[..wanted.partition_point(|topic| (*topic as usize) < self.topics.len())]
    }

    /// Iterate over the names of a subscription: existing topics in Java's order, then the others.
    pub fn names_of(&self, subscription: u32) -> impl Iterator<Item = &str> {
        self.subscriptions.get(subscription).iter().map(|number| self.topic_name(*number))
    }

    /// Return the topic name for a number that `topic_number` returned.
    #[must_use]
    pub fn topic_name(&self, number: u32) -> &str {
        match (number as usize).checked_sub(self.topics.len()) {
            None => self.topics.names().get(number as usize),
            Some(absent) => self.absent.names.get(absent),
        }
    }

    /// Return the numbers of a member's topics, existing or not, in the order of its subscription, with repetitions.
    #[must_use]
    pub fn topics_as_given(&self, member: usize) -> &[u32] {
        self.topic_lists
            .of_member(member as u32)
            .unwrap_or_else(|| self.subscriptions.get(self.subscription_of[member]))
    }

    /// Return the topics that members subscribe to and that do not exist, each once.
    #[must_use]
    pub fn absent(&self) -> &Names {
        &self.absent.names
    }

    /// Return the number of members of each subscription.
    #[must_use]
    pub fn members_per_subscription(&self) -> Vec<u32> {
        let mut sizes = vec![0; self.subscriptions.len()];
        for subscription in &self.subscription_of {
            sizes[*subscription as usize] += 1;
        }
        sizes
    }

    /// Return for each topic true if a member subscribes to it.
    #[must_use]
    pub fn subscribed_topics(&self) -> Vec<bool> {
        let mut is_subscribed = vec![false; self.topics.len()];
        for (subscription, members) in (0..).zip(self.members_per_subscription()) {
            for topic in self.topics_of(subscription).iter().filter(|_| members > 0) {
                is_subscribed[*topic as usize] = true;
            }
        }
        is_subscribed
    }

    /// Return the subscription of a member.
    #[must_use]
    pub fn subscription_of(&self, member: usize) -> u32 {
        self.subscription_of[member]
    }

    /// Return the instance id of a member; None if it is dynamic.
    #[must_use]
    pub fn instance_id(&self, member: usize) -> Option<&str> {
        of_member(&self.instance_ids, member).map(String::as_str)
    }

    /// Return the rack of a member.
    #[must_use]
    pub fn rack_of(&self, member: usize) -> MemberRack {
        self.member_racks.get(member).copied().unwrap_or(MemberRack::Unset)
    }

    /// Return true if a replica is on a rack, so that racks can affect the assignment.
    #[must_use]
    pub fn has_racks(&self) -> bool {
        !self.topics.racks().is_empty()
    }

    /// Return true if a member is on the rack of a replica.
    pub(crate) fn has_members_with_replicas(&self) -> bool {
        self.member_racks.iter().any(|rack| matches!(rack, MemberRack::WithReplicas(_)))
    }

    /// Return the values that a member reports besides topics; None if it reports none.
    #[must_use]
    pub fn member_data(&self, member: usize) -> Option<MemberData<'_>> {
        self.member_data.get(member)
    }

    /// Iterate over members that report values besides topics, with these values.
    pub(crate) fn all_member_data(&self) -> impl Iterator<Item = (u32, MemberData<'_>)> {
        self.member_data.iter()
    }

    /// Return true if a member owns partitions.
    #[must_use]
    pub(crate) fn has_owned_partitions(&self) -> bool {
        self.member_data.has_owned()
    }

    /// Return the sizes of a member's user data, owned partitions and rack.
    #[must_use]
    pub fn field_sizes(&self, member: usize) -> FieldSizes {
        if let Some(sizes) = of_member(&self.field_sizes, member) {
            return *sizes;
        }
        let name_length = |topic| self.owned_topic_name(topic).len();
        let sizes = self.member_data(member).map(|data| data.sizes(name_length)).unwrap_or_default();
        let rack = match self.rack_of(member) {
            MemberRack::Unset => 0,
            MemberRack::WithReplicas(rack) => self.topics.racks().name(rack).len(),
            MemberRack::WithoutReplicas => of_member(&self.other_racks, member).copied().unwrap_or_default(),
        };
        FieldSizes { rack, ..sizes }
    }

    /// Return all members sorted by member id in Java's order.
    #[must_use]
    pub fn by_id(&self) -> &[u32] {
        &self.sorted_by_id().numbers
    }

    fn sorted_by_id(&self) -> &Sorted {
        self.by_id.get_or_init(|| names::sorted_by_name(self.members.len(), |member| self.members.get(member as usize)))
    }

    /// Return the first member whose id is that of an earlier member.
    #[must_use]
    pub fn first_duplicate(&self) -> Option<usize> {
        // Without static members, most assignors need this order anyway.
        if self.instance_ids.is_empty() && !self.sorted_by_id().has_equal {
            return None;
        }
        NameTable::first_duplicate(&self.members)
    }

    /// Return the members in the orders of Java hash tables; the first call computes them.
    pub(crate) fn table_orders(&self, compute: impl FnOnce() -> TableOrders) -> &TableOrders {
        self.table_orders.get_or_init(compute)
    }

    /// Return the topics of a group with one subscription in the order of a Java hash table; the first call computes it.
    pub(crate) fn topic_table_order(&self, compute: impl FnOnce() -> Vec<u32>) -> &[u32] {
        self.topic_table_order.get_or_init(compute)
    }

    /// Return the assignment that members report; the first call computes it.
    pub(crate) fn reported_target(&self, compute: impl FnOnce() -> ReportedTarget) -> &ReportedTarget {
        self.reported_target.get_or_init(compute)
    }

    /// Return the members in Kafka's order: static members by instance id, then dynamic members by member id. Members with equal
    /// instance ids keep the given order.
    #[must_use]
    pub fn order(&self) -> &[u32] {
        if self.instance_ids.is_empty() {
            return self.by_id();
        }
        self.order.get_or_init(|| {
            let by_instance_id =
                names::sorted_by_name(self.instance_ids.len(), |number| &self.instance_ids[number as usize].1);
            let mut order: Vec<u32> =
                by_instance_id.numbers.into_iter().map(|number| self.instance_ids[number as usize].0).collect();
            let is_dynamic = |member: &u32| self.instance_id(*member as usize).is_none();
            let dynamic: Vec<u32> = (0..self.members.len() as u32).filter(is_dynamic).collect();
            let by_id =
                names::sorted_by_name(dynamic.len(), |number| self.members.get(dynamic[number as usize] as usize));
            order.extend(by_id.numbers.into_iter().map(|number| dynamic[number as usize]));
            order
        })
    }
}

/// Return the value of a member in a list sorted by member.
fn of_member<T>(values: &[(u32, T)], member: usize) -> Option<&T> {
    let found = values.binary_search_by_key(&(member as u32), |(member, _)| *member).ok()?;
    Some(&values[found].1)
}

#[cfg(test)]
mod tests;

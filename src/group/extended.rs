//! Group with further topics: those that do not exist and whose partitions members keep.

use std::sync::Arc;

use super::{Group, Names, Partitions, Topics};

/// Group with the topics and members of another group, and further topics without partitions. It has the members' subscriptions, but
/// not what they own.
pub(crate) struct ExtendedGroup {
    /// The group.
    pub(crate) group: Arc<Group>,
    /// For each topic of it, its number in the other group, which `Group::owned_topic_number` returned.
    pub(crate) topics: Vec<u32>,
}

impl ExtendedGroup {
    /// Extend a group by topics that members own partitions of and that do not exist.
    pub(crate) fn of(group: &Arc<Group>, further: &[u32]) -> Self {
        let existing = 0..group.topics().len() as u32;
        if further.is_empty() {
            return Self { group: Arc::clone(group), topics: existing.collect() };
        }
        let given: Vec<u32> = existing.chain(further.iter().copied()).collect();
        let names: Names = given.iter().map(|topic| group.owned_topic_name(*topic)).collect();
        let known = group.topics().partitions().iter().cloned();
        let partitions = known.chain(further.iter().map(|_| Partitions::counted(0))).collect();
        let (topics, order) = Topics::sorted(names, partitions, Arc::clone(group.topics().racks()));
        let numbers: Vec<u32> =
            order.map_or_else(|| given.clone(), |order| order.iter().map(|place| given[*place as usize]).collect());
        let mut extended = Group::new(Arc::new(topics), group.members().len());
        let mut subscriptions = Vec::with_capacity(group.subscriptions().len());
        for subscription in group.subscriptions().all().iter() {
            let topics: Vec<u32> =
                subscription.iter().map(|topic| extended.topic_number(group.topic_name(*topic))).collect();
            subscriptions.push(extended.intern_subscription(&topics));
        }
        for (member, id) in group.members().iter().enumerate() {
            let subscription = subscriptions[group.subscription_of(member) as usize];
            extended.push(id, subscription, group.instance_id(member), None);
            extended.set_field_sizes(group.field_sizes(member));
        }
        extended.member_racks.clone_from(&group.member_racks);
        let is_kept = |number: &u32| numbers[*number as usize] as usize >= group.topics().len();
        extended.kept_topics = (0..numbers.len() as u32).filter(is_kept).collect();
        Self { group: Arc::new(extended), topics: numbers }
    }
}

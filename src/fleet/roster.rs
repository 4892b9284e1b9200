//! A group by name: who is in it, and what they subscribe to.

use std::borrow::Cow;
use std::sync::Arc;

use super::cluster::{Changed, Cluster};
use crate::group::{Group, Names, Topics, java_order};

/// A member.
#[derive(Debug, Clone)]
pub struct RosterMember<'a> {
    /// The member id.
    pub id: Cow<'a, str>,
    /// Set for static members.
    pub instance_id: Option<Cow<'a, str>>,
    /// The rack it is on.
    pub rack: Option<Cow<'a, str>>,
    /// Which of the group's subscriptions it has.
    pub subscription: u32,
}

/// What some members subscribe to.
#[derive(Debug, Clone, Default)]
pub struct RosterSubscription<'a> {
    /// Names of topics, be there such topics or not; those that a pattern matches where there is one.
    pub topics: Vec<Cow<'a, str>>,
    /// The number of the pattern that says so.
    pub pattern: Option<u32>,
    /// True if these members give neither topics nor a pattern.
    pub is_missing: bool,
}

/// The members of a group and their subscriptions, each distinct one once.
#[derive(Debug, Clone, Default)]
pub struct Roster<'a> {
    /// The members; those with the same instance id count in this order.
    pub members: Vec<RosterMember<'a>>,
    /// The subscriptions, which members have by number.
    pub subscriptions: Vec<RosterSubscription<'a>>,
}

impl Roster<'_> {
    /// Sorts the members by id, so that their order says nothing.
    pub fn sort(&mut self) {
        self.members.sort_by(|left, right| java_order(&left.id, &right.id));
    }

    /// The group, among those topics of its cluster that its members subscribe to.
    #[must_use]
    pub fn group(&self, cluster: &Cluster, changed: Option<&Changed>) -> Arc<Group> {
        let mut group = Group::new(Arc::new(self.topics(cluster, changed)), self.members.len());
        let mut numbers = Vec::new();
        let mut numbers_of = Vec::with_capacity(self.subscriptions.len());
        for (subscription, in_use) in self.subscriptions.iter().zip(self.in_use()) {
            numbers.clear();
            if in_use {
                numbers.extend(subscription.topics.iter().map(|name| group.topic_number(name)));
            }
            numbers_of.push(group.intern_subscription(&mut numbers));
        }
        for member in &self.members {
            let subscription = numbers_of[member.subscription as usize];
            group.push(&member.id, subscription, member.instance_id.as_deref(), member.rack.as_deref());
        }
        Arc::new(group)
    }

    /// How many members tell neither topics nor a pattern.
    #[must_use]
    pub fn unsubscribed_members(&self) -> usize {
        self.members.iter().filter(|member| self.subscriptions[member.subscription as usize].is_missing).count()
    }

    /// Per subscription whether some member has it.
    pub(super) fn in_use(&self) -> Vec<bool> {
        let mut in_use = vec![false; self.subscriptions.len()];
        for member in &self.members {
            in_use[member.subscription as usize] = true;
        }
        in_use
    }

    /// The names that members subscribe to, in Java's order, each once.
    pub(super) fn wanted(&self) -> Vec<&str> {
        let in_use = self.subscriptions.iter().zip(self.in_use()).filter(|(_, in_use)| *in_use);
        let mut wanted: Vec<&str> =
            in_use.flat_map(|(subscription, _)| subscription.topics.iter().map(AsRef::as_ref)).collect();
        wanted.sort_unstable_by(|left, right| java_order(left, right));
        wanted.dedup();
        wanted
    }

    fn topics(&self, cluster: &Cluster, changed: Option<&Changed>) -> Topics {
        let wanted = self.wanted();
        let (mut names, mut partitions) = (Names::with_capacity(wanted.len()), Vec::with_capacity(wanted.len()));
        let topics = cluster.topics();
        for name in wanted {
            let found = match changed {
                None => topics.number(name).map(|number| topics.partitions()[number as usize].clone()),
                Some(changed) => changed.partitions(cluster, name),
            };
            if let Some(found) = found {
                names.push(name);
                partitions.push(found);
            }
        }
        Topics::sorted(names, partitions, Arc::clone(topics.racks())).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::{Partitions, Racks};

    #[test]
    fn a_group_knows_just_the_topics_that_its_members_subscribe_to() {
        let topics = ["t", "u", "v"].map(|name| (name, Partitions::counted(2)));
        let cluster = Cluster::new(Topics::new(topics, Racks::default()));
        let member =
            |id, subscription| RosterMember { id: Cow::Borrowed(id), instance_id: None, rack: None, subscription };
        let subscription = |topics: &[&'static str]| RosterSubscription {
            topics: topics.iter().map(|name| Cow::Borrowed(*name)).collect(),
            pattern: None,
            is_missing: false,
        };
        let roster = Roster {
            members: vec![member("b", 1), member("a", 0)],
            subscriptions: vec![subscription(&["v", "gone", "v"]), subscription(&["t", "v"])],
        };

        let group = roster.group(&cluster, None);

        assert_eq!(vec!["t", "v"], group.topics().names().iter().collect::<Vec<_>>());
        assert_eq!(vec!["gone"], group.absent().iter().collect::<Vec<_>>());
        assert_eq!(
            (&[0, 1][..], &[1][..]),
            (group.topics_of(group.subscription_of(0)), group.topics_of(group.subscription_of(1)))
        );
    }
}

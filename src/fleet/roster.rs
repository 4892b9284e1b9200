//! Members of a group and their subscriptions.

use std::borrow::Cow;
use std::sync::Arc;

use super::assignor::AssignorNames;
use super::cluster::{Changed, Cluster};
use super::owned::{Claims, OwnedSpan, PreviousTarget, reads_owned, sent_sizes};
use crate::assign::{Assignor, GroupProtocol, MAX_PARTITIONS, Options, assign};
use crate::error::GroupError;
use crate::group::{FieldSizes, Group, Names, Topics, java_order};
use crate::memory;
use crate::plan::{NO_OWNER, Owners, Plan};

/// Memory for a partition of the plan of owned partitions: its owner and, in the worst case, its span.
const BYTES_PER_OWNER: u64 = 32;

/// Check that a plan can have the owner of each partition of a group, one by one.
///
/// # Errors
/// The topics have more than `MAX_PARTITIONS` partitions, or their owners do not fit into memory.
pub fn check_owners(group: &Group) -> Result<(), GroupError> {
    let partitions = group.topics().total();
    if partitions > MAX_PARTITIONS {
        return Err(GroupError::TooManyOwners { partitions, limit: MAX_PARTITIONS });
    }
    Ok(memory::check_each("a plan", "partitions", partitions, BYTES_PER_OWNER)?)
}

/// Member of a group.
#[derive(Debug, Clone)]
pub struct RosterMember<'a> {
    /// The member id.
    pub id: Cow<'a, str>,
    /// The group instance id of a static member.
    pub instance_id: Option<Cow<'a, str>>,
    /// The rack.
    pub rack: Option<Cow<'a, str>>,
    /// Index of its subscription in the roster.
    pub subscription: u32,
    /// The generation in which the member got its owned partitions, if known.
    pub generation: Option<i32>,
    /// The names of assignor and group protocol in its row.
    pub names: AssignorNames<'a>,
}

/// Subscription that members share.
#[derive(Debug, Clone, Default)]
pub struct RosterSubscription<'a> {
    /// The topics: names, existing or not, then the topics that a pattern matches and that are not among the names.
    pub topics: Vec<Cow<'a, str>>,
    /// The names of a subscription with patterns; empty for other subscriptions.
    pub names: Vec<Cow<'a, str>>,
    /// The numbers of the patterns as given.
    pub patterns: Vec<u32>,
    /// The numbers of the patterns that are matched; scenarios change them where a switch of the protocol changes their meaning.
    pub matched_by: Vec<u32>,
    /// True if the rows of these members have neither topics nor a pattern.
    pub is_missing: bool,
}

impl<'a> RosterSubscription<'a> {
    /// Create a subscription to names, and to the topics that a pattern matches.
    #[must_use]
    pub fn by_patterns(
        names: impl Iterator<Item = &'a str>,
        matched: impl Iterator<Item = &'a str>,
        patterns: Vec<u32>,
    ) -> Self {
        let names: Vec<Cow<'_, str>> = names.map(Cow::Borrowed).collect();
        let mut topics = names.clone();
        topics.extend(matched.filter(|topic| !names.iter().any(|name| name == topic)).map(Cow::Borrowed));
        Self { topics, names, matched_by: patterns.clone(), patterns, is_missing: false }
    }
}

/// Members of a group and their distinct subscriptions.
#[derive(Debug, Clone, Default)]
pub struct Roster<'a> {
    /// The members; the order decides between members with the same instance id.
    pub members: Vec<RosterMember<'a>>,
    /// The distinct subscriptions.
    pub subscriptions: Vec<RosterSubscription<'a>>,
    /// The assignor of the group; None if the group cannot be computed.
    pub computed: Option<Assignor>,
    /// The partitions that the members own, if the assignor or a scenario starts from them.
    pub owned: Vec<OwnedSpan<'a>>,
}

impl Roster<'_> {
    /// Sort the members by id, so that the result does not depend on the order of the rows.
    pub fn sort(&mut self) {
        self.members.sort_by(|left, right| java_order(&left.id, &right.id));
    }

    /// Sort the members by id, and the subscriptions by their first member, so that no result depends on the order of the rows.
    pub fn sort_all(&mut self) {
        self.sort();
        if self.subscriptions.len() < 2 {
            return;
        }
        let mut given: Vec<_> = std::mem::take(&mut self.subscriptions).into_iter().map(Some).collect();
        let mut places: Vec<u32> = vec![0; given.len()];
        for member in &mut self.members {
            let number = member.subscription as usize;
            if let Some(subscription) = given[number].take() {
                places[number] = self.subscriptions.len() as u32;
                self.subscriptions.push(subscription);
            }
            member.subscription = places[number];
        }
    }

    /// Return true if the order of the members affects a result. Call `sort_all` then, because rows come in any order.
    ///
    /// The order of members affects plans, that of subscriptions also the changes of patterns, and the packing of weights.
    #[must_use]
    pub fn needs_order(&self, cluster: &Cluster) -> bool {
        self.computed.is_some_and(reads_owned)
            || cluster.has_weights()
            || self.members.iter().any(|member| member.instance_id.is_some())
            || self.subscriptions.iter().any(|subscription| !subscription.patterns.is_empty())
    }

    /// Return the plan that the group's assignor computes; None if the group cannot be computed, or the assignor has no answer.
    #[must_use]
    pub fn plan(&self, cluster: &Cluster, changed: Option<&Changed>, owned: &[OwnedSpan<'_>]) -> Option<Plan> {
        let assignor = self.computed?;
        assign(&self.group(cluster, changed, owned), Options { assignor, ..Options::default() }).ok()
    }

    /// Return the group with the cluster's topics that its members subscribe to, and with the partitions that members own.
    #[must_use]
    pub fn group(&self, cluster: &Cluster, changed: Option<&Changed>, owned: &[OwnedSpan<'_>]) -> Arc<Group> {
        let mut group = Group::new(Arc::new(self.topics(cluster, changed)), self.members.len());
        let mut numbers = Vec::new();
        let mut numbers_of = Vec::with_capacity(self.subscriptions.len());
        for (subscription, in_use) in self.subscriptions.iter().zip(self.in_use()) {
            numbers.clear();
            if in_use {
                numbers.extend(subscription.topics.iter().map(|name| group.topic_number(name)));
                // The answer of some assignors depends on the order of names. Brokers record them in Java's order; rows have an
                // arbitrary order.
                numbers.sort_unstable();
                numbers.dedup();
            }
            numbers_of.push(group.intern_subscription(&numbers));
        }
        let reader = self.computed.filter(|assignor| reads_owned(*assignor));
        let ids = self.members.iter().map(|member| member.id.as_ref());
        let is_shared = self.computed == Some(Assignor::ServerSimple);
        let mut previous = is_shared.then(|| PreviousTarget::of(owned, ids.clone()));
        let reader = reader.filter(|_| !is_shared);
        let mut claims = reader.map(|assignor| (assignor, Claims::of(owned, ids, &group)));
        for (number, member) in (0..).zip(&self.members) {
            let subscription = numbers_of[member.subscription as usize];
            group.push(&member.id, subscription, member.instance_id.as_deref(), member.rack.as_deref());
            if let Some(previous) = &mut previous {
                previous.push_next(number, &mut group);
                group.set_member_data(None, member.generation);
                group.set_field_sizes(FieldSizes {
                    rack: group.field_sizes(number as usize).rack,
                    ..FieldSizes::default()
                });
            }
            if let Some((assignor, claims)) = &mut claims {
                let spans = claims.next_spans(number);
                for of_topic in spans.chunk_by(|left, right| left.topic == right.topic) {
                    group.push_owned(of_topic[0].topic, of_topic.iter().flat_map(|span| span.ids()));
                }
                group.set_member_data(None, member.generation);
                let sizes = group.field_sizes(number as usize);
                group.set_field_sizes(sent_sizes(*assignor, sizes.owned_partitions, sizes.rack));
            }
        }
        if self.computed.is_some_and(|assignor| assignor.protocol() != GroupProtocol::Classic) {
            set_topic_ids(&mut group, cluster);
        }
        Arc::new(group)
    }

    /// Return the plan of the owned partitions of subscribed topics. Of several owners of a partition, that with the first id
    /// in Java's order counts, because rows have no order. Call `check_owners` first.
    #[must_use]
    pub fn owned_plan(&self, cluster: &Cluster, changed: Option<&Changed>, owned: &[OwnedSpan<'_>]) -> Plan {
        let group = self.group(cluster, changed, &[]);
        let mut owners = Owners::new(&group);
        let id = |member: u32| self.members[member as usize].id.as_ref();
        let mut claims = Claims::of(owned, self.members.iter().map(|member| member.id.as_ref()), &group);
        for member in 0..self.members.len() as u32 {
            let topics = group.topics_of(group.subscription_of(member as usize));
            for span in claims.next_spans(member).iter().filter(|span| topics.binary_search(&span.topic).is_ok()) {
                // The partition ids of a cluster's topics start at 0 and have no gaps.
                let first = owners.starts[span.topic as usize] as usize + span.start as usize;
                for owner in &mut owners.members[first..][..span.count as usize] {
                    if *owner == NO_OWNER || java_order(id(member), id(*owner)).is_lt() {
                        *owner = member;
                    }
                }
            }
        }
        Plan::from_owners(&group, owners)
    }

    /// Return the group protocol: that of the assignor or, if the group is not computed, of the rows; `classic` if they differ.
    pub(super) fn protocol(&self) -> GroupProtocol {
        let of_rows = || {
            let mut names = self.members.iter().filter_map(|member| member.names.group_protocol);
            let first = names.next().and_then(GroupProtocol::named).unwrap_or_default();
            if names.all(|name| name == first.name()) { first } else { GroupProtocol::Classic }
        };
        self.computed.map_or_else(of_rows, Assignor::protocol)
    }

    /// Count the members whose rows have neither topics nor a pattern.
    #[must_use]
    pub fn unsubscribed_members(&self) -> usize {
        self.members.iter().filter(|member| self.subscriptions[member.subscription as usize].is_missing).count()
    }

    /// Return one flag per subscription: true if a member has the subscription.
    pub(super) fn in_use(&self) -> Vec<bool> {
        let mut in_use = vec![false; self.subscriptions.len()];
        for member in &self.members {
            in_use[member.subscription as usize] = true;
        }
        in_use
    }

    /// Return the distinct topic names that members subscribe to, in Java's order.
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

/// Set the known ids of the group's topics, and of the topics that members own partitions of.
fn set_topic_ids(group: &mut Group, cluster: &Cluster) {
    for topic in 0..group.owned_topics() {
        if let Some(id) = cluster.topic_id(group.owned_topic_name(topic)) {
            group.set_topic_id(topic, id);
        }
    }
}

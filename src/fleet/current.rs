//! Plan of a group's current assignment, in which a partition may have several owners.

use std::borrow::Cow;
use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

use super::assignor::AssignorNames;
use super::cluster::Cluster;
use super::owned::{Claims, OwnedSpan};
use super::roster::{Roster, RosterMember, RosterSubscription};
use crate::group::{Group, java_order};
use crate::plan::{Layout, Plan, Span};

/// Return the plan of the current assignment, limited to existing partitions.
///
/// An owner without a row counts as a member. Members count as subscribed to the topics of the partitions that they own.
#[must_use]
pub fn current_plan(roster: &Roster<'_>, cluster: &Cluster, current: &[OwnedSpan<'_>]) -> Plan {
    let mut extended = roster.clone();
    let mut places: FxHashMap<&str, usize> =
        roster.members.iter().enumerate().map(|(place, member)| (member.id.as_ref(), place)).collect();
    let mut owned_topics: Vec<Vec<&str>> = vec![Vec::new(); roster.members.len()];
    let mut owners: Vec<&str> = current.iter().map(|run| run.member).collect();
    owners.sort_unstable_by(|left, right| java_order(left, right));
    owners.dedup();
    for owner in owners {
        if !places.contains_key(owner) {
            places.insert(owner, owned_topics.len());
            owned_topics.push(Vec::new());
            extended.members.push(RosterMember {
                id: Cow::Owned(owner.to_owned()),
                instance_id: None,
                rack: None,
                subscription: extended.subscriptions.len() as u32,
                generation: None,
                names: AssignorNames::default(),
            });
        }
    }
    extended.subscriptions.push(RosterSubscription::default());
    for run in current.iter().filter(|run| exists(cluster, run)) {
        owned_topics[places[run.member]].push(run.topic);
    }
    for (member, topics) in extended.members.iter_mut().zip(owned_topics) {
        add_topics(&mut extended.subscriptions, &mut member.subscription, topics);
    }
    let group = extended.group(cluster, None, current);
    let mut claims = Claims::of(current, extended.members.iter().map(|member| member.id.as_ref()), &group);
    let members = (0..extended.members.len() as u32).map(|member| claims.next_spans(member)).collect();
    Plan::compact(group, CurrentSpans(members))
}

fn exists(cluster: &Cluster, run: &OwnedSpan<'_>) -> bool {
    let topics = cluster.topics();
    topics.number(run.topic).is_some_and(|topic| (run.start as usize) < topics.partitions()[topic as usize].ids.len())
}

/// Change the subscription of a member to one that also has the given topics.
fn add_topics(subscriptions: &mut Vec<RosterSubscription<'_>>, subscription: &mut u32, mut topics: Vec<&str>) {
    let known = &subscriptions[*subscription as usize];
    topics.sort_unstable();
    topics.dedup();
    topics.retain(|topic| !known.topics.iter().any(|name| name == topic));
    if !topics.is_empty() {
        let mut names = known.topics.clone();
        names.extend(topics.into_iter().map(|topic| Cow::Owned(topic.to_owned())));
        *subscription = subscriptions.len() as u32;
        subscriptions.push(RosterSubscription { topics: names, ..RosterSubscription::default() });
    }
}

/// Spans of each member, which may overlap those of other members.
#[derive(Debug)]
struct CurrentSpans(Vec<Vec<Span>>);

impl Layout for CurrentSpans {
    fn spans_of(&self, _group: &Group, member: usize) -> Vec<Span> {
        self.0[member].clone()
    }

    fn each_member(&self, _group: &Group, read: &mut dyn FnMut(u32, &[Span]) -> ControlFlow<()>) {
        for (member, spans) in (0..).zip(&self.0) {
            if read(member, spans).is_break() {
                return;
            }
        }
    }

    fn counts(&self, _group: &Group) -> Vec<i64> {
        self.0.iter().map(|spans| spans.iter().map(|span| i64::from(span.count)).sum()).collect()
    }
}

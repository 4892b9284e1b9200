//! General algorithm of sticky assignment, for groups whose members subscribe to different topics.
//!
//! Members keep what they own. The other partitions go to the lowest-ranked subscribers. `balancing` then moves partitions.
//!
//! Source: `GeneralAssignmentBuilder` in `AbstractStickyAssignor` of kafka-clients 4.4.0.

use super::claims::Claims;
use super::lowest::{Queue, RackQueues, Ranks};
use super::racks::RackLogic;
use crate::cancellation;
use crate::group::{ConsumerSets, Group, Lists};
use crate::plan::{NO_OWNER, Owners};

/// Return the owners of the partitions of assignable topics.
pub(super) fn assign(group: &Group, claims: &Claims, racks: Option<&RackLogic<'_>>) -> Owners {
    let mut assignment = Assignment::new(group, claims);
    let is_revocation = assignment.keep(racks);
    let is_initial = assignment.ranks.sizes().iter().all(|size| *size == 0);
    let unassigned = assignment.unassigned();
    cancellation::check();
    if let Some(racks) = racks {
        assignment.assign_by_rack(racks, &unassigned);
    }
    cancellation::check();
    assignment.assign_rest(&unassigned);
    assignment.balance(claims, &unassigned, is_revocation, is_initial);
    assignment.owners
}

/// Consecutive partitions of a topic.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) topic: u32,
    /// The consumer set of the topic.
    pub(super) set: u32,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// Assignment in progress.
#[derive(Debug)]
pub(super) struct Assignment<'a> {
    pub(super) group: &'a Group,
    pub(super) sets: ConsumerSets,
    /// Per consumer set, its members.
    pub(super) members: Lists,
    /// Per consumer set, its members by rank.
    pub(super) queues: Vec<Queue>,
    pub(super) ranks: Ranks,
    pub(super) owners: Owners,
    /// The partitions of all topics that members subscribe to, by number of subscribers, then by topic.
    pub(super) all: Vec<Run>,
}

impl<'a> Assignment<'a> {
    fn new(group: &'a Group, claims: &Claims) -> Self {
        let sets = ConsumerSets::of(group);
        let starts = claims.owners.starts.clone();
        let run = |topic: usize| {
            Some(Run { topic: topic as u32, set: sets.of_topic(topic)?, start: starts[topic], end: starts[topic + 1] })
        };
        let mut all: Vec<Run> = (0..group.topics().len()).filter_map(run).collect();
        all.sort_by_key(|run| sets.size(run.set));
        Self {
            group,
            members: sets.consumers(group, |member| member),
            queues: (0..sets.len()).map(|_| Queue::default()).collect(),
            ranks: Ranks::new(group),
            owners: Owners { members: claims.owners.members.clone(), starts },
            all,
            sets,
        }
    }

    /// Let members keep what they own. Return true if a member loses a partition that still exists.
    fn keep(&mut self, racks: Option<&RackLogic<'_>>) -> bool {
        let mut is_revocation = false;
        for run in &self.all {
            for partition in run.start..run.end {
                let owner = &mut self.owners.members[partition as usize];
                if *owner == NO_OWNER {
                    continue;
                }
                let is_subscribed = self.sets.has_subscription(run.set, self.group.subscription_of(*owner as usize));
                if is_subscribed && racks.is_none_or(|racks| !racks.mismatch(*owner, partition)) {
                    self.ranks.add(*owner);
                } else {
                    *owner = NO_OWNER;
                    is_revocation = true;
                }
            }
        }
        is_revocation
    }

    /// Return the partitions without an owner.
    fn unassigned(&self) -> Vec<Run> {
        let mut found = Vec::new();
        for run in &self.all {
            let owners = &self.owners.members[run.start as usize..run.end as usize];
            let mut start = run.start;
            for part in owners.chunk_by(|one, next| (*one == NO_OWNER) == (*next == NO_OWNER)) {
                let end = start + part.len() as u32;
                if part[0] == NO_OWNER {
                    found.push(Run { start, end, ..*run });
                }
                start = end;
            }
        }
        found
    }

    /// Assign each partition to the lowest-ranked subscriber that is on a rack of its replicas or has no rack, if there is one.
    fn assign_by_rack(&mut self, racks: &RackLogic<'_>, unassigned: &[Run]) {
        let mut queues = RackQueues::default();
        for run in unassigned {
            for partition in run.start..run.end {
                if let Some(member) =
                    queues.lowest(&self.ranks, racks, run.set, self.members.get(run.set as usize), partition)
                {
                    self.give(partition, member);
                }
            }
        }
    }

    /// Assign each partition that still has no owner to the lowest-ranked subscriber.
    fn assign_rest(&mut self, unassigned: &[Run]) {
        for run in unassigned {
            for partition in run.start..run.end {
                if self.owners.members[partition as usize] == NO_OWNER {
                    let member = self.lowest(run.set);
                    self.give(partition, member);
                }
            }
        }
    }

    fn give(&mut self, partition: u32, member: u32) {
        self.owners.members[partition as usize] = member;
        self.ranks.add(member);
    }

    /// Return the lowest-ranked member of a consumer set.
    pub(super) fn lowest(&mut self, set: u32) -> u32 {
        let has = |member: u32| self.sets.has_subscription(set, self.group.subscription_of(member as usize));
        self.queues[set as usize].lowest(&self.ranks, self.members.get(set as usize), has)
    }
}

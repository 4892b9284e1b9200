//! General algorithm of sticky assignment, for groups whose members subscribe to different topics.
//!
//! Source: `GeneralAssignmentBuilder` in `AbstractStickyAssignor` of kafka-clients 4.4.0.
//!
//! Two steps of Kafka are left out because they do not change the result. Kafka checks before each partition if the group is
//! balanced; a balanced group has no partition to move, so the check only ends a pass early. Kafka also excludes members that
//! share no topic; no partition can move to or from them.
//!
//! Two differences are intended. Kafka moves a partition back to its previous owner even if that member no longer subscribes to
//! the topic; here it must subscribe. Kafka loops forever if balancing returns to an earlier state. Here, no partition is replaced
//! by another one from then on (see `movements`). Each move then makes the sizes of two members more equal, so balancing ends.

use super::claims::Claims;
use super::lowest::{Queue, RackQueues, Ranks};
use super::movements::{Movements, States};
use super::racks::RackLogic;
use crate::group::{ConsumerSets, Group, Lists};
use crate::plan::{NO_OWNER, Owners};

/// Return the owners of the partitions of assignable topics.
pub(super) fn assign(group: &Group, claims: &Claims, racks: Option<&RackLogic<'_>>) -> Owners {
    let mut assignment = Assignment::new(group, claims);
    let is_revocation = assignment.keep(racks);
    let is_initial = assignment.ranks.sizes().iter().all(|size| *size == 0);
    let unassigned = assignment.unassigned();
    if let Some(racks) = racks {
        assignment.assign_by_rack(racks, &unassigned);
    }
    assignment.assign_rest(&unassigned);
    assignment.balance(claims, &unassigned, is_revocation, is_initial);
    assignment.owners
}

/// Consecutive partitions of a topic.
#[derive(Debug, Clone, Copy)]
struct Run {
    topic: u32,
    /// The consumer set of the topic.
    set: u32,
    start: u32,
    end: u32,
}

/// Assignment in progress.
#[derive(Debug)]
struct Assignment<'a> {
    group: &'a Group,
    sets: ConsumerSets,
    /// Per consumer set, its members.
    members: Lists,
    /// Per consumer set, its members by rank.
    queues: Vec<Queue>,
    ranks: Ranks,
    owners: Owners,
    /// The partitions of all topics that members subscribe to, by number of subscribers, then by topic.
    all: Vec<Run>,
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
    fn lowest(&mut self, set: u32) -> u32 {
        let has = |member: u32| self.sets.has_subscription(set, self.group.subscription_of(member as usize));
        self.queues[set as usize].lowest(&self.ranks, self.members.get(set as usize), has)
    }

    /// Move partitions from members with more partitions to members with fewer; undo the moves if they do not improve the balance.
    fn balance(&mut self, claims: &Claims, unassigned: &[Run], is_revocation: bool, is_initial: bool) {
        let shares = |run: &&Run| self.sets.size(run.set) > 1;
        let all: Vec<Run> = self.all.iter().filter(shares).copied().collect();
        let unassigned: Vec<Run> = unassigned.iter().filter(shares).copied().collect();
        let sharing = self.sharing_members();
        let sizes = |ranks: &Ranks| sharing.iter().map(|member| ranks.size(*member)).collect::<Vec<_>>();
        let before = sizes(&self.ranks);
        if before.iter().max() <= before.iter().min().map(|min| min + 1).as_ref() {
            return;
        }
        let mut movements = Movements::default();
        let previous_owners = claims.previous_owners();
        let mut balancing = |runs: &[Run]| {
            let mut states = States::default();
            let mut has_moved = false;
            while self.balance_once(runs, &sharing, previous_owners.as_deref(), &mut movements) {
                has_moved = true;
                if !states.add(&movements) {
                    movements.stop_substituting();
                }
            }
            has_moved
        };
        if !is_revocation {
            balancing(&unassigned);
        }
        let has_moved = balancing(&all);
        if has_moved && !is_initial && balance_score(sizes(&self.ranks)) >= balance_score(before) {
            for (partition, source) in movements.sources() {
                self.owners.members[partition as usize] = source;
            }
        }
    }

    /// Try to move each partition once. Return true if any moved.
    fn balance_once(
        &mut self,
        runs: &[Run],
        sharing: &[u32],
        previous_owners: Option<&[u32]>,
        movements: &mut Movements,
    ) -> bool {
        let mut has_moved = false;
        // Lower bound of the number of partitions of a member that shares a topic.
        let mut least = sharing.iter().map(|member| self.ranks.size(*member)).min().unwrap_or_default();
        for run in runs {
            let mut known = None;
            for partition in run.start..run.end {
                let size = self.ranks.size(self.owners.members[partition as usize]);
                if size <= least + 1 {
                    continue;
                }
                let lowest = known.unwrap_or_else(|| self.lowest(run.set));
                known = Some(lowest);
                if size <= self.ranks.size(lowest) + 1 {
                    continue;
                }
                let previous = previous_owners.map(|owners| owners[partition as usize]).filter(|previous| {
                    *previous != NO_OWNER
                        && size > self.ranks.size(*previous) + 1
                        && self.sets.has_subscription(run.set, self.group.subscription_of(*previous as usize))
                });
                let target = previous.unwrap_or(lowest);
                let source = movements.make(self.group, &mut self.owners, run.topic, partition, target);
                self.ranks.remove(source);
                self.ranks.add(target);
                least = least.min(self.ranks.size(source));
                has_moved = true;
                known = None;
            }
        }
        has_moved
    }

    /// Return the members that share a topic with another member.
    fn sharing_members(&self) -> Vec<u32> {
        let shares = |set: &u32| self.sets.size(*set) > 1;
        let is_sharing: Vec<bool> = (0..self.group.subscriptions().len() as u32)
            .map(|subscription| self.sets.of_subscription(subscription).iter().any(shares))
            .collect();
        let members = 0..self.group.members().len() as u32;
        members.filter(|member| is_sharing[self.group.subscription_of(*member as usize) as usize]).collect()
    }
}

/// Return the sum of the size differences of all pairs of members.
///
/// Kafka adds 32-bit integers. With millions of pairs the sum overflows, which changes the result.
fn balance_score(mut sizes: Vec<u32>) -> i32 {
    sizes.sort_unstable();
    let mut score = 0_u64;
    let mut sum = 0_u64;
    for (count, size) in (0_u64..).zip(&sizes) {
        score += count * u64::from(*size) - sum;
        sum += u64::from(*size);
    }
    score as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_balance_score_is_a_32_bit_sum_over_all_pairs() {
        let pairs = |sizes: &[u32]| {
            let pairs = sizes.iter().flat_map(|one| sizes.iter().map(move |other| u64::from(one.abs_diff(*other))));
            (pairs.sum::<u64>() / 2) as i32
        };
        for sizes in [vec![], vec![4], vec![3, 0, 7, 3], vec![1_000_000, 0, 5_000_000, 0, 3_000_000_000]] {
            assert_eq!(pairs(&sizes), balance_score(sizes.clone()), "{sizes:?}");
        }
    }
}

//! Balancing of the general algorithm: partitions move, one at a time, from members with more partitions to members with fewer.
//!
//! Kafka moves a partition back to its previous owner, if that member has at least two partitions fewer, even if the member no longer
//! subscribes to the topic. Later moves usually take the partition away again, so the answer is valid, but differs from the answer
//! without that move. So if a previous owner no longer subscribes, balancing first makes Kafka's moves (`returns`). If Kafka then
//! fails, never ends or leaves a partition with such a member, balancing starts again, and only subscribers get partitions back.
//!
//! Two steps of Kafka are left out where only subscribers get partitions back, because they do not change the result. Kafka checks
//! before each partition if the group is balanced; a balanced group has no partition to move, so the check only ends a pass early.
//! Kafka also excludes members that share no topic; no partition can move to or from them.
//!
//! Kafka loops forever if balancing returns to an earlier state. Here, no partition is replaced by another one from then on (see
//! `movements`). Each move then makes the sizes of two members more equal, so balancing ends.
//!
//! Source: `balance` of `GeneralAssignmentBuilder` in `AbstractStickyAssignor` of kafka-clients 4.4.0.

use super::claims::Claims;
use super::general::{Assignment, Run};
use super::movements::{Movements, States};
use super::returns::Returns;
use crate::cancellation;
use crate::plan::NO_OWNER;

/// What balancing starts from.
#[derive(Debug)]
struct Start {
    /// The partitions of topics with two or more subscribers.
    all: Vec<Run>,
    /// Those of them that no member kept; None if a member lost a partition that still exists.
    unassigned: Option<Vec<Run>>,
    /// The members that share a topic with another member.
    sharing: Vec<u32>,
    /// Previous owner of each partition, or `NO_OWNER`; None if no partition has one.
    previous_owners: Option<Vec<u32>>,
    /// True if no member kept a partition.
    is_initial: bool,
}

impl Assignment<'_> {
    /// Move partitions from members with more partitions to members with fewer; undo the moves if they do not improve the balance.
    pub(super) fn balance(&mut self, claims: &Claims, unassigned: &[Run], is_revocation: bool, is_initial: bool) {
        let sharing = self.sharing_members();
        let sizes = || sharing.iter().map(|member| self.ranks.size(*member));
        if sizes().max() <= sizes().min().map(|min| min + 1) {
            return;
        }
        let shared = |runs: &[Run]| runs.iter().filter(|run| self.sets.size(run.set) > 1).copied().collect();
        let start = Start {
            all: shared(&self.all),
            unassigned: (!is_revocation).then(|| shared(unassigned)),
            previous_owners: claims.previous_owners(),
            sharing,
            is_initial,
        };
        if let Some(previous_owners) = &start.previous_owners
            && start.all.iter().any(|run| self.has_left(run, previous_owners))
        {
            let saved = (self.queues.clone(), self.ranks.clone(), self.owners.members.clone());
            let mut returns = Returns::new(self, previous_owners, &start.sharing);
            let pass = |assignment: &mut Self, runs: &[Run], movements: &mut Movements| {
                returns.balance_once(assignment, runs, movements)
            };
            if self.make_moves(&start, pass, |_| None).is_some() && self.all.iter().all(|run| self.is_valid(run)) {
                return;
            }
            (self.queues, self.ranks, self.owners.members) = saved;
        }
        let pass = |assignment: &mut Self, runs: &[Run], movements: &mut Movements| {
            Some(assignment.balance_once(runs, &start, movements))
        };
        self.make_moves(&start, pass, |movements| {
            movements.stop_substituting();
            Some(())
        });
    }

    /// Make passes until one moves no partition; undo the moves if they do not improve the balance.
    ///
    /// `pass` returns true if it moved a partition. `repeat` is called when a pass ends in the state of an earlier one. If one of them
    /// returns None, the result is None.
    fn make_moves(
        &mut self,
        start: &Start,
        mut pass: impl FnMut(&mut Self, &[Run], &mut Movements) -> Option<bool>,
        repeat: impl Fn(&mut Movements) -> Option<()>,
    ) -> Option<()> {
        let mut movements = Movements::default();
        let sizes = |assignment: &Self| start.sharing.iter().map(|member| assignment.ranks.size(*member)).collect();
        let before: Vec<u32> = sizes(self);
        let mut has_moved = false;
        for runs in start.unassigned.iter().chain([&start.all]) {
            has_moved = false;
            let mut states = States::default();
            while pass(self, runs, &mut movements)? {
                has_moved = true;
                if !states.add(&movements) {
                    repeat(&mut movements)?;
                }
            }
        }
        if has_moved && !start.is_initial && balance_score(sizes(self)) >= balance_score(before) {
            for (partition, source) in movements.sources() {
                self.owners.members[partition as usize] = source;
            }
        }
        Some(())
    }

    /// Try to move each partition once. Return true if any moved.
    fn balance_once(&mut self, runs: &[Run], start: &Start, movements: &mut Movements) -> bool {
        let mut has_moved = false;
        // Lower bound of the number of partitions of a member that shares a topic.
        let mut least = start.sharing.iter().map(|member| self.ranks.size(*member)).min().unwrap_or_default();
        for run in runs {
            cancellation::check();
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
                let previous = start.previous_owners.as_ref().map(|owners| owners[partition as usize]);
                let previous = previous.filter(|previous| {
                    *previous != NO_OWNER
                        && size > self.ranks.size(*previous) + 1
                        && self.subscribes(*previous, run.set)
                });
                let source = self.move_partition(run.topic, partition, previous.unwrap_or(lowest), movements);
                least = least.min(self.ranks.size(source));
                has_moved = true;
                known = None;
            }
        }
        has_moved
    }

    /// Move a partition, or another one of its topic in its place. Return the member that loses it.
    pub(super) fn move_partition(&mut self, topic: u32, partition: u32, target: u32, movements: &mut Movements) -> u32 {
        let source = movements.make(self.group, &mut self.owners, topic, partition, target);
        self.ranks.remove(source);
        self.ranks.add(target);
        source
    }

    /// Return true if the previous owner of one of the partitions no longer subscribes to their topic.
    fn has_left(&self, run: &Run, previous_owners: &[u32]) -> bool {
        let mut previous = previous_owners[run.start as usize..run.end as usize].iter();
        previous.any(|member| *member != NO_OWNER && !self.subscribes(*member, run.set))
    }

    /// Return true if the owners of the partitions subscribe to their topic.
    fn is_valid(&self, run: &Run) -> bool {
        let mut owners = self.owners.members[run.start as usize..run.end as usize].iter();
        owners.all(|member| self.subscribes(*member, run.set))
    }

    fn subscribes(&self, member: u32, set: u32) -> bool {
        self.sets.has_subscription(set, self.group.subscription_of(member as usize))
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

//! Kafka's moves in a group in which the previous owner of a partition no longer subscribes to its topic.
//!
//! Kafka moves partitions to such a member, too, and its check if the group is balanced then changes the result: it skips members
//! whose number of partitions equals that of their topics, even if some of these are of other topics. So this module checks before each
//! partition, as Kafka does.
//!
//! Source: `performReassignments` and `isBalanced` of `GeneralAssignmentBuilder` in `AbstractStickyAssignor` of kafka-clients 4.4.0.

use super::general::{Assignment, Run};
use super::movements::Movements;
use crate::cancellation;
use crate::plan::NO_OWNER;

/// Passes over partitions in which all members get back partitions that they owned before.
#[derive(Debug)]
pub(super) struct Returns<'a> {
    previous_owners: &'a [u32],
    /// Per member, true if it shares a topic with another member.
    is_sharing: Vec<bool>,
    /// Per subscription, the number of partitions of its topics.
    most: Vec<u32>,
    /// A member and a partition that could move to it, as last found; they save the search if they are still valid.
    witness: Option<(u32, u32)>,
}

impl<'a> Returns<'a> {
    /// Create passes for members in `sharing` that share a topic with another member.
    pub(super) fn new(assignment: &Assignment<'_>, previous_owners: &'a [u32], sharing: &[u32]) -> Self {
        let mut is_sharing = vec![false; assignment.group.members().len()];
        for member in sharing {
            is_sharing[*member as usize] = true;
        }
        let mut of_set = vec![0; assignment.sets.len()];
        for run in &assignment.all {
            of_set[run.set as usize] += run.end - run.start;
        }
        let subscriptions = 0..assignment.group.subscriptions().len() as u32;
        let sets = |subscription| assignment.sets.of_subscription(subscription).iter();
        let most = subscriptions.map(|subscription| sets(subscription).map(|set| of_set[*set as usize]).sum());
        Self { previous_owners, is_sharing, most: most.collect(), witness: None }
    }

    /// Try to move each partition once, until the group is balanced. Return true if any moved; None if Kafka's class fails.
    pub(super) fn balance_once(
        &mut self,
        assignment: &mut Assignment<'_>,
        runs: &[Run],
        movements: &mut Movements,
    ) -> Option<bool> {
        let mut has_moved = false;
        for run in runs {
            cancellation::check();
            for partition in run.start..run.end {
                if self.is_balanced(assignment) {
                    return Some(has_moved);
                }
                let size = assignment.ranks.size(assignment.owners.members[partition as usize]);
                let previous = self.previous_owners[partition as usize];
                if previous != NO_OWNER && !self.is_sharing[previous as usize] {
                    return None;
                }
                let mut target = previous;
                if previous == NO_OWNER || size <= assignment.ranks.size(previous) + 1 {
                    target = assignment.lowest(run.set);
                    if size <= assignment.ranks.size(target) + 1 {
                        continue;
                    }
                }
                assignment.move_partition(run.topic, partition, target, movements);
                has_moved = true;
            }
        }
        Some(has_moved)
    }

    /// Return true if no partition can move to a subscriber with at least two partitions fewer than its owner. Subscribers
    /// whose number of partitions equals that of their topics do not count.
    fn is_balanced(&mut self, assignment: &Assignment<'_>) -> bool {
        let size = |partition: u32| assignment.ranks.size(assignment.owners.members[partition as usize]);
        let can_gain = |member: u32| {
            assignment.ranks.size(member) != self.most[assignment.group.subscription_of(member as usize) as usize]
        };
        let is_witness = |(member, partition): &(u32, u32)| {
            can_gain(*member) && size(*partition) > assignment.ranks.size(*member) + 1
        };
        if !self.witness.as_ref().is_some_and(is_witness) {
            let mut largest = vec![None; assignment.sets.len()];
            for run in &assignment.all {
                let partition = (run.start..run.end).max_by_key(|partition| size(*partition));
                let largest: &mut Option<u32> = &mut largest[run.set as usize];
                *largest = largest.take().into_iter().chain(partition).max_by_key(|partition| size(*partition));
            }
            let pairs = (0..).zip(&largest).filter_map(|(set, largest)| {
                let members = assignment.members.get(set).iter().copied().filter(|member| can_gain(*member));
                members.min_by_key(|member| assignment.ranks.size(*member)).zip(*largest)
            });
            let pairs = pairs.filter(is_witness);
            self.witness = pairs.max_by_key(|(member, partition)| size(*partition) - assignment.ranks.size(*member));
        }
        self.witness.is_none()
    }
}

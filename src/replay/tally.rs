//! Counts of the complete generations of a group: comparisons by outcome, and the busiest minute.

use super::busiest_minute::BusiestMinute;
use super::comparison::{Comparison, ComparisonOutcome};
use super::generation::Generation;
use super::model::GroupKind;

/// Number of compared generations, by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// Generations with equal assignments.
    pub equal: usize,
    /// Generations with different assignments.
    pub different: usize,
    /// Generations that are not compared because a member cannot be parsed or the metadata lacks a topic.
    pub unknown: usize,
}

impl OutcomeCounts {
    fn add(&mut self, outcome: ComparisonOutcome) {
        match outcome {
            ComparisonOutcome::Equal => self.equal += 1,
            ComparisonOutcome::Different => self.different += 1,
            ComparisonOutcome::Unknown => self.unknown += 1,
        }
    }
}

/// Counts of the complete generations of a group.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Generations of a classic group with unchanged membership: the highest number within one minute.
    pub(super) busiest_minute: BusiestMinute,
    /// Comparisons with range of the classic protocol.
    pub range: OutcomeCounts,
    /// Comparisons with any assignor.
    pub all: OutcomeCounts,
}

impl Tally {
    /// Return the highest number of classic generations with unchanged membership within one minute.
    #[must_use]
    pub fn busiest_minute(&self) -> usize {
        self.busiest_minute.most
    }

    /// Count a complete generation.
    pub(super) fn add(&mut self, generation: &Generation, comparison: Option<&Comparison>) {
        if generation.kind == GroupKind::Classic && generation.same_members && generation.has_time {
            self.busiest_minute.add(generation.timestamp);
        }
        if let Some(found) = comparison {
            self.all.add(found.outcome());
            if found.is_of_range() {
                self.range.add(found.outcome());
            }
        }
    }
}

//! Classes of the generations of a group, with those that a later generation heals.
//!
//! A leader sometimes assigns against its rule for a moment, for example while members with other assignors join, and its next
//! assignment is right.

use super::comparison::{ComparisonClass, ComparisonOutcome};
use super::events::{Event, EventDetails};

/// Longest time in milliseconds until an equal generation heals a different one.
const HEALED_WITHIN: i64 = 10_000;

/// Return the class of each event of a generation, in the order of the log; None for an equal generation, one without comparison, and
/// for other events. An unexplained generation is healed if an equal one of the same group follows within ten seconds.
#[must_use]
pub fn classes(events: &[Event]) -> Vec<Option<ComparisonClass>> {
    let mut equal_at: Option<i64> = None;
    let mut found = Vec::with_capacity(events.len());
    for event in events.iter().rev() {
        let EventDetails::Generation { comparison: Some(compared), .. } = &event.details else {
            found.push(None);
            continue;
        };
        let is_healed = compared.class == Some(ComparisonClass::Unexplained)
            && equal_at.is_some_and(|equal_at| equal_at.saturating_sub(event.at) <= HEALED_WITHIN);
        found.push(if is_healed { Some(ComparisonClass::Healed) } else { compared.class });
        if compared.outcome() == ComparisonOutcome::Equal {
            equal_at = Some(event.at);
        }
    }
    found.reverse();
    found
}

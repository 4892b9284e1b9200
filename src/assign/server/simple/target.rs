//! Previous targets of the members of a share group, in the order in which Kafka reads them.

use rustc_hash::FxHashSet;

use crate::assign::table_order::{presized_capacity, table_order};
use crate::group::folded_hash;

/// Lowest number that is not its own folded hash code.
const FOLDED: u32 = 1 << 16;

/// Return the places of members in the order of a table that is large enough for all of them.
pub(super) fn place_order(members: usize) -> Vec<u32> {
    in_place_order((0..members as u32).collect())
}

/// Sort ascending places by the order of a table that is large enough for all places of the group.
pub(super) fn in_place_order(mut places: Vec<u32>) -> Vec<u32> {
    if places.last().is_some_and(|last| *last >= FOLDED) {
        places.sort_unstable_by_key(|place| folded_hash(*place as i32));
    }
    places
}

/// Add the partition ids that a member had of a topic, in the order of the set that Kafka makes of them. Negative ids, which a record
/// cannot have, are left out.
pub(super) fn push_numbers(runs: impl Iterator<Item = impl AsRef<[i32]>>, found: &mut Vec<i32>) {
    let start = found.len();
    for run in runs {
        found.extend(run.as_ref().iter().filter(|id| **id >= 0));
    }
    if !found[start..].is_sorted_by(|left, right| left < right) {
        let mut seen = FxHashSet::default();
        let distinct: Vec<i32> = found[start..].iter().copied().filter(|id| seen.insert(*id)).collect();
        found.truncate(start);
        found.extend(distinct);
    }
    let ids = &found[start..];
    if ids.len() <= 1 {
        return;
    }
    let capacity = presized_capacity(ids.len());
    let has_own_bucket = |id: &i32| (*id as usize) < capacity.min(FOLDED as usize);
    if ids.is_sorted() && ids.iter().all(has_own_bucket) {
        return;
    }
    // The hash code of an Integer is its value.
    let ordered: Vec<i32> = table_order(ids, capacity).into_iter().map(|index| ids[index as usize]).collect();
    found.truncate(start);
    found.extend(ordered);
}

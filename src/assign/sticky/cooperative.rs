//! Partitions that cooperative sticky assignment withholds until their old owner has given them up.

use super::claims::Claims;
use crate::group::Group;
use crate::plan::{NO_OWNER, Owners};

/// Withhold partitions of a constrained assignment: those that another member owns, and those that two members
/// of the same generation claim.
pub(super) fn withhold_constrained(claims: &Claims, owners: &mut Owners) {
    for (partition, owner) in (0..).zip(&mut owners.members) {
        let before = claims.owner(partition);
        if (before != NO_OWNER && before != *owner) || claims.is_doubly_claimed(partition) {
            *owner = NO_OWNER;
        }
    }
}

/// Withhold partitions of a general assignment: those that another member claims and their new owner does not.
pub(super) fn withhold_general(group: &Group, claims: &Claims, owners: &mut Owners) {
    let mut is_withheld = vec![false; owners.members.len()];
    for member in 0..group.members().len() as u32 {
        for partition in claims.claimed_by(member) {
            is_withheld[*partition as usize] = true;
        }
    }
    for member in 0..group.members().len() as u32 {
        for partition in claims.claimed_by(member) {
            is_withheld[*partition as usize] &= owners.members[*partition as usize] != member;
        }
    }
    for (owner, _) in owners.members.iter_mut().zip(is_withheld).filter(|(_, is_withheld)| *is_withheld) {
        *owner = NO_OWNER;
    }
}

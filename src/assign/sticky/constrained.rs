//! Constrained algorithm of sticky assignment, for groups whose members subscribe to the same topics or to none.
//!
//! Each member with topics gets `low` partitions, and `more` of them get one more. Members keep their partitions up to that number.
//! If racks matter, the other partitions go first to members on the racks of their replicas, then to the other members in turn.

use super::claims::Claims;
use super::even_assignment::Assignment;
use super::rack_first;
use super::racks::RackLogic;
use crate::group::Group;
use crate::plan::Owners;

/// Return the owners of the partitions of assignable topics.
pub(super) fn assign(group: &Group, claims: &Claims, racks: Option<&RackLogic<'_>>) -> Owners {
    let mut assignment = Assignment::new(group, claims);
    let (mut under, mut exact) = assignment.keep(group, claims, racks);
    let mut rest = assignment.unassigned(claims);
    if let Some(racks) = racks {
        racks.sort_by_members(&mut rest);
        rack_first::assign(racks, &mut assignment, &mut rest, &mut under, &mut exact);
    }
    assignment.give_in_turn(&rest, under, exact);
    assignment.owners
}

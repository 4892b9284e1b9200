//! Owners of partitions that members share: what they keep, give up and get.
//!
//! The partitions are numbered from 0, in an order that the caller chooses. First add what each member had (`claim`), then let members
//! give up what is above their quota (`shed_excess`), and members of partitions with too many owners the rest (`shed_shared`). Finally
//! give the partitions with too few owners to members below their quota (`hand_out`).

use super::target::in_place_order;
use crate::assign::table_order::{DEFAULT_CAPACITY, table_order};
use crate::group::Lists;

/// Partition that a member had.
#[derive(Clone, Copy)]
struct Claim {
    partition: u32,
    place: u32,
    /// False once the member has given it up.
    is_kept: bool,
}

/// Error for a partition that needs a further owner when no member is below its quota, where Kafka's class fails.
pub(super) struct NoMemberLeft {
    pub(super) partition: u32,
}

/// Owners under construction. One value is used for many topics, one after another, to save allocations.
#[derive(Default)]
pub(super) struct Shares {
    /// The number of owners that each partition should have.
    sharing: u32,
    /// By place, the number of partitions that the member should have.
    pub(super) quotas: Vec<u32>,
    /// By place, the number of partitions that the member has.
    sizes: Vec<u32>,
    claims: Vec<Claim>,
    /// By partition, the number of owners.
    counts: Vec<u32>,
    /// Claims by partition; empty if there are no claims.
    by_partition: Lists,
    /// By place, the last step in which the member was found to have a partition, or got it.
    marks: Vec<u64>,
    step: u64,
    /// Partitions that members get, as pairs (partition, place).
    given: Vec<(u32, u32)>,
}

impl Shares {
    /// Create an empty value for a number of members.
    pub(super) fn new(members: usize) -> Self {
        Self { quotas: vec![0; members], sizes: vec![0; members], marks: vec![0; members], ..Self::default() }
    }

    /// Start with partitions that no member has.
    pub(super) fn start(&mut self, sharing: u32, partitions: usize) {
        for claim in self.claims.drain(..) {
            self.sizes[claim.place as usize] = 0;
        }
        for (_, place) in self.given.drain(..) {
            self.sizes[place as usize] = 0;
        }
        self.by_partition.clear();
        self.counts.clear();
        self.counts.resize(partitions, 0);
        self.sharing = sharing;
    }

    /// Add a partition that a member had; a number beyond those of `start` is that of a further partition.
    pub(super) fn claim(&mut self, partition: u32, place: u32) {
        if partition as usize >= self.counts.len() {
            self.counts.resize(partition as usize + 1, 0);
        }
        self.claims.push(Claim { partition, place, is_kept: true });
        self.counts[partition as usize] += 1;
        self.sizes[place as usize] += 1;
    }

    /// Return the number of claims so far.
    pub(super) fn claims(&self) -> usize {
        self.claims.len()
    }

    /// Let a member give up the first of its claims until it has its quota. Its claims are those from `first` on; `order` returns their
    /// indices in the order of the member's set of partitions, given the partitions.
    pub(super) fn shed_excess(&mut self, first: usize, order: impl FnOnce(&[u32]) -> Vec<u32>) {
        let Some(place) = self.claims[first..].first().map(|claim| claim.place as usize) else { return };
        let excess = self.sizes[place].saturating_sub(self.quotas[place]) as usize;
        if excess == 0 {
            return;
        }
        let partitions: Vec<u32> = self.claims[first..].iter().map(|claim| claim.partition).collect();
        let order = if excess < partitions.len() { order(&partitions) } else { (0..partitions.len() as u32).collect() };
        for index in order.into_iter().take(excess) {
            self.give_up(first + index as usize);
        }
    }

    /// Let members give up partitions that have too many owners: the first in the order of the partition's set of members.
    pub(super) fn shed_shared(&mut self) {
        if self.claims.is_empty() {
            return;
        }
        let pairs = (0..).zip(&self.claims).map(|(number, claim)| (claim.partition, number));
        self.by_partition = Lists::by_key(self.counts.len(), pairs);
        for partition in 0..self.counts.len() {
            if self.counts[partition] <= self.sharing {
                continue;
            }
            let claims = self.by_partition.get(partition).to_vec();
            let hashes: Vec<i32> = claims.iter().map(|claim| self.claims[*claim as usize].place as i32).collect();
            for index in table_order(&hashes, DEFAULT_CAPACITY) {
                if self.counts[partition] <= self.sharing {
                    break;
                }
                let claim = claims[index as usize] as usize;
                if self.claims[claim].is_kept {
                    self.give_up(claim);
                }
            }
        }
    }

    fn give_up(&mut self, claim: usize) {
        let claim = &mut self.claims[claim];
        claim.is_kept = false;
        self.counts[claim.partition as usize] -= 1;
        self.sizes[claim.place as usize] -= 1;
    }

    /// Return the members below their quota in the order in which they get partitions; `members` come by place.
    pub(super) fn unfilled(&self, members: impl Iterator<Item = u32>) -> Vec<u32> {
        let is_unfilled = |place: &u32| self.sizes[*place as usize] < self.quotas[*place as usize];
        in_place_order(members.filter(is_unfilled).collect())
    }

    /// Give partitions with too few owners, in the given order, to the members below their quota in turn.
    ///
    /// As in Kafka, a member is asked again in the next round although it has just got the partition, and then counts as a further owner.
    pub(super) fn hand_out(&mut self, order: &[u32], mut unfilled: Vec<u32>) -> Result<(), NoMemberLeft> {
        // The members before `kept` stay in the list for the next round, those from `next` on have not been asked in this round.
        let (mut kept, mut next) = (0, 0);
        let mut has_given = false;
        for partition in order {
            if kept == 0 && next == unfilled.len() {
                return Ok(());
            }
            let mut missing = self.sharing.saturating_sub(self.counts[*partition as usize]);
            let (had, got) = (self.step + 1, self.step + 2);
            if missing > 0 {
                self.step += 2;
                self.mark_owners(*partition, had);
            }
            while missing > 0 {
                if next == unfilled.len() {
                    if !has_given {
                        break;
                    }
                    unfilled.truncate(kept);
                    (kept, next) = (0, 0);
                    has_given = false;
                    if unfilled.is_empty() {
                        return Err(NoMemberLeft { partition: *partition });
                    }
                }
                let place = unfilled[next];
                next += 1;
                let (mark, size) = (&mut self.marks[place as usize], &mut self.sizes[place as usize]);
                let mut stays = true;
                if *mark != had {
                    if *mark != got {
                        *mark = got;
                        *size += 1;
                        self.given.push((*partition, place));
                    }
                    missing -= 1;
                    has_given = true;
                    stays = *size < self.quotas[place as usize];
                }
                if stays {
                    unfilled[kept] = place;
                    kept += 1;
                }
            }
        }
        Ok(())
    }

    /// Mark the members that have a partition.
    fn mark_owners(&mut self, partition: u32, mark: u64) {
        if !self.by_partition.is_empty() {
            for claim in self.by_partition.get(partition as usize) {
                let Claim { place, is_kept, .. } = self.claims[*claim as usize];
                if is_kept {
                    self.marks[place as usize] = mark;
                }
            }
        }
    }

    /// Return the owners of each partition; `member` returns the member at a place.
    pub(super) fn owners<M: Fn(u32) -> u32>(&self, member: M) -> Owners<'_, M> {
        let given = Lists::by_key(self.counts.len(), self.given.iter().copied());
        Owners { shares: self, given, member, found: Vec::new() }
    }
}

/// The owners of each partition.
pub(super) struct Owners<'a, M> {
    shares: &'a Shares,
    /// Places of the members that get a partition, by partition.
    given: Lists,
    member: M,
    found: Vec<u32>,
}

impl<M: Fn(u32) -> u32> Owners<'_, M> {
    /// Return the owners of a partition: first those that keep it.
    pub(super) fn of(&mut self, partition: u32) -> &[u32] {
        let Shares { by_partition, claims, .. } = self.shares;
        let claimed = if by_partition.is_empty() { &[] } else { by_partition.get(partition as usize) };
        let kept = claimed.iter().map(|claim| claims[*claim as usize]).filter(|claim| claim.is_kept);
        let places = kept.map(|claim| claim.place).chain(self.given.get(partition as usize).iter().copied());
        self.found.clear();
        self.found.extend(places.map(&self.member));
        &self.found
    }
}

//! Costs of the rebalances of a group that are not complete yet: partitions without a commit, and members without the new epoch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::events::{Cost, EventDetails, MemberCost, PauseTotals};
use super::model::GroupKind;
use super::pauses::{PauseSums, Paused};

/// Cost of a rebalance that later records complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenCost {
    /// Offset of the record of the rebalance.
    pub(super) offset: i64,
    /// Time of this record.
    pub(super) at: i64,
    pub(super) kind: GroupKind,
    pub(super) generation: i32,
    pub(super) causes: Vec<&'static str>,
    /// Number of partitions whose pause has not ended.
    pub(super) open: usize,
    /// Number of partitions whose pause is not known.
    pub(super) unknown: usize,
    /// The first commit before a pause, and the first one after the last pause.
    pub(super) between: Option<(i64, i64)>,
    pub(super) sums: PauseSums,
    /// Pauses by the member that committed the partitions after them.
    pub(super) members: BTreeMap<Arc<str>, PauseSums>,
    /// Members that have not reached the epoch.
    pub(super) waiting: BTreeSet<Arc<str>>,
    /// Time until each member reached the epoch, in milliseconds; None for a member that left it out.
    pub(super) epochs: BTreeMap<Arc<str>, Option<i64>>,
}

impl OpenCost {
    pub(super) fn new(kind: GroupKind, generation: i32, (at, offset): (i64, i64)) -> Self {
        Self {
            offset,
            at,
            kind,
            generation,
            causes: Vec::new(),
            open: 0,
            unknown: 0,
            between: None,
            sums: PauseSums::default(),
            members: BTreeMap::new(),
            waiting: BTreeSet::new(),
            epochs: BTreeMap::new(),
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.open == 0 && self.waiting.is_empty()
    }

    /// Return the cost as far as it is known. What partitions were revoked and assigned is not a part of it.
    pub(super) fn cost(&self) -> Cost {
        let ids: BTreeSet<&Arc<str>> = self.members.keys().chain(self.epochs.keys()).chain(&self.waiting).collect();
        let member = |id: &Arc<str>| MemberCost {
            sums: self.members.get(id).map(PauseTotals::of),
            epoch: self.epochs.get(id).copied().flatten(),
            ..MemberCost::new(Arc::clone(id))
        };
        Cost {
            sums: (self.sums.paused > 0).then(|| PauseTotals::of(&self.sums)),
            between: self.between,
            unknown: (self.kind != GroupKind::Share).then_some(self.unknown as i64),
            open: Some(self.open as i64),
            is_open: !self.is_complete(),
            members: ids.into_iter().map(member).collect(),
            ..Cost::default()
        }
    }

    /// Return the event of the cost.
    pub(super) fn details(&self) -> EventDetails {
        let (rebalance, causes) = ((self.at, self.offset), self.causes.clone());
        EventDetails::Cost { generation: self.generation, rebalance, causes, cost: Box::new(self.cost()) }
    }
}

impl PauseTotals {
    fn of(sums: &PauseSums) -> Self {
        Self { paused: sums.paused as i64, duration: sums.duration, compared: sums.compared, lost: sums.lost }
    }
}

/// Costs of the rebalances of a group that are not complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OpenCosts {
    /// Sorted by offset. Each has a partition in a pause, or is that of the last epoch.
    pub(super) all: Vec<OpenCost>,
    /// Time since which the group has no members.
    pub(super) empty_since: Option<i64>,
    /// Offset of the record of the last epoch with a target assignment.
    pub(super) last_epoch: Option<i64>,
}

impl OpenCosts {
    /// Return the cost of the rebalance with an offset.
    pub(super) fn get(&mut self, offset: i64) -> Option<&mut OpenCost> {
        let place = self.all.binary_search_by_key(&offset, |cost| cost.offset).ok()?;
        self.all.get_mut(place)
    }

    /// Add the pause of a partition that has ended, with the member that committed it; None if its duration is not known.
    pub(super) fn end(&mut self, offset: i64, found: Option<(Paused, Option<Arc<str>>)>) {
        let Some(cost) = self.get(offset) else { return };
        cost.open = cost.open.saturating_sub(1);
        let Some((paused, member)) = found else {
            cost.unknown += 1;
            return;
        };
        cost.sums.add(paused);
        let (since, until) = cost.between.unwrap_or((paused.since, paused.until));
        cost.between = Some((since.min(paused.since), until.max(paused.until)));
        if let Some(member) = member {
            cost.members.entry(member).or_default().add(paused);
        }
    }

    /// Remove the complete costs, in the order of their rebalances.
    pub(super) fn take_complete(&mut self) -> Vec<OpenCost> {
        if !self.all.iter().any(OpenCost::is_complete) {
            return Vec::new();
        }
        let (complete, open) = std::mem::take(&mut self.all).into_iter().partition(OpenCost::is_complete);
        self.all = open;
        complete
    }
}

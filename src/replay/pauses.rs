//! Pauses of partitions: times without commits because of a rebalance, and which of them the log can measure.
//!
//! A pause lasts from the last commit of a partition before a member gives it up to the first commit of its next owner. The log does not
//! show whether a partition has records. So a pause counts only if the partition had commits until shortly before, and if its new owner
//! did not commit other partitions for long without it: otherwise there may have been nothing to commit.

/// A partition that had no commits for this multiple of its usual interval may have no records.
const IDLE_FACTOR: i64 = 10;
/// The same for a partition whose usual interval is not known, in milliseconds.
const IDLE: i64 = 60_000;

/// Pause of a partition that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pause {
    /// Offset of the record of the rebalance that caused it; None until that rebalance is known.
    pub(super) rebalance: Option<i64>,
    /// Time of the last commit. It moves on by the time in which the group has no members, which is no pause.
    pub(super) since: i64,
    /// Usual interval between the commits before; None if it is not known.
    pub(super) usual: Option<i64>,
    /// Time at which the partition got its next owner; None while it has none.
    pub(super) assigned: Option<i64>,
}

/// Return how long a partition with a usual interval can be without commits although it has records.
pub(super) fn longest_gap(usual: Option<i64>) -> i64 {
    usual.map_or(IDLE, |usual| usual.saturating_mul(IDLE_FACTOR))
}

impl Pause {
    /// Return true if the new owner committed other partitions for long without this one, so that it may have had nothing to commit.
    ///
    /// `active_since` is the first commit of the owner since the last rebalance that interrupted it, and `last` its last one.
    pub(super) fn may_be_idle(&self, active_since: Option<i64>, last: Option<i64>, until: i64) -> bool {
        let (Some(assigned), Some(active), Some(last)) = (self.assigned, active_since, last) else { return false };
        let active = active.max(assigned);
        last >= active && until.saturating_sub(active) > longest_gap(self.usual)
    }
}

/// Known pause of a partition, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paused {
    pub(super) since: i64,
    pub(super) until: i64,
    /// Usual interval between commits; None if it is not known.
    pub(super) usual: Option<i64>,
}

/// Sums of pauses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PauseSums {
    /// Number of partitions.
    pub(super) paused: usize,
    /// Time without commits.
    pub(super) duration: i64,
    /// Part of this time of the partitions with a known usual interval.
    pub(super) compared: i64,
    /// Time without commits beyond the usual interval, of the same partitions; None without any.
    pub(super) lost: Option<i64>,
}

impl PauseSums {
    pub(super) fn add(&mut self, found: Paused) {
        let duration = found.until.saturating_sub(found.since).max(0);
        self.paused += 1;
        self.duration = self.duration.saturating_add(duration);
        if let Some(usual) = found.usual {
            self.compared = self.compared.saturating_add(duration);
            self.lost = Some(self.lost.unwrap_or(0).saturating_add(duration.saturating_sub(usual).max(0)));
        }
    }
}

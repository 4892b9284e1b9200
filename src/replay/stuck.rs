//! Stuck members: members that committed offsets regularly and have stopped.
//!
//! A commit does not name the member that sends it. Replay attributes it to the member that owns the partition. Commits that follow
//! each other closely, such as those of several partitions, are one burst: intervals are the times between the starts of bursts.

const MAX_INTERVALS: usize = 9;
const MIN_INTERVALS: usize = 5;

/// Times of the commits of a member: the last one, and the latest intervals between bursts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CommitTimes {
    /// The last commit.
    pub(super) last: Option<i64>,
    /// The first commit of the last burst.
    pub(super) burst: Option<i64>,
    /// The latest intervals, oldest first.
    pub(super) intervals: Vec<i64>,
    /// The last commit before the member became stuck; None if it is not stuck.
    pub(super) stuck_since: Option<i64>,
}

impl CommitTimes {
    /// Add a commit; if the member was stuck until now, return the time of the previous commit.
    ///
    /// A commit within `shortest` milliseconds of the first one of a burst belongs to the burst.
    pub(super) fn add(&mut self, at: i64, shortest: i64) -> Option<i64> {
        let since = self.stuck_since.take();
        if self.last.is_some_and(|last| at <= last) {
            return since;
        }
        self.last = Some(at);
        match self.burst.filter(|_| since.is_none()).map(|burst| at.saturating_sub(burst)) {
            Some(interval) if interval < shortest => return since,
            Some(interval) => {
                if self.intervals.len() == MAX_INTERVALS {
                    self.intervals.remove(0);
                }
                self.intervals.push(interval);
            }
            None => {}
        }
        self.burst = Some(at);
        since
    }

    /// Return the median of the latest intervals; 0 if there are none.
    pub(super) fn usual(&self) -> i64 {
        let mut sorted = [0; MAX_INTERVALS];
        let count = self.intervals.len().min(MAX_INTERVALS);
        sorted[..count].copy_from_slice(&self.intervals[..count]);
        sorted[..count].sort_unstable();
        sorted[..count].get(count / 2).copied().unwrap_or(0)
    }

    /// Return the time at which the member becomes stuck; None if it is stuck or its commits are not regular.
    pub(super) fn deadline(&self, factor: i64) -> Option<i64> {
        let last = self.last.filter(|_| self.stuck_since.is_none() && self.intervals.len() >= MIN_INTERVALS)?;
        let limit = factor.saturating_mul(self.usual());
        if self.intervals.iter().max().is_some_and(|longest| *longest > limit) {
            return None;
        }
        Some(last.saturating_add(limit))
    }
}

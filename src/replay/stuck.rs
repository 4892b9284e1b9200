//! Commits of a member over time: whether they are regular, and when a member that stops committing is reported.
//!
//! A commit does not name the member that sends it. Replay attributes it to the member that owns the partition. Commits that follow
//! each other closely, such as those of several partitions, are one burst: intervals are the times between the starts of bursts.

const MAX_INTERVALS: usize = 9;
const MIN_INTERVALS: usize = 5;
/// Commits are regular if no recent interval is longer than this multiple of the usual one.
const LONGEST_FACTOR: i64 = 10;

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
    /// True if a commit of the last burst changed the committed offset.
    pub(super) has_advanced: bool,
    /// Number of intervals since the member was stuck; None if they are `MAX_INTERVALS` or more, or if it never was.
    pub(super) since_pause: Option<usize>,
    /// True if a burst changed no committed offset: the client also commits when it has read nothing.
    pub(super) is_idle_committer: bool,
}

impl CommitTimes {
    /// Add a commit; if the member was stuck until now, return the time of the previous commit.
    ///
    /// A commit within `shortest` milliseconds of the first one of a burst belongs to the burst. `advances` is true if the commit changed
    /// the committed offset.
    pub(super) fn add(&mut self, at: i64, shortest: i64, advances: bool) -> Option<i64> {
        let since = self.stuck_since.take();
        if since.is_some() {
            self.since_pause = Some(0);
        }
        if self.last.is_some_and(|last| at <= last) {
            self.has_advanced |= advances;
            return since;
        }
        self.last = Some(at);
        match self.burst.filter(|_| since.is_none()).map(|burst| at.saturating_sub(burst)) {
            Some(interval) if interval < shortest => {
                self.has_advanced |= advances;
                return since;
            }
            Some(interval) => {
                if self.intervals.len() == MAX_INTERVALS {
                    self.intervals.remove(0);
                }
                self.intervals.push(interval);
                self.since_pause = self.since_pause.map(|count| count + 1).filter(|count| *count < MAX_INTERVALS);
                self.is_idle_committer |= !self.has_advanced;
            }
            None => {}
        }
        (self.burst, self.has_advanced) = (Some(at), advances);
        since
    }

    /// Ignore the time until the next commit, in which the log was silent.
    pub(super) fn interrupt(&mut self) {
        self.burst = None;
    }

    /// Return the median of the latest intervals; 0 if there are none.
    pub(super) fn usual(&self) -> i64 {
        let mut sorted = [0; MAX_INTERVALS];
        let count = self.intervals.len().min(MAX_INTERVALS);
        sorted[..count].copy_from_slice(&self.intervals[..count]);
        sorted[..count].sort_unstable();
        sorted[..count].get(count / 2).copied().unwrap_or(0)
    }

    /// Return the longest of the latest intervals if the commits are regular; a pause in which the member was stuck is one of them.
    pub(super) fn longest_regular(&self) -> Option<i64> {
        let is_known = self.intervals.len() >= MIN_INTERVALS && self.since_pause.is_none();
        let longest = self.intervals.iter().max().copied().filter(|_| is_known)?;
        (longest <= LONGEST_FACTOR.saturating_mul(self.usual())).then_some(longest)
    }

    /// Return the last commit, and the time after it at which the member becomes stuck; None if it is stuck or its commits are not
    /// regular.
    pub(super) fn allowed_silence(&self, factor: i64) -> Option<(i64, i64)> {
        let last = self.last.filter(|_| self.stuck_since.is_none() && self.intervals.len() >= MIN_INTERVALS)?;
        let limit = factor.saturating_mul(self.usual());
        if self.intervals.iter().max().is_some_and(|longest| *longest > limit) {
            return None;
        }
        Some((last, limit))
    }
}

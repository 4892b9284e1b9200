//! Commits of a member over time: whether they are regular, and when a member that stops committing is reported.
//!
//! A commit does not name the member that sends it. Replay attributes it to the member that owns the partition.

use super::cadence::{Cadence, Step};

/// Commits are regular if no recent interval is longer than this multiple of the usual one.
const LONGEST_FACTOR: i64 = 10;
/// A member that commits nothing for this multiple of its usual interval does something else: half of what makes a partition idle.
const QUIET_FACTOR: i64 = 5;

/// Times of the commits of a member: the last one, and the cadence over all its partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CommitTimes {
    /// The last commit.
    pub(super) last: Option<i64>,
    pub(super) cadence: Cadence,
    /// The last commit before the member became stuck; None if it is not stuck.
    pub(super) stuck_since: Option<i64>,
    /// True if a commit of the last burst changed the committed offset.
    pub(super) has_advanced: bool,
    /// Number of intervals since the member was stuck; None if they are `Cadence::MOST` or more, or if it never was.
    pub(super) since_pause: Option<usize>,
    /// True if a burst changed no committed offset: the client also commits when it has read nothing.
    pub(super) is_idle_committer: bool,
    /// The first commit since a rebalance took partitions from the member; None before it.
    pub(super) active_since: Option<i64>,
    /// The latest time in which the member committed nothing at all, for example because it gave up partitions: the commits before and
    /// after it.
    pub(super) quiet: Option<(i64, i64)>,
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
            self.cadence.interrupt();
        }
        if self.last.is_some_and(|last| at <= last) {
            self.has_advanced |= advances;
            return since;
        }
        let longest = QUIET_FACTOR.saturating_mul(self.cadence.usual().max(shortest));
        if let Some(last) = self.last.filter(|last| at.saturating_sub(*last) > longest) {
            self.quiet = Some((last, at));
        }
        self.last = Some(at);
        self.active_since = self.active_since.or(Some(at));
        match self.cadence.add(at, shortest) {
            Step::Same => {
                self.has_advanced |= advances;
                return since;
            }
            Step::Next => {
                self.since_pause = self.since_pause.map(|count| count + 1).filter(|count| *count < Cadence::MOST);
                self.is_idle_committer |= !self.has_advanced;
            }
            Step::First => {}
        }
        self.has_advanced = advances;
        since
    }

    /// Note a commit whose time is not known: no interval ends or begins with it. If the member was stuck until now, return the time of
    /// the previous commit.
    pub(super) fn forget_last(&mut self) -> Option<i64> {
        let since = self.stuck_since.take();
        if since.is_some() {
            self.since_pause = Some(0);
        }
        self.last = None;
        self.cadence.interrupt();
        since
    }

    /// Return how long the member was committing after a time, up to its last commit; None if that commit is not known.
    pub(super) fn committing_since(&self, time: i64) -> Option<i64> {
        let quiet = self.quiet.map_or(0, |(since, until)| until.saturating_sub(since.max(time)).max(0));
        self.last.map(|last| last.saturating_sub(time).saturating_sub(quiet))
    }

    /// Return the longest of the latest intervals if the commits are regular; a pause in which the member was stuck is one of them.
    pub(super) fn longest_regular(&self) -> Option<i64> {
        let is_known = self.cadence.is_known() && self.since_pause.is_none();
        let longest = self.cadence.longest().filter(|_| is_known)?;
        (longest <= LONGEST_FACTOR.saturating_mul(self.cadence.usual())).then_some(longest)
    }

    /// Return the last commit, and the time after it at which the member becomes stuck; None if it is stuck or its commits are not
    /// regular.
    pub(super) fn allowed_silence(&self, factor: i64) -> Option<(i64, i64)> {
        let last = self.last.filter(|_| self.stuck_since.is_none() && self.cadence.is_known())?;
        let limit = factor.checked_mul(self.cadence.usual())?;
        self.cadence.longest().is_none_or(|longest| longest <= limit).then_some((last, limit))
    }
}

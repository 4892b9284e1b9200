//! Cadence of commits: the usual time between them, from the latest ones.
//!
//! Commits that follow each other closely are one burst: intervals are the times between the starts of bursts.

const MAX_INTERVALS: usize = 9;
const MIN_INTERVALS: usize = 5;
const MIN_REPEATED: usize = 3;

/// Latest intervals between bursts of commits, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cadence {
    /// The first commit of the last burst; None before the first commit, and after an interruption.
    pub(super) burst: Option<i64>,
    /// The latest intervals, oldest first.
    pub(super) intervals: Vec<i64>,
}

/// What a commit is to the commits before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A part of the last burst.
    Same,
    /// The start of a burst, with an interval since the start of the one before.
    Next,
    /// The start of a burst without a known interval.
    First,
}

impl Cadence {
    /// Highest number of intervals that are known.
    pub(super) const MOST: usize = MAX_INTERVALS;

    /// Add a commit. One that is within `shortest` milliseconds of the first one of a burst belongs to the burst.
    pub(super) fn add(&mut self, at: i64, shortest: i64) -> Step {
        let step = match self.burst.map(|burst| at.saturating_sub(burst)) {
            Some(interval) if interval < shortest => return Step::Same,
            Some(interval) => {
                if self.intervals.len() == MAX_INTERVALS {
                    self.intervals.remove(0);
                }
                self.intervals.push(interval);
                Step::Next
            }
            None => Step::First,
        };
        self.burst = Some(at);
        step
    }

    /// Ignore the time until the next commit.
    pub(super) fn interrupt(&mut self) {
        self.burst = None;
    }

    /// Return true if enough intervals are known to say what is usual.
    pub(super) fn is_known(&self) -> bool {
        self.intervals.len() >= MIN_INTERVALS
    }

    /// Return the median of the latest intervals; 0 if there are none.
    pub(super) fn usual(&self) -> i64 {
        let mut sorted = [0; MAX_INTERVALS];
        let count = self.intervals.len().min(MAX_INTERVALS);
        sorted[..count].copy_from_slice(&self.intervals[..count]);
        sorted[..count].sort_unstable();
        sorted[..count].get(count / 2).copied().unwrap_or(0)
    }

    /// Return the median of the latest intervals if there are enough of them for an estimate: fewer than `is_known` needs, because a
    /// rebalance may follow soon.
    pub(super) fn usual_if_repeated(&self) -> Option<i64> {
        (self.intervals.len() >= MIN_REPEATED).then(|| self.usual())
    }

    /// Return the longest of the latest intervals.
    pub(super) fn longest(&self) -> Option<i64> {
        self.intervals.iter().max().copied()
    }
}

//! Silences: times in which a partition of `__consumer_offsets`, or the whole log, got no record although its groups had written
//! records regularly. Their brokers did not run, could not be reached, or the machine slept.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::stuck::CommitTimes;
use super::times::deadline_after;

/// A silence lasts at least this long. A shorter one can be a pause of a broker, or of its clients.
const SHORTEST: i64 = 10_000;
/// A group shows a silence if the silence is at least this multiple of the usual interval between its records.
const FACTOR: i64 = 10;
/// A silence needs this number of groups that show it: one group may have nothing to read.
const GROUPS: usize = 2;
/// Records of a group within this time are one burst.
const BURST: i64 = 1_000;
/// A group that has written no record for this long shows no silence.
const LONGEST_PAUSE: i64 = 3_600_000;

/// Time without records, from the last record before it to the first record after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// Time of the last record before it, in milliseconds since 1970.
    pub since: i64,
    /// Time of the first record after it.
    pub until: i64,
    /// Partitions of `__consumer_offsets`, in order.
    pub partitions: Vec<i32>,
    /// True if no partition of the log had a record.
    pub is_whole_log: bool,
    /// How the coordinator of the groups of the partitions changed at `until`, as the end of a sentence. Empty for a silence; with a
    /// text, records need not be missing, and `since` is `until`.
    pub moved: String,
}

/// Silences of a log, found record by record.
#[derive(Debug, Default)]
pub struct SilenceFinder {
    /// Time of the last record.
    last: Option<i64>,
    /// End of the last silence of the whole log.
    resumed: Option<i64>,
    partitions: BTreeMap<i32, KnownPartition>,
}

#[derive(Debug, Default)]
struct KnownPartition {
    last: i64,
    groups: FxHashMap<u32, CommitTimes>,
}

impl KnownPartition {
    /// Count the groups that wrote records regularly until `since`, and would have written some between `from` and `until`. Forget groups
    /// that had stopped long before.
    fn count_interrupted(&mut self, since: i64, from: i64, until: i64) -> usize {
        self.groups.retain(|_, times| times.last.is_some_and(|last| since.saturating_sub(last) <= LONGEST_PAUSE));
        let lasted = until.saturating_sub(from);
        let is_interrupted = |times: &&CommitTimes| {
            let (Some(last), Some(longest)) = (times.last, times.longest_regular()) else { return false };
            let usual = times.cadence.usual().max(BURST);
            since.saturating_sub(last) <= longest.max(usual.saturating_mul(2))
                && lasted >= FACTOR.saturating_mul(usual)
                && lasted > longest
        };
        self.groups.values().filter(is_interrupted).count()
    }
}

impl SilenceFinder {
    /// Add a record; return the silence that ends with it.
    ///
    /// Records come in the order of time; an earlier time counts as the latest one. A silence of the whole log is not reported again for
    /// its partitions.
    pub fn add(&mut self, partition: i32, group: u32, at: i64) -> Option<Silence> {
        let at = self.last.map_or(at, |last| at.max(last));
        let found = self.of_whole_log(at).or_else(|| self.of_partition(partition, at));
        if let Some(found) = &found {
            if found.is_whole_log {
                self.resumed = Some(at);
            }
            for id in &found.partitions {
                let Some(known) = self.partitions.get_mut(id) else { continue };
                known.groups.values_mut().for_each(|times| times.cadence.interrupt());
            }
        }
        self.last = Some(at);
        let known = self.partitions.entry(partition).or_default();
        known.last = at;
        known.groups.entry(group).or_default().add(at, BURST, true);
        found
    }

    /// Note a record of a partition whose time is not known: no silence of its groups ends with their next records.
    pub fn interrupt(&mut self, partition: i32) {
        let known = self.partitions.get_mut(&partition).into_iter();
        known.flat_map(|known| known.groups.values_mut()).for_each(|times| _ = times.forget_last());
    }

    fn of_whole_log(&mut self, until: i64) -> Option<Silence> {
        let since = self.last.filter(|last| until.saturating_sub(*last) >= SHORTEST)?;
        let groups: usize =
            self.partitions.values_mut().map(|known| known.count_interrupted(since, since, until)).sum();
        let partitions = self.partitions.keys().copied();
        (groups >= GROUPS).then(|| Silence {
            since,
            until,
            partitions: partitions.collect(),
            is_whole_log: true,
            moved: String::new(),
        })
    }

    fn of_partition(&mut self, partition: i32, until: i64) -> Option<Silence> {
        let known = self.partitions.get_mut(&partition)?;
        let since = known.last;
        let from = self.resumed.map_or(since, |resumed| since.max(resumed));
        if until.saturating_sub(from) < SHORTEST || known.count_interrupted(since, from, until) < GROUPS {
            return None;
        }
        Some(Silence { since, until, partitions: vec![partition], is_whole_log: false, moved: String::new() })
    }
}

/// Silences and moves of coordinators that a replay knows, by time.
#[derive(Debug, Clone, Default)]
pub struct Silences {
    found: Vec<Silence>,
    /// Moves of the coordinator by partition, so that a group finds its own without a search in all of them.
    moves: FxHashMap<i32, Vec<Silence>>,
}

impl Silences {
    /// Add silences and moves; they stay in the order of their ends.
    pub fn extend(&mut self, found: impl IntoIterator<Item = Silence>) {
        for each in found {
            if each.moved.is_empty() {
                self.found.push(each);
                continue;
            }
            for partition in &each.partitions {
                self.moves.entry(*partition).or_default().push(each.clone());
            }
        }
        for each in std::iter::once(&mut self.found).chain(self.moves.values_mut()) {
            each.sort_by_key(|silence| (silence.until, silence.since));
        }
    }

    /// Return the last silence of a partition that ended at or before a time. Without a partition, only those of the whole log count.
    pub(super) fn last_before(&self, partition: Option<i32>, time: i64) -> Option<&Silence> {
        let end = self.found.partition_point(|silence| silence.until <= time);
        self.found[..end].iter().rev().find(|silence| silence.covers(partition))
    }

    /// Return the last move of the coordinator of a partition at or before a time.
    pub(super) fn last_move_before(&self, partition: Option<i32>, time: i64) -> Option<&Silence> {
        let moves = self.moves.get(&partition?)?;
        moves[..moves.partition_point(|moved| moved.until <= time)].last()
    }

    /// Return true if a silence of a partition lies between two times.
    pub(super) fn is_between(&self, partition: Option<i32>, from: i64, until: i64) -> bool {
        self.found.iter().any(|silence| silence.since >= from && silence.until <= until && silence.covers(partition))
    }

    /// Return a time that lies `wait` milliseconds after another one, without the time of silences in between. None if an i64 cannot
    /// hold it.
    pub(super) fn after(&self, partition: Option<i32>, from: i64, wait: i64) -> Option<i64> {
        let mut end = deadline_after(from, wait)?;
        for silence in self.found.iter().filter(|silence| silence.until > from && silence.covers(partition)) {
            if silence.since >= end {
                break;
            }
            end = deadline_after(end, silence.until.checked_sub(silence.since.max(from))?)?;
        }
        Some(end)
    }
}

impl Silence {
    fn covers(&self, partition: Option<i32>) -> bool {
        self.is_whole_log || partition.is_some_and(|partition| self.partitions.contains(&partition))
    }
}

//! Highest number of events within one minute.
//!
//! The log is in the order of offsets, but the clocks of brokers may differ: times may go back. Times within two minutes of the latest
//! time are stored. An older event counts as the only event of its minute.

use std::collections::VecDeque;

const MINUTE: i64 = 60_000;

/// Events of the last two minutes, and the highest number of events within one minute so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BusiestMinute {
    /// Times in ascending order, with their numbers of events.
    pub(super) times: VecDeque<(i64, usize)>,
    /// Index of the first time in the minute that ends with the latest time.
    pub(super) first: usize,
    /// Number of events in that minute.
    pub(super) count: usize,
    /// The highest number of events within one minute.
    pub(super) most: usize,
}

impl BusiestMinute {
    /// Return the state with these times and this highest number; None if the times are not ascending or a number is too large.
    pub(super) fn of_times(times: VecDeque<(i64, usize)>, most: usize) -> Option<Self> {
        let is_ascending = times.iter().zip(times.iter().skip(1)).all(|(left, right)| left.0 < right.0);
        let is_countable = times.iter().all(|(_, count)| u32::try_from(*count).is_ok());
        let latest = times.back().map_or(0, |(latest, _)| *latest);
        let first = times.partition_point(|(time, _)| latest.saturating_sub(*time) >= MINUTE);
        let count = times.iter().skip(first).map(|(_, count)| *count & 0xffff_ffff).sum();
        (is_ascending && is_countable).then_some(Self { times, first, count, most })
    }

    /// Add an event.
    pub(super) fn add(&mut self, time: i64) {
        let latest = self.times.back().map_or(time, |(latest, _)| *latest);
        if time < latest {
            self.add_late(latest, time);
            return;
        }
        match self.times.back_mut() {
            Some((latest, count)) if *latest == time => *count += 1,
            _ => self.times.push_back((time, 1)),
        }
        self.count += 1;
        while time.saturating_sub(self.times[self.first].0) >= MINUTE {
            self.count -= self.times[self.first].1;
            self.first += 1;
        }
        while time.saturating_sub(self.times[0].0) >= 2 * MINUTE {
            self.times.pop_front();
            self.first -= 1;
        }
        self.most = self.most.max(self.count);
    }

    fn add_late(&mut self, latest: i64, time: i64) {
        if latest.saturating_sub(time) >= 2 * MINUTE {
            self.most = self.most.max(1);
            return;
        }
        match self.times.binary_search_by_key(&time, |(time, _)| *time) {
            Ok(index) => self.times[index].1 += 1,
            Err(index) => self.times.insert(index, (time, 1)),
        }
        (self.first, self.count) = (0, 0);
        for (time, count) in &self.times {
            self.count += count;
            while time.saturating_sub(self.times[self.first].0) >= MINUTE {
                self.count -= self.times[self.first].1;
                self.first += 1;
            }
            self.most = self.most.max(self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busiest(times: &[i64]) -> usize {
        let mut busiest = BusiestMinute::default();
        for time in times {
            busiest.add(*time);
        }
        busiest.most
    }

    #[test]
    fn a_minute_is_a_half_open_interval() {
        assert_eq!(0, busiest(&[]));
        assert_eq!(2, busiest(&[0, 59_999, 60_000]));
        assert_eq!(1, busiest(&[i64::MIN, i64::MAX]));
        assert_eq!(3, busiest(&[0, 7, 70_000, 70_000, 129_999]));
    }

    #[test]
    fn an_event_may_be_late() {
        assert_eq!(3, busiest(&[0, 59_999, 30_000]));
        assert_eq!(4, busiest(&[0, 60_000, 30_000, 60_001, 60_002]));
        assert_eq!(5, busiest(&[0, 60_000, 30_000, 60_001, 60_002, 30_000]));
        assert_eq!(1, busiest(&[100_000, 0]));
        assert_eq!(1, busiest(&[0, 120_000, 0, 0]));
        assert_eq!(1, busiest(&[i64::MAX, i64::MIN]));
    }
}

//! Times of records: which timestamps are valid, and deadlines, which may lie beyond the last time that an i64 can hold.
//!
//! Kafka writes -1 (`NO_TIMESTAMP`) if a record has no timestamp, and a damaged record or one of another program can have any number.
//! A timestamp is valid if it lies in the years 1970 to 9999: a number in microseconds or nanoseconds is later. The clock of the machine
//! is not read, because a recording can be replayed on any machine at any time.

/// The last valid timestamp: the last millisecond of the year 9999.
pub const LATEST_TIME: i64 = 253_402_300_799_999;

/// Time of a record without a valid timestamp, as far as deadlines are concerned: no deadline follows from it.
pub(super) const UNKNOWN: i64 = i64::MAX;

/// Return a timestamp if it is valid.
#[must_use]
pub const fn valid(timestamp: i64) -> Option<i64> {
    if timestamp >= 0 && timestamp <= LATEST_TIME { Some(timestamp) } else { None }
}

/// Return the time at which a record is applied, given the highest valid timestamp before it: its own timestamp if that is valid, else the
/// highest one, and 0 without any.
#[must_use]
pub fn applied_at(timestamp: i64, clock: Option<i64>) -> i64 {
    valid(timestamp).or(clock).unwrap_or(0)
}

/// Return the deadline that lies `wait` milliseconds after a time. None if an i64 cannot hold it: such a deadline is never due.
pub(super) const fn deadline_after(time: i64, wait: i64) -> Option<i64> {
    time.checked_add(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_years_1970_to_9999_are_valid() {
        for timestamp in [0, 1, 1_700_000_000_000, LATEST_TIME] {
            assert_eq!(Some(timestamp), valid(timestamp));
        }
        // No timestamp, microseconds, nanoseconds, and the ends of an i64.
        for timestamp in [-1, i64::MIN, LATEST_TIME + 1, 1_700_000_000_000_000, 1_700_000_000_000_000_000, i64::MAX] {
            assert_eq!(None, valid(timestamp));
        }
    }

    #[test]
    fn a_deadline_beyond_the_last_time_does_not_exist() {
        assert_eq!(Some(i64::MAX), deadline_after(i64::MAX - 1, 1));
        assert_eq!(None, deadline_after(UNKNOWN, 1));
        assert_eq!(None, deadline_after(1, i64::MAX));
        assert_eq!(None, deadline_after(i64::MIN, -1));
    }
}

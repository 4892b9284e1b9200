//! Durations in sentences, as people say them.

const SECOND: i128 = 1_000;
const MINUTE: i128 = 60 * SECOND;
const HOUR: i128 = 60 * MINUTE;
const DAY: i128 = 24 * HOUR;

/// Return the time between two times as text; the difference may overflow an i64.
pub(super) fn between(from: i64, until: i64) -> String {
    text(i128::from(until) - i128::from(from))
}

/// Return a number of milliseconds as text: seconds up to ten minutes, because timeouts are given in seconds.
pub(super) fn duration(milliseconds: i64) -> String {
    text(i128::from(milliseconds))
}

fn text(milliseconds: i128) -> String {
    let found = milliseconds.max(0);
    match found {
        ..SECOND => format!("{found} ms"),
        ..MINUTE if found % SECOND != 0 => format!("{} s", tenths(found, SECOND)),
        _ if found < 10 * MINUTE => format!("{} s", rounded(found, SECOND)),
        _ if found < 2 * HOUR => format!("{} min", rounded(found, MINUTE)),
        _ if found < 2 * DAY => format!("{} h", tenths(found, HOUR)),
        _ => format!("{} d", tenths(found, DAY)),
    }
}

fn rounded(value: i128, unit: i128) -> i128 {
    (value + unit / 2) / unit
}

/// Return a value in a unit, with one decimal place unless it is zero.
fn tenths(value: i128, unit: i128) -> String {
    let found = rounded(10 * value, unit);
    if found % 10 == 0 { format!("{}", found / 10) } else { format!("{}.{}", found / 10, found % 10) }
}

#[cfg(test)]
mod tests {
    use super::{between, duration};

    #[test]
    fn durations_have_the_unit_that_people_say() {
        let cases = [
            (-5, "0 ms"),
            (999, "999 ms"),
            (5_030, "5 s"),
            (5_260, "5.3 s"),
            (45_000, "45 s"),
            (302_400, "302 s"),
            (600_000, "10 min"),
            (8 * 3_600_000, "8 h"),
            (5 * 86_400_000 + 34_560_000, "5.4 d"),
        ];
        for (milliseconds, text) in cases {
            assert_eq!(duration(milliseconds), text);
        }
        assert_eq!(between(i64::MIN, i64::MAX), "213503982334.6 d");
    }
}

//! Sets of ids as ranges: a start, and one past the last id.

/// Ids from a start up to, but not including, an end.
pub(crate) type Range = (i64, i64);

/// Return ranges with the same ids that are ascending and neither overlap nor touch.
pub(crate) fn union(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable();
    ranges.dedup_by(|next, last| {
        let touches = next.0 <= last.1;
        if touches {
            last.1 = last.1.max(next.1);
        }
        touches
    });
    ranges
}

/// Return the ids that are in both lists of ranges, which are ascending and do not overlap.
pub(super) fn intersection(left: &[Range], right: &[Range]) -> Vec<Range> {
    let mut found = Vec::new();
    let (mut here, mut there) = (0, 0);
    while let (Some(mine), Some(other)) = (left.get(here), right.get(there)) {
        let (start, end) = (mine.0.max(other.0), mine.1.min(other.1));
        if start < end {
            found.push((start, end));
        }
        if mine.1 < other.1 { here += 1 } else { there += 1 }
    }
    found
}

/// Return the number of ids in ranges that do not overlap.
pub(crate) fn length(ranges: &[Range]) -> i64 {
    ranges.iter().map(|(start, end)| end - start).sum()
}

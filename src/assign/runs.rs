//! Runs of consecutive positions by the rank of their owner: the solution of co-partitioned topics.

/// Runs of consecutive positions, grouped by the rank of their owner.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// Per run, its first position and one past its last.
    bounds: Vec<(u32, u32)>,
    /// Per rank, the end of its runs in `bounds`.
    ends: Vec<u32>,
    /// Per rank, its number of positions.
    pub(super) counts: Vec<u32>,
}

impl Runs {
    /// Build runs from the rank of the owner of each position.
    pub(super) fn of(owners: &[u32], ranks: usize) -> Self {
        let mut counts = vec![0; ranks];
        let mut ends = vec![0; ranks + 1];
        let mut before = u32::MAX;
        for owner in owners {
            counts[*owner as usize] += 1;
            ends[*owner as usize + 1] += u32::from(*owner != before);
            before = *owner;
        }
        for rank in 0..ranks {
            ends[rank + 1] += ends[rank];
        }
        // `ends` has the start of each rank's runs; writing a run moves it towards their end.
        let mut bounds = vec![(0, 0); ends[ranks] as usize];
        before = u32::MAX;
        for (position, owner) in (0..).zip(owners) {
            let end = &mut ends[*owner as usize];
            if *owner == before {
                bounds[*end as usize - 1].1 = position + 1;
            } else {
                bounds[*end as usize] = (position, position + 1);
                *end += 1;
            }
            before = *owner;
        }
        ends.truncate(ranks);
        Self { bounds, ends, counts }
    }

    /// Return the runs of a rank.
    pub(super) fn of_rank(&self, rank: u32) -> &[(u32, u32)] {
        let start = rank.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.bounds[start as usize..self.ends[rank as usize] as usize]
    }

    /// Return one past the last rank that has a position.
    pub(super) fn limit(&self) -> u32 {
        self.counts.iter().rposition(|count| *count > 0).map_or(0, |last| last as u32 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_with_the_same_owner_form_runs() {
        let runs = Runs::of(&[1, 1, 0, 1, 3, 3], 5);

        let of_ranks: Vec<_> = (0..5).map(|rank| runs.of_rank(rank)).collect();

        assert_eq!(vec![&[(2, 3)][..], &[(0, 2), (3, 4)], &[], &[(4, 6)], &[]], of_ranks);
        assert_eq!((vec![1, 3, 0, 2, 0], 4), (runs.counts.clone(), runs.limit()));
    }
}

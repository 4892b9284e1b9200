//! Choice of the next taker and the next giver of a topic: the subscribers that get a partition and that give one up.
//!
//! Subscribers are sorted once per topic by number of partitions, then by position in the iteration order of Kafka's map of members.
//! Takers are a prefix of this list, givers a suffix. All takers have the same number of partitions, which is their level; the same
//! is true of givers. When each taker has got a partition, their level rises by one, and the subscribers that started on the new
//! level become takers. When each giver has given one up, their level falls by one, and givers are added in the same way.

/// Takers and givers of one topic. One value is used for many topics, one after another, to save allocations.
#[derive(Default)]
pub(super) struct Balancer {
    /// Subscribers by (number of partitions, place).
    sorted: Vec<u32>,
    low_level: i64,
    low_end: usize,
    taker: usize,
    high_level: i64,
    high_start: usize,
    high_end: usize,
    /// One past the next giver.
    giver: usize,
    counts: Vec<u32>,
}

impl Balancer {
    /// Start with the subscribers of another topic, given by place, ascending, at least one.
    pub(super) fn start(&mut self, subscribers: &[u32], sizes: &[u32], (least, most): (u32, u32)) {
        self.sort(subscribers, sizes, (least, most));
        self.low_level = i64::from(least) - 1;
        self.low_end = 0;
        self.taker = 0;
        self.high_level = i64::from(most) + 1;
        self.high_start = subscribers.len();
        self.high_end = subscribers.len();
        self.giver = subscribers.len();
    }

    /// Start with another topic, to give a known number of partitions and to take none away. If enough subscribers are on the lowest
    /// level, the others are not sorted.
    pub(super) fn start_takers(&mut self, subscribers: &[u32], sizes: &[u32], (least, most): (u32, u32), count: usize) {
        let lowest = subscribers.iter().filter(|place| sizes[**place as usize] == least);
        self.sorted.clear();
        self.sorted.extend(lowest.take(count));
        if self.sorted.len() < count {
            return self.start(subscribers, sizes, (least, most));
        }
        self.low_level = i64::from(least) - 1;
        self.low_end = 0;
        self.taker = 0;
    }

    fn sort(&mut self, subscribers: &[u32], sizes: &[u32], (least, most): (u32, u32)) {
        let levels = (most - least) as usize + 1;
        self.sorted.clear();
        if levels == 1 {
            self.sorted.extend_from_slice(subscribers);
        } else if levels > subscribers.len() {
            self.sorted.extend_from_slice(subscribers);
            self.sorted.sort_by_key(|place| sizes[*place as usize]);
        } else {
            self.counts.clear();
            self.counts.resize(levels + 1, 0);
            for place in subscribers {
                self.counts[(sizes[*place as usize] - least) as usize + 1] += 1;
            }
            for level in 0..levels {
                self.counts[level + 1] += self.counts[level];
            }
            self.sorted.resize(subscribers.len(), 0);
            for place in subscribers {
                let next = &mut self.counts[(sizes[*place as usize] - least) as usize];
                self.sorted[*next as usize] = *place;
                *next += 1;
            }
        }
    }

    /// Return true if the levels of givers and takers differ by at most one.
    pub(super) fn is_balanced(&self) -> bool {
        self.high_level - self.low_level <= 1
    }

    /// Return the next subscriber with the fewest partitions.
    pub(super) fn next_taker(&mut self, sizes: &[u32]) -> u32 {
        if self.taker >= self.low_end {
            self.low_level += 1;
            while self.low_end < self.sorted.len() && self.level(self.low_end, sizes) == self.low_level {
                self.low_end += 1;
            }
            self.taker = 0;
        }
        self.taker += 1;
        self.sorted[self.taker - 1]
    }

    /// Return the next subscriber with the most partitions; None if no subscriber is left.
    pub(super) fn next_giver(&mut self, sizes: &[u32]) -> Option<u32> {
        if self.giver <= self.high_start {
            if self.high_end <= self.high_start && self.high_start > 0 {
                self.high_level = self.level(self.high_start - 1, sizes);
            } else {
                self.high_level -= 1;
            }
            while self.high_start > 0 && self.level(self.high_start - 1, sizes) == self.high_level {
                self.high_start -= 1;
            }
            self.giver = self.high_end;
        }
        self.giver = self.giver.checked_sub(1)?;
        Some(self.sorted[self.giver])
    }

    /// Exclude the giver that `next_giver` returned last: it has no partition of this topic.
    pub(super) fn exclude_giver(&mut self) {
        self.high_end -= 1;
        self.sorted.swap(self.giver, self.high_end);
    }

    fn level(&self, index: usize, sizes: &[u32]) -> i64 {
        i64::from(sizes[self.sorted[index] as usize])
    }
}

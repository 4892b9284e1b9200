//! How evenly a plan shares.

use crate::plan::Plan;

/// How evenly a plan shares.
#[derive(Debug, Clone, PartialEq)]
pub struct Balance {
    /// The fewest partitions that a member has; 0 without members.
    pub min: i64,
    /// The most.
    pub max: i64,
    /// The average; 0 without members.
    pub mean: f64,
    /// Members that have nothing.
    pub idle: Vec<u32>,
    /// Per topic the difference between the most and the fewest partitions of it that one of its consumers has.
    pub spread: Vec<i64>,
}

impl Plan {
    /// How evenly this plan shares.
    #[must_use]
    pub fn balance(&self) -> Balance {
        let counts = self.counts();
        #[allow(clippy::cast_precision_loss, reason = "an average is rounded anyway")]
        let mean = if counts.is_empty() { 0.0 } else { counts.iter().sum::<i64>() as f64 / counts.len() as f64 };
        let idle = counts.iter().enumerate().filter(|(_, count)| **count == 0);
        Balance {
            min: counts.iter().copied().min().unwrap_or(0),
            max: counts.iter().copied().max().unwrap_or(0),
            mean,
            idle: idle.map(|(member, _)| member as u32).collect(),
            spread: self.spread(),
        }
    }

    fn spread(&self) -> Vec<i64> {
        // Per topic: how many members have some of it, the fewest and the most that one has.
        let mut found = vec![(0_usize, i64::MAX, 0_i64); self.topics().len()];
        self.each_member(|_, spans| {
            for of_topic in spans.chunk_by(|left, right| left.topic == right.topic) {
                let count: i64 = of_topic.iter().map(|span| i64::from(span.count)).sum();
                let (owners, fewest, most) = &mut found[of_topic[0].topic as usize];
                *owners += 1;
                *fewest = count.min(*fewest);
                *most = count.max(*most);
            }
        });
        let mut consumers = vec![0; self.topics().len()];
        for (subscription, members) in (0..).zip(self.group.members_per_subscription()) {
            for topic in self.group.topics_of(subscription) {
                consumers[*topic as usize] += members as usize;
            }
        }
        let spread = |((owners, fewest, most), consumers): ((usize, i64, i64), usize)| {
            if owners < consumers { most } else { most - fewest.min(most) }
        };
        found.into_iter().zip(consumers).map(spread).collect()
    }
}

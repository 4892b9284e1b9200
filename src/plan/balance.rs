//! Balance of a plan: how evenly its partitions are distributed.

use crate::plan::Plan;

/// Balance of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Balance {
    /// Partitions of the least loaded member; 0 without members.
    pub min: i64,
    /// Partitions of the most loaded member; 0 without members.
    pub max: i64,
    /// Mean number of partitions per member; 0 without members.
    pub mean: f64,
    /// Members without partitions.
    pub idle: Vec<u32>,
    /// Per topic, the highest number of its partitions that a consumer has, minus the lowest.
    pub spread: Vec<i64>,
}

impl Plan {
    /// Return the balance of this plan.
    #[must_use]
    pub fn balance(&self) -> Balance {
        let counts = self.counts();
        #[allow(clippy::cast_precision_loss, reason = "the mean is a rounded value in any case")]
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
        // Per topic: the number of members with partitions of it, and the fewest and the most partitions of such a member.
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
            // Members may have partitions of a topic without consumers only in a share group.
            if consumers == 0 {
                0
            } else if owners < consumers {
                most
            } else {
                most - fewest.min(most)
            }
        };
        found.into_iter().zip(consumers).map(spread).collect()
    }
}

//! Number of tasks up to which a member keeps the tasks that it had before.

/// Quota of tasks per member: the tasks divided by the members, rounded up.
///
/// Each member that reaches the quota leaves the division with its tasks. So the quota can fall while tasks are assigned.
pub(super) struct Quota {
    tasks: u64,
    members: u64,
    size: u64,
}

impl Quota {
    pub(super) fn new(tasks: u64, members: usize) -> Self {
        let members = members as u64;
        Self { tasks, members, size: size(tasks, members) }
    }

    /// Return true if a member with this number of tasks is below the quota.
    pub(super) fn is_below(&self, tasks: u32) -> bool {
        u64::from(tasks) < self.size
    }

    /// Take a member out of the division if its number of tasks is the quota.
    pub(super) fn count(&mut self, tasks: u32) {
        if u64::from(tasks) == self.size {
            self.members -= 1;
            self.tasks -= self.size;
            self.size = size(self.tasks, self.members);
        }
    }
}

/// Return the quota; 0 without members.
fn size(tasks: u64, members: u64) -> u64 {
    if members == 0 { 0 } else { tasks.div_ceil(members) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quota_falls_as_members_reach_it() {
        let mut quota = Quota::new(5, 3);
        let mut sizes = vec![quota.size];
        for _ in 0..3 {
            quota.count(quota.size as u32);
            sizes.push(quota.size);
        }

        assert_eq!(vec![2, 2, 1, 0], sizes);
        assert!(!quota.is_below(0));
    }
}

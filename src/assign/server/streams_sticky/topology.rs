//! Tasks of a topology, numbered by subtopology id in Java's order, then by number within the subtopology.

use crate::error::StreamsError;
use crate::group::java_order;

/// Largest number of tasks of a topology.
pub const MAX_TASKS: u64 = 1 << 28;

/// Part of a topology, with tasks of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subtopology {
    /// Its id.
    pub id: String,
    /// The number of its tasks: the largest number of partitions of a source topic.
    pub tasks: u32,
    /// True if the tasks have state.
    pub is_stateful: bool,
}

/// Tasks of a group, as numbers from 0.
#[derive(Debug, Clone, Default)]
pub struct Topology {
    /// Subtopologies in Java's order of their ids.
    subtopologies: Vec<Subtopology>,
    /// Per subtopology, the end of its tasks.
    ends: Vec<u32>,
}

impl Topology {
    /// Create a topology from its subtopologies, in any order.
    ///
    /// # Errors
    /// Two subtopologies have the same id, or there are more than `MAX_TASKS` tasks.
    pub fn new(mut subtopologies: Vec<Subtopology>) -> Result<Self, StreamsError> {
        subtopologies.sort_by(|left, right| java_order(&left.id, &right.id));
        if let Some(pair) = subtopologies.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(StreamsError::DuplicateSubtopology(pair[0].id.clone()));
        }
        let tasks = subtopologies.iter().map(|subtopology| u64::from(subtopology.tasks)).sum();
        if tasks > MAX_TASKS {
            return Err(StreamsError::TooManyTasks { tasks, limit: MAX_TASKS });
        }
        let ends = subtopologies.iter().scan(0, |end, subtopology| {
            *end += subtopology.tasks;
            Some(*end)
        });
        Ok(Self { ends: ends.collect(), subtopologies })
    }

    /// Return the number of tasks.
    #[must_use]
    pub fn tasks(&self) -> u32 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Return the number of tasks with state.
    #[must_use]
    pub fn stateful_tasks(&self) -> u32 {
        self.subtopologies.iter().filter(|each| each.is_stateful).map(|each| each.tasks).sum()
    }

    /// Return a task by its name; None if it does not exist.
    #[must_use]
    pub fn task(&self, subtopology: &str, number: u32) -> Option<u32> {
        let index = self.subtopologies.binary_search_by(|each| java_order(&each.id, subtopology)).ok()?;
        (number < self.subtopologies[index].tasks).then(|| self.start(index) + number)
    }

    /// Return the name of a task: subtopology id and number.
    #[must_use]
    pub fn name(&self, task: u32) -> (&str, u32) {
        let index = self.subtopology(task);
        (&self.subtopologies[index].id, task - self.start(index))
    }

    /// Return the subtopologies in Java's order of their ids.
    #[must_use]
    pub fn subtopologies(&self) -> &[Subtopology] {
        &self.subtopologies
    }

    /// Return true if a task has state.
    #[must_use]
    pub fn is_stateful(&self, task: u32) -> bool {
        self.subtopologies[self.subtopology(task)].is_stateful
    }

    /// Return the index of the subtopology of a task.
    #[must_use]
    pub fn subtopology(&self, task: u32) -> usize {
        self.ends.partition_point(|end| *end <= task)
    }

    /// Return the first task of a subtopology.
    #[must_use]
    pub fn start(&self, subtopology: usize) -> u32 {
        self.ends[subtopology] - self.subtopologies[subtopology].tasks
    }

    /// Return all tasks by number within the subtopology, then by subtopology id.
    pub(super) fn tasks_by_number(&self) -> Vec<u32> {
        let mut tasks = Vec::with_capacity(self.tasks() as usize);
        let mut left: Vec<usize> = (0..self.subtopologies.len()).collect();
        for number in 0.. {
            left.retain(|index| self.subtopologies[*index].tasks > number);
            if left.is_empty() {
                break;
            }
            tasks.extend(left.iter().map(|index| self.start(*index) + number));
        }
        tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(counts: &[(&str, u32)]) -> Topology {
        let subtopology =
            |(id, tasks): &(&str, u32)| Subtopology { id: (*id).into(), tasks: *tasks, is_stateful: false };
        Topology::new(counts.iter().map(subtopology).collect()).unwrap()
    }

    #[test]
    fn tasks_are_numbered_by_id_in_javas_order() {
        let topology = topology(&[("2", 2), ("10", 3), ("1", 0)]);

        let names: Vec<(&str, u32)> = (0..topology.tasks()).map(|task| topology.name(task)).collect();
        assert_eq!(vec![("10", 0), ("10", 1), ("10", 2), ("2", 0), ("2", 1)], names);
        assert!((0..5).all(|task| topology.task(names[task as usize].0, names[task as usize].1) == Some(task)));
        assert_eq!(vec![0, 3, 1, 4, 2], topology.tasks_by_number());
    }

    #[test]
    fn tasks_that_do_not_exist_have_no_number() {
        let topology = topology(&[("0", 2), ("1", 0)]);

        assert_eq!([None; 4], [("0", 2), ("1", 0), ("2", 0), ("", 0)].map(|(id, number)| topology.task(id, number)));
    }
}

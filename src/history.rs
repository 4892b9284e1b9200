//! What is counted in a group's history: who has how much, what nobody has, how restless the group is, and how every
//! generation under `range` compares with the range rules.

use std::iter;

use rustc_hash::FxHashSet;

use crate::audit::{Metadata, Outcome, Verdict, judge};
use crate::group::Partitions;
use crate::replay::{Generation, History, Kind, Member, busiest_minute, owned};

/// The counts of one history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Topics of which the members have partitions.
    pub topics: usize,
    /// Distinct partitions that they have.
    pub partitions: usize,
    /// Partitions of the topics they subscribe to that nobody has; None where that cannot be said.
    pub unowned: Option<usize>,
    /// Members without partitions.
    pub idle_members: usize,
    /// How many partitions the member with the fewest has; None where there is no member that can be read.
    pub least_loaded: Option<usize>,
    /// How many the one with the most has.
    pub most_loaded: Option<usize>,
    /// How often the group has rebalanced.
    pub rebalances: usize,
    /// The most rebalances within a minute that changed no member.
    pub busiest_minute: usize,
    /// What was found about each generation; None where it was not judged.
    pub verdicts: Vec<Option<Verdict>>,
}

impl Summary {
    /// How many generations came out like that.
    #[must_use]
    pub fn count(&self, outcome: Outcome) -> usize {
        self.verdicts.iter().flatten().filter(|verdict| verdict.outcome == outcome).count()
    }
}

/// A run of consecutive partition ids of one topic that a member has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run<'a> {
    /// The topic's name, or its id where no metadata names it.
    pub topic: &'a str,
    /// The first id.
    pub start: i32,
    /// How many ids.
    pub count: usize,
}

/// Counts a history, and judges its generations.
#[must_use]
pub fn summarize(history: &History, metadata: &Metadata) -> Summary {
    let owned = owned(&history.members);
    let topics: FxHashSet<&str> = owned.iter().map(|(topic, _)| *topic).collect();
    let loads: Vec<usize> = history.members.iter().filter_map(load).collect();
    let verdict = |generation: &Generation| {
        let joined = generation.joined.as_ref()?;
        judge(joined, generation.timestamp, metadata)
    };
    Summary {
        topics: topics.len(),
        partitions: owned.len(),
        unowned: unowned(history, &owned, metadata),
        idle_members: loads.iter().filter(|load| **load == 0).count(),
        least_loaded: loads.iter().min().copied(),
        most_loaded: loads.iter().max().copied(),
        rebalances: rebalances(&history.generations),
        busiest_minute: busiest_minute(&history.generations),
        verdicts: history.generations.iter().map(verdict).collect(),
    }
}

/// How often a group has rebalanced: records of a generation that the record before was not of. Generation 0 is that of a
/// group just made, and a static member that restarts has the generation written again.
#[must_use]
pub fn rebalances(generations: &[Generation]) -> usize {
    let numbers = || generations.iter().map(|found| (found.kind, found.generation));
    let before = iter::once(None).chain(numbers().map(Some));
    numbers().zip(before).filter(|(now, before)| now.1 > 0 && Some(*now) != *before).count()
}

/// How many partitions a member has; None where its bytes cannot be read.
#[must_use]
pub fn load(member: &Member) -> Option<usize> {
    member.partitions.as_ref().map(|partitions| partitions.values().map(Vec::len).sum())
}

/// What a member has, in runs of consecutive ids; topic ids become names where the metadata has them.
pub fn runs<'a>(member: &'a Member, metadata: &'a Metadata) -> impl Iterator<Item = Run<'a>> {
    member.partitions.iter().flatten().flat_map(|(topic, ids)| {
        let topic = named(topic, metadata);
        let runs = ids.chunk_by(|left, right| left.checked_add(1) == Some(*right));
        runs.map(move |run| Run { topic, start: run[0], count: run.len() })
    })
}

fn named<'a>(topic: &'a str, metadata: &'a Metadata) -> &'a str {
    metadata.names.get(topic).map_or(topic, String::as_str)
}

fn unowned(history: &History, owned: &FxHashSet<(&str, i32)>, metadata: &Metadata) -> Option<usize> {
    let last = metadata.moments.last()?;
    if history.members.is_empty() || !matches!(history.kind, Kind::Classic | Kind::Consumer) {
        return None;
    }
    let mut wanted: FxHashSet<&String> = FxHashSet::default();
    for member in &history.members {
        member.partitions.as_ref()?;
        wanted.extend(member.topics.as_ref().filter(|_| member.pattern.is_none())?);
    }
    let taken: FxHashSet<(&str, i32)> = owned.iter().map(|(topic, id)| (named(topic, metadata), *id)).collect();
    let nobodys = |(topic, Partitions { ids, .. }): (&String, &Partitions)| {
        (0..ids.len()).filter(|at| !taken.contains(&(topic.as_str(), ids.at(*at)))).count()
    };
    Some(wanted.into_iter().filter_map(|topic| last.topics.get_key_value(topic)).map(nobodys).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Moment;

    fn member(topics: Option<&[&str]>, partitions: Option<&[(&str, &[i32])]>) -> Member {
        let has = |listed: &[(&str, &[i32])]| listed.iter().map(|(name, ids)| ((*name).into(), ids.to_vec())).collect();
        Member {
            id: "a".into(),
            instance_id: None,
            client_id: "c".into(),
            client_host: "/h".into(),
            rack: None,
            topics: topics.map(|names| names.iter().map(ToString::to_string).collect()),
            pattern: None,
            partitions: partitions.map(has),
        }
    }

    fn history(kind: Kind, members: Vec<Member>) -> History {
        History {
            kind,
            state: "Stable",
            protocol: None,
            generation: Some(1),
            members,
            generations: Vec::new(),
            committed_offsets: 0,
            bad_records: 0,
        }
    }

    fn metadata(topics: &[(&str, u32)]) -> Metadata {
        let topics = topics.iter().map(|(name, count)| ((*name).into(), Partitions::counted(*count)));
        Metadata { moments: vec![Moment { time: 0, topics: topics.collect() }], ..Metadata::default() }
    }

    #[test]
    fn what_nobody_has_is_counted_where_everything_can_be_read() {
        let known = metadata(&[("t", 4), ("u", 2), ("other", 9)]);
        let some = member(Some(&["t", "missing"]), Some(&[("t", &[0, 3]), ("stale", &[1])]));
        let unowned = |kind, members| summarize(&history(kind, members), &known).unowned;

        assert_eq!(Some(2), unowned(Kind::Classic, vec![some.clone()]));
        assert_eq!(Some(4), unowned(Kind::Consumer, vec![some.clone(), member(Some(&["u"]), Some(&[]))]));
        assert_eq!(None, unowned(Kind::Share, vec![some.clone()]));
        assert_eq!(None, unowned(Kind::Classic, vec![]));
        assert_eq!(None, unowned(Kind::Classic, vec![some.clone(), member(None, Some(&[]))]));
        assert_eq!(None, unowned(Kind::Classic, vec![some.clone(), member(Some(&["t"]), None)]));
        assert_eq!(None, summarize(&history(Kind::Classic, vec![some]), &Metadata::default()).unowned);
    }

    #[test]
    fn loads_are_of_the_members_that_can_be_read() {
        let members =
            vec![member(None, Some(&[("t", &[0, 1]), ("u", &[0])])), member(None, Some(&[])), member(None, None)];

        let found = summarize(&history(Kind::Classic, members), &Metadata::default());

        assert_eq!((2, 3), (found.topics, found.partitions));
        assert_eq!((1, Some(0), Some(3)), (found.idle_members, found.least_loaded, found.most_loaded));
    }

    #[test]
    fn neither_the_making_of_a_group_nor_a_static_restart_is_a_rebalance() {
        let generation = |(kind, generation): &(Kind, i32)| Generation {
            offset: 0,
            timestamp: 0,
            kind: *kind,
            generation: *generation,
            protocol_type: None,
            protocol: None,
            leader: None,
            members: 0,
            partitions: 0,
            same_members: false,
            joined: None,
        };
        let count = |log: &[(Kind, i32)]| rebalances(&log.iter().map(generation).collect::<Vec<_>>());
        let (classic, consumer) = (Kind::Classic, Kind::Consumer);

        assert_eq!(0, count(&[]));
        assert_eq!(2, count(&[(classic, 0), (classic, 1), (classic, 1), (classic, 2)]));
        assert_eq!(2, count(&[(classic, 7), (consumer, 7)]));
        assert_eq!(2, count(&[(classic, 1), (classic, 0), (classic, 1)]));
    }

    #[test]
    fn runs_end_where_ids_have_a_hole_and_go_by_the_name() {
        let mut known = Metadata::default();
        known.names.insert("id".into(), "t".into());

        let member = member(None, Some(&[("id", &[0, 1, 3]), ("u", &[i32::MAX])]));

        let found: Vec<_> = runs(&member, &known).map(|run| (run.topic, run.start, run.count)).collect();
        assert_eq!(vec![("t", 0, 2), ("t", 3, 1), ("u", i32::MAX, 1)], found);
    }
}

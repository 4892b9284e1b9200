//! Comparison of the target assignment of a streams group with the answer of the broker's assignor.
//!
//! The engine has the assignor of some versions. Versions from 4.4 on also read task offsets, which no record has. The log does not name
//! the version of the broker, so an assignment is `different` only if the caller does.

use std::collections::{BTreeMap, BTreeSet};

use super::{ComparedAssignor, Comparison, ComparisonClass, missing_topics};
use crate::assign::streams_sticky::{StreamsGroup, StreamsMember, Subtopology, Topology, assign};
use crate::error::StreamsError;
use crate::replay::member::OwnedPartitions;
use crate::replay::metadata::{Metadata, MetadataSnapshot};
use crate::replay::streams_target::StreamsTarget;
use crate::replay::streams_topology;

/// Version of a broker: major, minor and patch.
pub type BrokerVersion = (u32, u32, u32);

/// Versions with the assignor that the engine has.
const VERSIONS: [BrokerVersion; 4] = [(4, 2, 0), (4, 2, 1), (4, 3, 0), (4, 3, 1)];
const VERSIONS_TEXT: &str = "4.2.0, 4.2.1, 4.3.0 and 4.3.1";

/// Number of tasks by subtopology.
type Counts<'a> = BTreeMap<&'a str, u32>;

/// Active and standby tasks of a member.
type Tasks = (OwnedPartitions, OwnedPartitions);

/// Compare a target assignment; return None if it has no members, or if the broker has not accepted the topology and assigns no tasks.
pub(super) fn compare_streams(
    target: &StreamsTarget,
    metadata: &Metadata,
    version: Option<BrokerVersion>,
) -> Option<Comparison> {
    if target.members.is_empty() || !target.is_ready {
        return None;
    }
    Some(match Recorded::of(target, metadata, version) {
        Ok(recorded) => recorded.compare(version.is_some()),
        Err((class, reason)) => comparison(Some(class), Some(reason)),
    })
}

fn comparison(class: Option<ComparisonClass>, remark: Option<String>) -> Comparison {
    Comparison { assignor: Some(ComparedAssignor::StreamsSticky), class, remarks: remark.into_iter().collect() }
}

/// Class and reason of a target that cannot be compared.
type Reason = (ComparisonClass, String);

fn not_determined(reason: &str) -> Reason {
    (ComparisonClass::NotDetermined, format!("not compared: {reason}"))
}

/// Target assignment with all input of the assignor.
struct Recorded<'a> {
    target: &'a StreamsTarget,
    topology: &'a streams_topology::Topology,
    standby_replicas: u32,
    /// The snapshots of the topics before and after the target.
    first: &'a MetadataSnapshot,
    last: &'a MetadataSnapshot,
}

impl<'a> Recorded<'a> {
    fn of(target: &'a StreamsTarget, metadata: &'a Metadata, version: Option<BrokerVersion>) -> Result<Self, Reason> {
        if let Some((major, minor, patch)) = version.filter(|version| !VERSIONS.contains(version)) {
            let text = format!(
                "the assignor is that of Kafka {VERSIONS_TEXT}; the broker has version {major}.{minor}.{patch}"
            );
            return Err(not_determined(&text));
        }
        let topology =
            target.topology.as_deref().ok_or_else(|| not_determined("the log lacks the topology of the group"))?;
        if let Some((id, _)) = topology.subtopologies.iter().find(|(_, found)| found.has_pattern) {
            let text = format!("subtopology {id} reads topics that match a pattern, and no record has their names");
            return Err(not_determined(&text));
        }
        if !target.has_predecessor {
            return Err(not_determined("the log lacks the target assignment before it"));
        }
        let standby_replicas = target
            .standby_replicas
            .ok_or_else(|| not_determined("the record of the group has no valid num.standby.replicas"))?;
        let around: Vec<&MetadataSnapshot> = metadata.around(target.timestamp).collect();
        let [first, ..] = around[..] else { return Err(not_determined("there is no topic metadata")) };
        let last = around.last().copied().unwrap_or(first);
        let sources = topology.subtopologies.values().flat_map(|found| found.missing(first));
        let missing: BTreeSet<&str> = sources.filter(|topic| !last.topics.contains_key(*topic)).collect();
        if !missing.is_empty() {
            return Err((ComparisonClass::UnknownTopics, missing_topics(&missing)));
        }
        Ok(Self { target, topology, standby_replicas, first, last })
    }

    fn compare(&self, is_known_version: bool) -> Comparison {
        self.explain().map_or_else(
            |error| comparison(Some(ComparisonClass::NotDetermined), Some(format!("not compared: {error}"))),
            |(class, remark)| match class {
                Some(_) if !is_known_version => {
                    let remark = format!(
                        "{remark}; the broker may have another version: name its version with --broker-version"
                    );
                    comparison(Some(ComparisonClass::NotDetermined), Some(remark))
                }
                Some(_) => comparison(class, Some(remark)),
                None => comparison(None, None),
            },
        )
    }

    /// Return the class of the target and a remark.
    fn explain(&self) -> Result<(Option<ComparisonClass>, String), StreamsError> {
        let (first, last, assigned) = (self.counts(self.first), self.counts(self.last), self.assigned_counts());
        let expected = self.answer(&first)?;
        if self.is_recorded(&expected) {
            return Ok((None, String::new()));
        }
        // A topic can grow between the snapshots, so each subtopology may have the tasks of the one or the other.
        let mixture: Counts<'_> = first
            .iter()
            .map(|(id, count)| {
                let is_of_last = assigned.get(id) == last.get(id);
                (*id, if is_of_last { last[id] } else { *count })
            })
            .collect();
        if mixture != first && self.is_recorded(&self.answer(&mixture)?) {
            return Ok((None, String::new()));
        }
        if assigned != first && assigned != mixture && self.is_recorded(&self.answer(&assigned)?) {
            let other = assigned.iter().filter(|(id, count)| first.get(*id) != Some(count));
            let shown: Vec<String> = other
                .map(|(id, count)| format!("subtopology {id} had {count} task{}", if *count == 1 { "" } else { "s" }))
                .collect();
            let text =
                format!("the recorded assignment equals the answer of Kafka's assignor if {}", shown.join(" and "));
            return Ok((Some(ComparisonClass::Explained), text));
        }
        Ok((Some(ComparisonClass::Unexplained), self.difference(&expected)))
    }

    /// Return the number of tasks of each subtopology in a snapshot.
    fn counts(&self, snapshot: &MetadataSnapshot) -> Counts<'a> {
        self.topology.subtopologies.iter().map(|(id, found)| (id.as_str(), found.tasks(snapshot))).collect()
    }

    /// Return the number of tasks of each subtopology up to the highest active one.
    fn assigned_counts(&self) -> Counts<'a> {
        let count = |id: &String| {
            let active = self.target.members.iter().filter_map(|member| member.after.active.get(id)).flatten();
            active.max().map_or(0, |highest| u32::try_from(*highest).map_or(0, |highest| highest + 1))
        };
        self.topology.subtopologies.keys().map(|id| (id.as_str(), count(id))).collect()
    }

    /// Return the tasks that the assignor gives each member.
    fn answer(&self, counts: &Counts<'_>) -> Result<Vec<Tasks>, StreamsError> {
        let subtopology = |(id, found): (&String, &streams_topology::Subtopology)| Subtopology {
            id: id.clone(),
            tasks: counts.get(id.as_str()).copied().unwrap_or(0),
            is_stateful: found.has_state,
        };
        let topology = Topology::new(self.topology.subtopologies.iter().map(subtopology).collect())?;
        let known = |lists: &OwnedPartitions| -> Vec<u32> {
            let tasks = lists.iter().flat_map(|(id, numbers)| numbers.iter().map(move |number| (id, *number)));
            tasks.filter_map(|(id, number)| topology.task(id, u32::try_from(number).ok()?)).collect()
        };
        let members = self.target.members.iter().map(|member| StreamsMember {
            id: member.id.clone(),
            process: member.process.clone().unwrap_or_default(),
            active: known(&member.before.active),
            standby: known(&member.before.standby),
        });
        let members = members.collect();
        let group = StreamsGroup { topology, members, standby_replicas: self.standby_replicas };
        let named = |tasks: &[u32]| -> OwnedPartitions {
            let mut found = OwnedPartitions::new();
            for (id, number) in tasks.iter().map(|task| group.topology.name(*task)) {
                found.entry(id.to_owned()).or_default().push(number as i32);
            }
            found
        };
        Ok(assign(&group)?.iter().map(|tasks| (named(&tasks.active), named(&tasks.standby))).collect())
    }

    /// Return the members whose recorded tasks differ from the expected ones.
    fn differing<'b>(&'b self, expected: &'b [Tasks]) -> impl Iterator<Item = &'b str> {
        self.target.members.iter().zip(expected).filter_map(|(member, (active, standby))| {
            let after = &member.after;
            let is_same = after.active == *active && after.standby == *standby && after.warmup.is_empty();
            (!is_same).then_some(member.id.as_str())
        })
    }

    fn is_recorded(&self, expected: &[Tasks]) -> bool {
        self.differing(expected).next().is_none()
    }

    fn difference(&self, expected: &[Tasks]) -> String {
        format!(
            "{} of {} members have other tasks than Kafka's sticky assignor of streams groups gives them",
            self.differing(expected).count(),
            self.target.members.len()
        )
    }
}

//! Replay of groups: what happened to them, from their records in `__consumer_offsets`.
//!
//! [`Replay`] applies one record after another and returns events. It also returns each group as it is after the last record. Its memory
//! is bounded by the members and partitions of the groups, and by time windows that have not ended. Replay is deterministic and depends
//! on the records only. The state is the one that a broker has after loading the records. What is not written to the log, such as a
//! rebalance in progress, is not part of this state.
//!
//! A group record is of type 2 (classic), 3 (consumer, KIP-848), 11 (share) or 17 (streams). A group without a current group record is
//! either gone, or only has committed offsets.

mod apply;
mod broker_log;
mod busiest_minute;
mod cadence;
mod causes;
mod classic;
mod classic_streams;
mod classic_tasks;
mod commits;
mod committed;
mod comparison;
mod connect;
mod costs;
mod current_owners;
mod deadlines;
mod deletions;
mod departures;
mod difference;
mod durations;
mod epochs;
pub mod event_schema;
mod events;
mod evidence;
mod fields;
mod generation;
mod generations;
mod group_records;
mod healing;
mod known_member;
mod logged_causes;
mod machine;
mod member;
mod membership;
mod metadata;
mod model;
mod name_list;
mod open_costs;
mod owner_changes;
mod pauses;
mod problem_events;
mod problems;
mod replayed_group;
mod share_target;
mod silences;
mod snapshot;
mod state;
mod stored;
mod storms;
mod streams_target;
mod streams_tasks;
mod streams_topology;
mod stuck;
mod summary;
mod tally;
mod target;
mod target_log;
mod tasks;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod time_tests;
mod timeline_order;
pub mod times;
mod topic_causes;

pub use broker_log::{BrokerLog, LoggedFact, LoggedRebalance, logged_cause};
pub use comparison::{BrokerVersion, ComparedAssignor, Comparison, ComparisonClass, ComparisonOutcome};
pub use events::{Cost, Event, EventDetails, Logged, MemberCost, Partition, PauseTotals};
pub use healing::classes;
pub use machine::Replay;
pub use member::RecordedMember;
pub use metadata::{Metadata, MetadataSnapshot};
pub use model::{Counts, GroupKind, LogRecord};
pub use replayed_group::{Position, ReplayedGroup};
pub use silences::{Silence, SilenceFinder, Silences};
pub use state::{Context, Settings, Unreadable};
pub use stored::SnapshotError;
pub use summary::{MemberSummary, Span, load, owned_spans, spans_of};
pub use tally::{OutcomeCounts, Tally};
pub use tasks::{MemberTasks, MovedTask, Task, TaskChanges};
